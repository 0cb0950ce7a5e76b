// What mkdocs-material adds to a page when it is open needs a name, or a place in the order of the Tab key.
let due = false;
const mend = () => {
  due = false;
  document.querySelectorAll("nav.md-code__nav").forEach((one, at) => one.setAttribute("aria-label", `Code block ${at + 1}`));
  document.querySelectorAll(".md-typeset__scrollwrap").forEach((one) => {
    if (one.scrollWidth > one.clientWidth) one.tabIndex = 0;
    else one.removeAttribute("tabindex");
  });
};
const later = () => {
  if (!due) requestAnimationFrame(mend);
  due = true;
};
new MutationObserver(later).observe(document.documentElement, { childList: true, subtree: true });
window.addEventListener("resize", later);
