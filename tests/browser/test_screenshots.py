from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from browser.kinds import KINDS, PICTURED, page_of_kind
from browser.opened import NARROW, contrasts, drawings_told, fits, ids_once

ROOT = Path(__file__).parents[2]
WIDTHS = (1280, 390)
HIGHEST = 6000
"""Pixels of a picture: what stands below is opened in a picture of its own."""


BROKEN_WORDS = r"""() => {
    const broken = [];
    for (const cell of document.querySelectorAll("th, td")) {
        const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
        if (cell.closest(".inside")) continue;
        for (let node = walker.nextNode(); node; node = walker.nextNode()) {
            for (const word of node.textContent.matchAll(/[\w.]+/g)) {
                const range = document.createRange();
                range.setStart(node, word.index);
                range.setEnd(node, word.index + word[0].length);
                const lines = new Set([...range.getClientRects()].map((one) => Math.round(one.top)));
                if (lines.size > 1) broken.push(word[0]);
            }
        }
    }
    return broken;
}"""
"""Words of cells that stand on more than one line."""


@pytest.fixture(scope="module")
def folder():
    """Return the folder of the pictures: BONWISE_SCREENSHOTS, or ``screenshots`` in the checkout."""
    found = Path(os.environ.get("BONWISE_SCREENSHOTS") or ROOT / "screenshots")
    found.mkdir(parents=True, exist_ok=True)
    return found


@pytest.fixture(scope="module", params=KINDS)
def made(request, kinds_folder):
    """Return a kind and its page."""
    return request.param, page_of_kind(request.param, kinds_folder)


def test_every_page_keeps_the_promises(show, made):
    """A page of any kind has its heading, ids of its own, told drawings, legible text and room on a phone."""
    kind, path = made
    with show(path) as page:
        assert page.locator("h1").inner_text().startswith(KINDS[kind][1])
        assert page.locator("h2").count() >= 1
        ids_once(page)
        drawings_told(page)
        text = page.locator("body").inner_text()
        assert not re.search(r"\b(nan|NaN|None|inf)\b|\[object", text)
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            least, where = contrasts(page)
            assert least >= 4.5, (scheme, where)
        page.emulate_media(media="print")
        assert fits(page)
        page.emulate_media(media="screen")
        page.set_viewport_size(NARROW)
        assert fits(page)
        broken = page.evaluate(BROKEN_WORDS)
        assert broken == [], "a word of a cell breaks where it has no joint"
        heights = page.locator("thead th").evaluate_all("(heads) => heads.map((one) => one.offsetHeight)")
        assert max(heights, default=0) < 120, "the words of a head break into letters"
        assert page.locator("h1").inner_text().startswith(KINDS[kind][1])


@pytest.mark.parametrize("made", ["audit"], indirect=True)
def test_a_command_has_the_width_of_its_box(show, made):
    """On a wide screen the command that comes next is on one line, with its button beside it."""
    with show(made[1], viewport={"width": 1280, "height": 800}) as page:
        code = page.locator(".next .command code").bounding_box()
        button = page.locator(".next .command button").bounding_box()
    assert code["height"] < 30
    assert button["y"] < code["y"] + code["height"]
    assert button["x"] > code["x"] + code["width"]


def pictured(page, path):
    """Take a picture of the page, of a long one its beginning, and return its width and some of its pixels."""
    width, height = page.evaluate("[innerWidth, document.documentElement.scrollHeight]")
    page.set_viewport_size({"width": width, "height": min(height, HIGHEST)})
    page.evaluate("scrollTo({top: 0, behavior: 'instant'})")  # opening a row may have scrolled to it
    page.screenshot(path=path, animations="disabled")
    with Image.open(path) as picture:
        assert picture.format == "PNG"
        return picture.width, np.asarray(picture.convert("RGB"))[::7, ::7].reshape(-1, 3)


@pytest.mark.parametrize("made", PICTURED, indirect=True)
def test_every_page_is_pictured(show, made, folder):
    """A page of any kind is written at both widths, light and dark: of that width, with something on it."""
    kind, path = made
    with show(path) as page:
        page.add_style_tag(content=".opened { content-visibility: visible !important }")
        rows = page.locator("#prompt-table > tbody")
        if rows.count():
            rows.first.locator("> tr > th button").click()
        means = {}
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            for scheme in ("light", "dark"):
                page.emulate_media(color_scheme=scheme)
                wide, pixels = pictured(page, folder / f"{kind}-{width}-{scheme}.png")
                assert wide == width
                assert len(np.unique(pixels @ (65536, 256, 1))) >= 8
                if rows.count():
                    rows.first.screenshot(path=folder / f"{kind}-{width}-{scheme}-prompt.png", animations="disabled")
                means[width, scheme] = pixels.mean()
    assert all(means[width, "light"] > means[width, "dark"] + 80 for width in WIDTHS)
