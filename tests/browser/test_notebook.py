"""What a notebook shows of a result: no higher than 700 pixels, with the verdict and the figures, light and dark."""

from __future__ import annotations

import re

import pytest

import bonwise as bw
from browser.axe import violations
from browser.judges import many_judges
from browser.notebook_hosts import HOSTS, in_host
from browser.opened import contrasts
from browser.samples import spoken, two_spoken
from docs.stock import stock

MOST = 700
HIGHER = {"audit": 725, "audit-twelve": 1100}
"""Pixels of outputs that say why a verdict is open, or with a row per judge, whose letters have to be read too."""
WIDTHS = (800, 1000)

LEAST = 11
"""Pixels of the smallest letters of a drawing."""

LETTERS = """() => [...document.querySelectorAll("figure svg text")].map((text) => {
    const scale = text.getScreenCTM();
    return [parseFloat(getComputedStyle(text).fontSize) * Math.hypot(scale.a, scale.b), text.textContent];
})"""

STYLES = """(where) => [...document.querySelectorAll(where)].map((one) => {
    const style = getComputedStyle(one);
    return [one.tagName, one.className, ...[
        "display", "float", "clear", "box-sizing", "margin", "padding", "border", "border-collapse", "border-spacing",
        "width", "height", "max-width", "table-layout", "background-color", "background-image", "color", "font",
        "letter-spacing", "line-height", "list-style", "text-align", "text-decoration", "vertical-align",
        "white-space",
    ].map((name) => `${name}: ${style.getPropertyValue(name)}`)].join("; ");
})"""
"""How elements look that a selector finds."""

INSIDE = ".bonwise, .bonwise *:not(style, svg, svg *)"

MAKERS = {
    "audit": lambda: bw.audit(spoken(24), control=["c3"]),
    "audit-several": lambda: bw.audit(two_spoken(24)),
    "audit-twelve": lambda: bw.audit(many_judges(12, prompts=24)),
    "compare": lambda: bw.compare("winners.jsonl", "others.jsonl", labels="labels.csv"),
    "plan": lambda: bw.plan(question="recovery>0", candidates=4, within_r=0.3),
    "route": lambda: bw.route("scores.csv"),
    "pick": lambda: bw.select("Name a colour", ["red", "the colour green"], judge=lambda _, text: -len(text)),
    "requirements": lambda: bw.study_requirements("scores.csv"),
    "label-strategy": lambda: bw.study_label_strategy("scores.csv", verdicts="pairs.csv"),
    "calibration": lambda: bw.study_calibration("scores.csv"),
    "mix": lambda: bw.study_mix("scores.csv", control="c3"),
    "strategies": lambda: bw.study_strategies("scores.csv", seeds=1),
    "discretisation": lambda: bw.study_discretisation("scores.csv", draws=5),
    "readiness": lambda: bw.study_readiness("scores.csv"),
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
def output(request, folder, monkeypatch):
    """Return what one cell shows, made once."""
    monkeypatch.chdir(folder)
    path = folder / f"{request.param}.part.html"
    if not path.exists():
        path.write_text(MAKERS[request.param]()._repr_html_(), "utf-8")
    return path.read_text("utf-8")


@pytest.fixture
def cell(output, folder):
    """Return a file that holds the output of one cell, as a notebook shows it."""
    path = folder / "cell.html"
    head = '<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>Notebook</title>'
    path.write_text(f'{head}<body style="margin: 0"><main><h1>Cell</h1>{output}</main></body></html>', "utf-8")
    return path


def test_a_cell_is_no_higher_than_700_pixels(cell, request, show):
    """At 800 and 1,000 pixels, light and dark: it fits, every word can be read, and axe-core finds nothing."""
    most = HIGHER.get(request.node.callspec.params["output"], MOST)
    with show(cell) as page:
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            for scheme in ("light", "dark"):
                page.emulate_media(color_scheme=scheme)
                assert page.locator(".bonwise").evaluate("(one) => one.offsetHeight") <= most
                least, where = contrasts(page, ".bonwise")
                assert least >= 4.5, (scheme, where)
                paper = page.locator(".bonwise").evaluate("(one) => getComputedStyle(one).backgroundColor")
                assert (sum(map(int, re.findall(r"\d+", paper)[:3])) < 384) == (scheme == "dark")
            assert [one for one in page.evaluate(LETTERS) if one[0] < LEAST] == []
        assert violations(page) == []
        assert page.locator("script").count() == 0


def looks(show, path, html, where, scheme):
    """Return how elements of a page look to a reader whose system has a colour scheme."""
    path.write_text(html, "utf-8")
    with show(path, color_scheme=scheme) as page:
        page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        sizes = page.locator(".bonwise svg").evaluate_all(
            "(all) => all.map((one) => one.getBoundingClientRect().width)"
        )
        return page.evaluate(STYLES, where), sizes


@pytest.mark.parametrize("output", ["audit"], indirect=True)
@pytest.mark.parametrize("host", HOSTS)
def test_a_notebook_and_an_output_leave_each_other_alone(output, host, show, tmp_path):
    """An output looks the same in every notebook, in the notebook's own scheme; its rules reach nothing else."""
    path, scheme = tmp_path / "host.html", HOSTS[host][-1]
    other = {"light": "dark", "dark": "light"}[scheme]
    bare, bare_sizes = looks(show, path, f"<!DOCTYPE html><title>Bare</title><body>{output}", INSIDE, scheme)
    shown, sizes = looks(show, path, in_host(host, output), INSIDE, other)
    assert len(bare) > 40
    assert [pair for pair in zip(bare, shown, strict=True) if pair[0] != pair[1]] == []
    assert sizes == bare_sizes
    assert min(sizes) > 300
    around = "main > div:last-child *"
    assert (
        looks(show, path, in_host(host, output), around, other)[0]
        == looks(show, path, in_host(host), around, other)[0]
    )


@pytest.mark.parametrize("output", ["audit"], indirect=True)
def test_a_cell_begins_with_the_verdict_and_its_tiles(cell, show):
    """The verdict, the figures to read first as tiles, two drawings, and the tables on demand."""
    with show(cell, viewport={"width": 800, "height": 900}) as page:
        assert "Verdict:" in page.locator(".bonwise .part").first.inner_text()
        assert page.locator(".headlines > div:visible").count() == 3
        assert page.locator("figure:visible").count() == 2
        assert page.locator("table:visible").count() == 0
        page.locator("details.folded > summary").first.click()
        assert page.locator("table:visible").count() >= 1
