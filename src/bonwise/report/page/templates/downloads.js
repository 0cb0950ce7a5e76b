document.addEventListener("DOMContentLoaded", () => {
  const light = {{ light_colours | tojson }};
  // Outside of its page a drawing has neither a style sheet nor a size.
  const alone = (drawing) => {
    const copy = drawing.cloneNode(true);
    const [, , width, height] = copy.getAttribute("viewBox").split(" ").map(Number);
    copy.setAttribute("width", `${width}pt`);
    copy.setAttribute("height", `${height}pt`);
    for (const name of ["aria-hidden", "focusable"]) copy.removeAttribute(name);
    for (const one of copy.querySelectorAll(".told")) one.setAttribute("fill-opacity", "0");
    const paper = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    for (const [name, value] of Object.entries({ width: "100%", height: "100%", fill: "#ffffff" })) paper.setAttribute(name, value);
    copy.prepend(paper);
    for (const one of copy.querySelectorAll("[style]")) {
      const style = one.getAttribute("style").replace(/var\(--([a-z]+)\)/g, (_, name) => name === "sans" ? "sans-serif" : light[name]);
      one.setAttribute("style", style);
    }
    return new XMLSerializer().serializeToString(copy);
  };
  for (const data of document.querySelectorAll("figure .take a[download]")) {
    const drawing = data.closest("figure").querySelector("svg");
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "SVG";
    button.setAttribute("aria-label", data.getAttribute("aria-label").replace("Data", "Figure").replace("CSV", "SVG"));
    button.addEventListener("click", () => {
      const address = URL.createObjectURL(new Blob([alone(drawing)], { type: "image/svg+xml" }));
      const link = document.createElement("a");
      link.href = address;
      link.download = data.download.replace(/csv$/, "svg");
      link.click();
      setTimeout(() => URL.revokeObjectURL(address), 10000);
    });
    data.after(" ", button);
  }
});
