"""What a notebook shows of a result: no higher than 700 pixels, with the verdict and the figures, light and dark."""

from __future__ import annotations

import re

import pytest

import bonwise as bw
from browser.axe import violations
from browser.opened import contrasts
from browser.samples import spoken, two_spoken
from docs.stock import stock

MOST = 700
WIDTHS = (800, 1000)

MAKERS = {
    "audit": lambda: bw.audit(spoken(24), control=["c3"]),
    "audit-several": lambda: bw.audit(two_spoken(24)),
    "compare": lambda: bw.compare("winners.jsonl", "others.jsonl", labels="labels.csv"),
    "plan": lambda: bw.plan(question="recovery>0", candidates=4, within_r=0.3),
    "route": lambda: bw.route("scores.csv"),
    "pick": lambda: bw.select("Name a colour", ["red", "the colour green"], judge=lambda _, text: -len(text)),
    "requirements": lambda: bw.study_requirements("scores.csv"),
    "label-strategy": lambda: bw.study_label_strategy("scores.csv", verdicts="pairs.csv"),
    "calibration": lambda: bw.study_calibration("scores.csv"),
    "mix": lambda: bw.study_mix("scores.csv", control="c3"),
    "doctor": lambda: bw.doctor("scores.csv"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with the files that results are made of."""
    made = tmp_path_factory.mktemp("notebook")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(made)
        stock()
    return made


@pytest.fixture(params=MAKERS)
def cell(request, folder, monkeypatch):
    """Return a file that holds the output of one cell, as a notebook shows it."""
    monkeypatch.chdir(folder)
    path = folder / f"{request.param}.html"
    shown = MAKERS[request.param]()._repr_html_()
    head = '<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>Notebook</title>'
    path.write_text(f'{head}<body style="margin: 0"><main><h1>Cell</h1>{shown}</main></body></html>', "utf-8")
    return path


def test_a_cell_is_no_higher_than_700_pixels(cell, show):
    """At 800 and 1,000 pixels, light and dark: it fits, every word can be read, and axe-core finds nothing."""
    with show(cell) as page:
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            for scheme in ("light", "dark"):
                page.emulate_media(color_scheme=scheme)
                assert page.locator(".bonwise").evaluate("(one) => one.offsetHeight") <= MOST
                least, where = contrasts(page, ".bonwise")
                assert least >= 4.5, (scheme, where)
                paper = page.locator(".bonwise").evaluate("(one) => getComputedStyle(one).backgroundColor")
                assert (sum(map(int, re.findall(r"\d+", paper)[:3])) < 384) == (scheme == "dark")
        assert violations(page) == []
        assert page.locator("script").count() == 0


@pytest.mark.parametrize("cell", ["audit"], indirect=True)
def test_a_cell_begins_with_the_verdict_and_its_tiles(cell, show):
    """The verdict, the figures to read first as tiles, two drawings, and the tables on demand."""
    with show(cell, viewport={"width": 800, "height": 900}) as page:
        assert "Verdict:" in page.locator(".bonwise .part").first.inner_text()
        assert page.locator(".headlines > div:visible").count() == 3
        assert page.locator("figure:visible").count() == 2
        assert page.locator("table:visible").count() == 0
        page.locator("details.folded > summary").first.click()
        assert page.locator("table:visible").count() >= 1
