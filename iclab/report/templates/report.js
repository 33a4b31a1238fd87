"use strict";

// Light or dark: what the system says, until the reader chooses.
const THEME = "iclab-theme";
const root = document.documentElement;

function remembered() {
  try {
    return localStorage.getItem(THEME);
  } catch {
    return null; // some browsers keep nothing for pages from disk
  }
}

function remember(theme) {
  try {
    localStorage.setItem(THEME, theme);
  } catch {
    // The choice holds for this page only.
  }
}

if (remembered()) root.dataset.theme = remembered();

function isDark() {
  if (root.dataset.theme) return root.dataset.theme === "dark";
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

function setUpTheme() {
  const button = document.querySelector("button.theme");
  button.hidden = false;
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    remember(root.dataset.theme);
  });
}

function setUpSorting(table) {
  const headers = [...table.tHead.rows[0].cells];
  for (const header of headers) {
    header.querySelector("button")?.addEventListener("click", () => {
      const up = header.getAttribute("aria-sort") !== "ascending";
      sortBy(table, header, up);
    });
  }
}

function sortBy(table, header, up) {
  const body = table.tBodies[0];
  const key = (row) => row.cells[header.cellIndex].dataset.sort;
  const compare =
    header.dataset.type === "number"
      ? (a, b) => key(a) - key(b)
      : (a, b) => key(a).localeCompare(key(b));
  const rows = [...body.rows].sort((a, b) => (up ? compare(a, b) : compare(b, a)));
  body.append(...rows);
  for (const other of header.parentElement.cells) {
    if (other.hasAttribute("aria-sort")) other.setAttribute("aria-sort", "none");
  }
  header.setAttribute("aria-sort", up ? "ascending" : "descending");
}

function setUpFilters(table) {
  const form = document.querySelector("form.filters");
  const field = (name) => form.querySelector(`#filter-${name}`);
  const rows = [...table.tBodies[0].rows];
  const texts = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));
  const apply = () => {
    const words = field("text").value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const row of rows) {
      const chosen = ["paper", "kind", "verdict"].every(
        (name) => !field(name).value || field(name).value === row.dataset[name],
      );
      row.hidden = !(chosen && words.every((word) => texts.get(row).includes(word)));
      count += row.hidden ? 0 : 1;
    }
    form.querySelector("#shown").textContent = `${count} of ${rows.length} shown`;
  };
  form.hidden = false;
  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => {
    sortBy(table, table.tHead.rows[0].cells[1], true);
    setTimeout(apply); // after the fields are empty
  });
  apply();
}

function showPlace() {
  // Where the bar at the top is wider than the screen, the page's own name comes into view.
  const here = document.querySelector(".top [aria-current]");
  if (!here) return; // a page by itself
  const bar = here.parentElement;
  bar.scrollLeft = here.offsetLeft - bar.offsetLeft - (bar.clientWidth - here.offsetWidth) / 2;
}

function setUpContents() {
  // On a phone the list of results would push the results off the screen.
  const list = document.querySelector("nav.contents details");
  if (list && !matchMedia("(min-width: 64rem)").matches) list.open = false;
}

function setUpPrinting() {
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    for (const one of opened) one.open = true;
  });
  addEventListener("afterprint", () => {
    for (const one of opened) one.open = false;
  });
}

document.addEventListener("DOMContentLoaded", () => {
  setUpTheme();
  showPlace();
  setUpContents();
  setUpPrinting();
  const table = document.querySelector("#results");
  if (table) {
    setUpSorting(table);
    setUpFilters(table);
  }
});
