document.addEventListener("DOMContentLoaded", () => {
  for (const stepped of document.querySelectorAll(".stepped")) {
    const slider = stepped.querySelector("input");
    const rows = stepped.querySelector("tbody").rows;
    const places = [...stepped.querySelectorAll("[data-cell]")];
    const outcome = stepped.querySelector(".outcome");
    const here = stepped.querySelector(".here");
    const show = () => {
      const row = rows[slider.valueAsNumber];
      const cells = [...row.cells].map((cell) => cell.textContent);
      for (const place of places) place.textContent = cells[place.dataset.cell];
      outcome.className = `outcome ${row.classList[0]}`;
      slider.setAttribute("aria-valuetext", `${cells[0]}: ${cells[1]}`);
      if (here) here.hidden = !row.classList.contains("strong");
    };
    slider.addEventListener("input", show);
    // A browser may bring back where the slider stood before a reload.
    if (slider.value !== slider.defaultValue) show();
    stepped.querySelector("details").open = false;
  }
});
