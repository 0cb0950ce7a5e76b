"use strict";
document.documentElement.classList.add("script");
{% include "drill_down.js" %}
{% include "copying.js" %}
{% include "downloads.js" %}
{% include "stepped.js" %}
