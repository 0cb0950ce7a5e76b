"""Open a page from a file, and hold it to what every page promises: no error, no question to anyone."""

from __future__ import annotations

from contextlib import contextmanager

OWN = ("file:", "data:", "about:")
"""Schemes of what a page may load."""

WIDE, NARROW = {"width": 1280, "height": 900}, {"width": 390, "height": 844}


@contextmanager
def opened(browser, path, *, viewport=WIDE, **settings):
    """Yield a page; at the end nothing has left it, nothing has failed, and no dialog has come up."""
    context = browser.new_context(viewport=viewport, **settings)
    page = context.new_page()
    page.set_default_timeout(90_000)  # far above what any page takes, also where others share the processor
    happened = []

    def complain(message):
        if message.type in {"error", "warning"}:
            happened.append(f"console {message.type}: {message.text}")

    def question(request):
        if not request.url.startswith(OWN):
            happened.append(f"request: {request.url}")

    def dialog(one):
        happened.append(f"dialog: {one.message}")
        one.dismiss()

    page.on("pageerror", lambda error: happened.append(f"page error: {error}"))
    page.on("console", complain)
    page.on("dialog", dialog)
    context.on("page", lambda one: happened.append(f"another page: {one.url}") if one is not page else None)
    context.on("request", question)
    try:
        page.goto(path.as_uri())
        yield page
        assert page.url.split("#")[0] == path.as_uri()
    finally:
        context.close()
    assert happened == []


def ids_once(page):
    """Assert that no two elements share an id, and that what refers to an id finds it."""
    assert (
        page.evaluate("""() => {
        const ids = [...document.querySelectorAll("[id]")].map((one) => one.id);
        const twice = ids.filter((one, at) => ids.indexOf(one) !== at);
        const named = [...document.querySelectorAll("[aria-controls], label[for]")]
            .map((one) => one.getAttribute("aria-controls") ?? one.getAttribute("for"));
        return [...twice, ...named.filter((one) => document.getElementById(one) === null)];
    }""")
        == []
    )


def unfold(page):
    """Open all that is folded."""
    page.evaluate("() => document.querySelectorAll('details').forEach((one) => { one.open = true; })")


def drawings_told(page):
    """Assert that every drawing is in a figure with words, and return how many there are."""
    return page.evaluate("""() => [...document.querySelectorAll("svg")].map((one) => {
        const words = one.closest("figure")?.querySelector("figcaption")?.textContent.trim() ?? "";
        if (words.length < 20) throw new Error("a drawing without words: " + one.outerHTML.slice(0, 200));
    }).length""")


def fits(page):
    """Tell whether nothing has to be scrolled sideways."""
    return page.evaluate("document.scrollingElement.scrollWidth <= document.scrollingElement.clientWidth")


def contrasts(page, selector="body"):
    """Return the least contrast ratio of visible text to what is painted behind it (WCAG 2), and the text."""
    return page.evaluate(
        """(selector) => {
        const parts = (colour) => colour.match(/[\\d.]+/g).map(Number);
        const linear = (v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
        const light = ([r, g, b]) =>
            0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
        const behind = (element) => {
            for (let one = element; one; one = one.parentElement) {
                const colour = parts(getComputedStyle(one).backgroundColor);
                if (colour.length < 4 || colour[3] > 0) return colour;
            }
            return [255, 255, 255];
        };
        let least = [100, ""];
        const walker = document.createTreeWalker(document.querySelector(selector), NodeFilter.SHOW_TEXT);
        for (let node = walker.nextNode(); node; node = walker.nextNode()) {
            const element = node.parentElement;
            if (!node.textContent.trim() || !element.checkVisibility() || element.closest("script, style")) continue;
            const style = getComputedStyle(element);
            const ink = element.closest("svg") && style.fill !== "none" ? style.fill : style.color;
            const [a, b] = [light(parts(ink)), light(behind(element))];
            const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
            if (ratio < least[0]) least = [ratio, `${node.textContent.trim().slice(0, 60)} (${ink})`];
        }
        return least;
    }""",
        selector,
    )
