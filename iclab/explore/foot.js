// Code and link of a view. The text changes with the view; what is open stays open.
function render({ model, el }) {
  const page = document.createElement("div");
  page.className = "iclab-foot";
  const fold = document.createElement("details");
  const title = document.createElement("summary");
  title.textContent = "Show the code";
  const code = document.createElement("pre");
  fold.append(title, code);
  const line = document.createElement("p");
  const link = document.createElement("a");
  const command = document.createElement("code");
  line.append("Link to this view: ", link, " · in a terminal: ", command);
  page.append(fold, line);
  el.append(page);
  const show = () => {
    code.textContent = model.get("code");
    link.textContent = model.get("link");
    link.href = model.get("address");
    command.textContent = model.get("command");
  };
  const names = ["code", "link", "address", "command"];
  for (const name of names) model.on(`change:${name}`, show);
  show();
  return () => {
    for (const name of names) model.off(`change:${name}`, show);
  };
}

export default { render };
