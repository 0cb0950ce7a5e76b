"use strict";
document.documentElement.classList.add("script");
addEventListener("beforeprint", () => {
  for (const one of document.querySelectorAll("details.more:not([open])")) {
    one.open = true;
    addEventListener("afterprint", () => { one.open = false; }, { once: true });
  }
});
{% include "drill_down.js" %}
