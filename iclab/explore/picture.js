// A picture, drawn in Python.
function render({ model, el }) {
  const page = document.createElement("div");
  page.style.cssText = `width:min(${model.get("width")}px, 100vw - 40px)`;
  el.append(page);
  const show = () => {
    page.innerHTML = model.get("svg");
  };
  model.on("change:svg", show);
  show();
  return () => model.off("change:svg", show);
}

export default { render };
