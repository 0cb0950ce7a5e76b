"""The built site: every name and command is on it, no link breaks, nothing comes from elsewhere, search works."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import typer.main

import bonwise
from bonwise.cli.app import app_for
from bonwise.declared import result_homes, words
from bonwise.loading import json_schema
from bonwise.report.page.defined import DEFINITIONS
from bonwise.testing import simulate
from browser.conftest import ARGUMENTS, NAMES, absent
from docs.pages import ROOT

if importlib.util.find_spec("mkdocs") is None or importlib.util.find_spec("mkdocstrings") is None:
    if os.environ.get("BONWISE_REQUIRE_SITE") == "1":
        raise RuntimeError("the site needs: pip install 'bonwise[docs]'")
    pytest.skip("the site needs: pip install 'bonwise[docs]'", allow_module_level=True)


class Page(HTMLParser):
    """What a page of the site links, loads and holds as anchors."""

    def __init__(self, path):
        super().__init__()
        self.links, self.loads, self.anchors = [], [], set()
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag, attrs):
        """Keep what a tag says."""
        given = dict(attrs)
        self.anchors |= {given[key] for key in ("id", "name") if given.get(key)}
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        if tag in {"script", "img", "iframe", "source"} and given.get("src"):
            self.loads.append(given["src"])
        if tag == "link" and given.get("rel") not in {"prev", "next", "canonical"}:
            self.loads.append(given["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Build the site once, with warnings as errors."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site):
    """Read every page of the site."""
    return {path.relative_to(site).as_posix(): Page(path) for path in site.rglob("*.html")}


def test_every_page_of_the_docs_is_on_the_site(pages):
    """Each page of docs/ is a page of the site, and so are those that are made from the code."""
    docs = ROOT / "docs"
    assert {path.relative_to(docs).with_suffix(".html").as_posix() for path in docs.rglob("*.md")} <= set(pages)


def test_every_public_name_has_its_place(pages):
    """Each public name and class of results has an anchor on a page of the API, and the list of names links it."""
    api = {anchor for name, page in pages.items() if name.startswith("api/") for anchor in page.anchors}
    linked = {urlsplit(link).fragment for link in pages["api/index.html"].links}
    paths = {f"bonwise.{name}" for name in bonwise.__all__ if name != "__version__"}
    paths |= {f"{package}.{name}" for name, package in result_homes().items()}
    assert paths - api == set()
    assert paths - linked == set()


def test_a_parameter_has_its_own_default(site):
    """Options that are declared in another file are there, and each default is that of Python."""
    text = re.sub(r"<[^>]+>|\s", "", (site / "api" / "auditing.html").read_text("utf-8"))
    assert "resamples(int,default:1000)" in text
    assert "seed(int,default:0)" in text
    assert "shape(&#39;rectangular&#39;or&#39;ragged&#39;,default:None)" in text
    assert "**reading" not in text


def listed(group, words=()):
    """Yield every command below a group, by what is typed."""
    for name, command in group.commands.items():
        yield " ".join((*words, name)), command
        if hasattr(command, "commands"):
            yield from listed(command, (*words, name))


def test_every_command_has_its_place(pages, site):
    """Each command that the program lists is a page, with every option that ``--help`` prints."""
    found = dict(listed(typer.main.get_command(app_for([]))))
    assert len(found) > 30
    for name, command in found.items():
        page = f"cli/{name.partition(' ')[0]}.html"
        if " " in name:
            assert f"bonwise-{name.replace(' ', '-')}" in pages[page].anchors, name
        text = (site / page).read_text("utf-8")
        for one in command.params:
            assert all(flag in text for flag in one.opts if flag.startswith("--")), (name, one.opts)


def test_every_schema_is_a_file(site):
    """Each JSON Schema is on the site as the program prints it."""
    for word in words():
        assert json.loads((site / "schemas" / f"{word}.json").read_text("utf-8")) == json_schema(word)


def test_no_link_breaks(pages, site):
    """Every link to a page of the site leads to it, and to the anchor that it names."""
    broken = []
    for name, page in pages.items():
        if name == "404.html":  # its links begin at the root of a server
            continue
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            place = (site / name).parent / unquote(parts.path) if parts.path else site / name
            target = Path(os.path.normpath(place))
            if not target.is_file():
                broken.append((name, link))
            elif parts.fragment and target.suffix == ".html":
                found = pages[target.relative_to(site).as_posix()]
                if unquote(parts.fragment) not in found.anchors | {"__skip"}:
                    broken.append((name, link))
    assert broken == []


def test_every_metric_is_defined_where_pages_of_results_link_it(pages):
    """The address that a page of results links is a page of the site with that anchor."""
    for name, one in DEFINITIONS.items():
        assert "definition" in pages[f"{one.page}.html"].anchors, name


def test_a_page_of_results_leads_to_the_site(site, browser, tmp_path, monkeypatch):
    """A reader follows the name of a metric to its definition, and from there to the site."""
    monkeypatch.setenv("BONWISE_DOCS", str(site))
    bonwise.audit(simulate("arena", n=30).frame()).to_html(tmp_path / "audit.html")
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(f"file://{tmp_path}/audit.html")
    page.locator(".headlines a.term", has_text="within_r").click()
    page.get_by_role("link", name="within_r in the documentation").click()
    page.wait_for_url(re.compile(r"/estimands/within_r\.html#definition$"))
    assert page.locator("#definition").is_visible()


def test_nothing_comes_from_elsewhere(pages, site):
    """No script, style, font or picture of a page or of a style sheet is loaded from another place."""
    assert [(name, one) for name, page in pages.items() for one in page.loads if urlsplit(one).netloc] == []
    styles = "".join(path.read_text("utf-8") for path in site.rglob("*.css"))
    assert re.findall(r"(?:@import|url\()\s*['\"]?(?:https?:)?//[^)'\"]+", styles) == []


@pytest.fixture
def browser():
    """Start Chromium, as the tests in tests/browser do."""
    try:
        from playwright.sync_api import sync_playwright  # noqa: PLC0415
    except ImportError:
        absent("playwright is not installed")
    path = os.environ.get("BONWISE_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        absent("no chromium found: install one, or name it in BONWISE_CHROMIUM")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS), timeout=180_000)
        yield opened
        opened.close()


def test_search_works_from_a_disk(site, browser):
    """A page that is opened as a file finds a word, links to it, and asks no server for anything."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    asked, errors = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(f"file://{site}/index.html")
    page.locator(".md-search__input").click()
    page.keyboard.type("jackknife")
    page.locator(".md-search-result__item").first.wait_for(timeout=20_000)
    titles = page.locator(".md-search-result__item h1").all_inner_texts()
    assert "Intervals" in titles
    page.locator(".md-search-result__link", has_text="Intervals").first.click()
    page.wait_for_url(re.compile(r"/intervals\.html"))
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:", "about:"))] == []
    assert errors == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_nothing(site, browser, width, scheme):
    """No kind of page breaks a rule of axe-core, wide and narrow, light and dark."""
    axe = axe_of_browser()
    page = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme).new_page()
    for name in ("index", "howto_audit", "metrics", "api/routing", "cli/labels", "schemas/index"):
        page.goto(f"file://{site}/{name}.html")
        page.wait_for_timeout(300)  # the theme adds buttons and boxes that scroll when the page is open
        found = axe.run(page).response["violations"]
        assert [(name, one["id"], one["nodes"][0]["html"][:120]) for one in found] == []


def axe_of_browser():
    """Return axe-core; where it is not installed, skip or fail as without mkdocs."""
    if importlib.util.find_spec("axe_playwright_python") is None:
        if os.environ.get("BONWISE_REQUIRE_SITE") == "1":
            pytest.fail("axe needs: pip install axe-playwright-python")
        pytest.skip("axe needs: pip install axe-playwright-python")
    from axe_playwright_python.sync_playwright import Axe  # noqa: PLC0415

    return Axe()
