// A picture with points on it that can be moved, added, flipped and removed, with the
// mouse, a finger or the keyboard. What the picture shows is drawn in Python.
const SVG = "http://www.w3.org/2000/svg";
const PAUSE = 70; // milliseconds between two messages while a point is dragged

function part(axis, value) {
  if (!axis.log) return (value - axis.low) / (axis.high - axis.low);
  return Math.log(value / axis.low) / Math.log(axis.high / axis.low);
}

function value(axis, part) {
  const inside = Math.min(Math.max(part, 0), 1);
  if (!axis.log) return axis.low + inside * (axis.high - axis.low);
  return axis.low * Math.pow(axis.high / axis.low, inside);
}

function outline(shape, x, y) {
  if (shape === "square") return `M${x - 7} ${y - 7}h14v14h-14z`;
  if (shape === "triangle") return `M${x} ${y - 9}l9 16h-18z`;
  if (shape === "diamond") return `M${x} ${y - 9}l9 9l-9 9l-9 -9z`;
  return `M${x - 8} ${y}a8 8 0 1 0 16 0a8 8 0 1 0 -16 0z`;
}

function render({ model, el }) {
  const page = document.createElement("div");
  page.className = "iclab-board";
  page.style.cssText = `width:min(${model.get("frame").width}px, 100vw - 40px)`;
  const tools = document.createElement("div");
  tools.className = "iclab-tools";
  tools.setAttribute("role", "toolbar");
  const stage = document.createElement("div");
  stage.style.cssText = "position:relative";
  const picture = document.createElement("div");
  const over = document.createElementNS(SVG, "svg");
  over.style.cssText =
    "position:absolute;inset:0;width:100%;height:100%;touch-action:none;user-select:none";
  stage.append(picture, over);
  page.append(tools, stage);
  el.append(page);

  let points = model.get("points").map((point) => ({ ...point }));
  let tool = "move";
  let waiting = null;
  let sent = 0;
  let held = null;

  function send(now) {
    const late = Date.now() - sent;
    clearTimeout(waiting);
    if (!now && late < PAUSE) {
      waiting = setTimeout(() => send(true), PAUSE - late);
      return;
    }
    sent = Date.now();
    model.set("points", points.map((point) => ({ ...point })));
    model.save_changes();
  }

  function place(point) {
    const f = model.get("frame");
    return [
      f.left + part(f.x, point.x) * (f.right - f.left),
      f.bottom - part(f.y, point.y) * (f.bottom - f.top),
    ];
  }

  function where(event) {
    const f = model.get("frame");
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(
      over.getScreenCTM().inverse(),
    );
    return [
      value(f.x, (at.x - f.left) / (f.right - f.left)),
      value(f.y, (f.bottom - at.y) / (f.bottom - f.top)),
    ];
  }

  function act(i, what) {
    if (what === "flip") points[i] = flipped(points[i]);
    if (what === "remove" && points.length > model.get("least")) points.splice(i, 1);
    draw();
    send(true);
  }

  function flipped(point) {
    if (model.get("flips") === "y") return { ...point, y: -point.y };
    return { ...point, flip: !point.flip };
  }

  function add(event) {
    if (!model.get("adds") || points.length >= model.get("most")) return;
    const [x, y] = where(event);
    points.push({ ...model.get("fresh"), x, y });
    draw();
    send(true);
  }

  function nudge(i, key) {
    const f = model.get("frame");
    const [x, y] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[key];
    const point = points[i];
    if (!point.fixed) point.x = value(f.x, part(f.x, point.x) + 0.02 * x);
    point.y = value(f.y, part(f.y, point.y) + 0.02 * y);
    draw(i);
    send(false);
  }

  function draw(focus) {
    const f = model.get("frame");
    over.setAttribute("viewBox", `0 0 ${f.width} ${f.height}`);
    over.replaceChildren();
    points.forEach((point, i) => {
      const [x, y] = place(point);
      const mark = document.createElementNS(SVG, "path");
      mark.setAttribute("d", outline(point.shape, x, y));
      mark.setAttribute("fill", point.flip ? "white" : point.colour);
      mark.setAttribute("stroke", point.flip ? point.colour : "white");
      mark.setAttribute("stroke-width", point.flip ? 3.5 : 1.5);
      mark.setAttribute("class", "iclab-point");
      mark.setAttribute("tabindex", "0");
      mark.setAttribute("role", "slider");
      const words = `${point.label || i + 1}: ${point.x.toPrecision(3)}, ${point.y.toPrecision(3)}`;
      mark.setAttribute("aria-label", words);
      mark.setAttribute("aria-valuenow", point.y);
      mark.style.cssText = `cursor:${tool === "move" ? "grab" : "pointer"}`;
      const title = document.createElementNS(SVG, "title");
      title.textContent = words;
      mark.append(title);
      mark.addEventListener("pointerdown", (event) => {
        event.preventDefault();
        mark.focus();
        if (tool === "flip" || tool === "remove") return act(i, tool);
        held = i;
        over.setPointerCapture(event.pointerId);
      });
      mark.addEventListener("dblclick", (event) => event.stopPropagation());
      mark.addEventListener("keydown", (event) => {
        if (event.key.startsWith("Arrow")) nudge(i, event.key);
        else if (event.key === "Delete" && model.get("adds")) act(i, "remove");
        else if (event.key === "f" && model.get("flips")) act(i, "flip");
        else return;
        event.preventDefault();
      });
      over.append(mark);
      if (model.get("counts")) {
        const text = document.createElementNS(SVG, "text");
        text.setAttribute("x", x + 10);
        text.setAttribute("y", y - 8);
        text.setAttribute("font-size", "11");
        text.setAttribute("fill", "currentColor");
        text.setAttribute("pointer-events", "none");
        text.textContent = i + 1;
        over.append(text);
      }
      if (focus === i) mark.focus();
    });
  }

  over.addEventListener("pointermove", (event) => {
    if (held === null) return;
    const [x, y] = where(event);
    if (!points[held].fixed) points[held].x = x;
    points[held].y = y;
    draw();
    send(false);
  });
  const release = () => {
    if (held === null) return;
    held = null;
    send(true);
  };
  over.addEventListener("pointerup", release);
  over.addEventListener("pointercancel", release);
  over.addEventListener("click", (event) => {
    if (tool === "add" && event.target === over) add(event);
  });
  over.addEventListener("dblclick", (event) => {
    if (tool === "move" && event.target === over) add(event);
  });

  const choices = [["move", "move"]];
  if (model.get("adds")) choices.push(["add", "add"], ["remove", "remove"]);
  if (model.get("flips")) choices.push(["flip", "mislabel"]);
  for (const [name, text] of choices.length > 1 ? choices : []) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = text;
    button.dataset.tool = name;
    button.setAttribute("aria-pressed", name === tool);
    button.addEventListener("click", () => {
      tool = name;
      for (const one of tools.children) one.setAttribute("aria-pressed", one === button);
      draw();
    });
    tools.append(button);
  }

  const show = () => {
    picture.innerHTML = model.get("svg");
  };
  const reframe = () => draw();
  const replace = () => {
    if (held !== null) return;
    points = model.get("points").map((point) => ({ ...point }));
    draw();
  };
  model.on("change:svg", show);
  model.on("change:frame", reframe);
  model.on("change:points", replace);
  show();
  draw();
  return () => {
    clearTimeout(waiting);
    model.off("change:svg", show);
    model.off("change:frame", reframe);
    model.off("change:points", replace);
  };
}

export default { render };
