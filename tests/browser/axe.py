"""axe-core, the checker of accessibility, run on pages that are open; a package for tests brings its script."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

__all__ = ["EMULATED", "violations"]

EMULATED = ((1280, "light"), (390, "dark"))
"""Widths and colour schemes at which a page is checked: each of both once."""

_RUN = """async () => {
    const found = await axe.run(document, { resultTypes: ["violations"], preload: false, elementRef: false });
    return found.violations.flatMap((rule) => rule.nodes.map((node) =>
        `${rule.id}: ${node.target.join(" ")}: ${node.failureSummary.split("\\n").slice(1).join(";").trim()}`));
}"""


@cache
def _script():
    return files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8")


def violations(page):
    """Return what axe-core finds on a page as it is now: the rule, the element and what to mend, one line each.

    The debugger evaluates the script, so the page's own policy, which allows no script but its own, stays in force.
    """
    if not page.evaluate("typeof axe === 'object'"):
        page.evaluate(_script())
    return page.evaluate(_RUN)
