"""Every page is in the menu, every link leads somewhere, every block is run, words are the same."""

from __future__ import annotations

import importlib.util
import inspect
import re
import tomllib
from collections import Counter
from fnmatch import fnmatch
from importlib import import_module
from pathlib import Path

import pytest

import bonwise as bw
from bonwise.declared import result_homes, words
from bonwise.studies.result import study_names
from docs import test_guides, typed_pages
from docs.pages import ROOT, blocks, commands
from docs.studies import check_study_page
from hosts.test_doctests import PAGES as HOST_PAGES

# The menu of the site holds every page, and every link between pages and files of the repository leads somewhere.


DOCS = ROOT / "docs"
CONFIG = (ROOT / "mkdocs.yml").read_text("utf-8")
IN_MENU = re.findall(r"^ +- [^:]+: (\S+\.md)$", CONFIG, re.MULTILINE)
PATTERNS = re.findall(r"^ +- (\S+\*\.md)$", CONFIG, re.MULTILINE)
PAGES = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))
LINKED = [
    *sorted(DOCS.rglob("*.md")),
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "benchmarks" / "README.md",
]


@pytest.mark.parametrize("page", PAGES)
def test_every_page_is_in_the_menu(page):
    """A page that is not in ``nav`` of mkdocs.yml is found by nobody: it has one line there, or a pattern has it."""
    assert IN_MENU.count(page) == 1 or any(fnmatch(page, pattern) for pattern in PATTERNS)


def test_the_menu_names_nothing_twice():
    """Each entry is there once, and is a page of docs/ or of the repository."""
    assert [name for name, times in Counter(IN_MENU).items() if times > 1] == []
    assert set(IN_MENU) - set(PAGES) == {"contributing.md", "changelog.md", "benchmarks.md"}


def anchors(text):
    """Return the anchors of the headings of a page, as GitHub and the site make them."""
    outside = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    heads = re.findall(r"^#+ (.+)$", outside, re.MULTILINE)
    return {re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", head.strip().lower())) for head in heads}


@pytest.mark.parametrize("page", LINKED, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page):
    """Every relative link of a page leads to a file and, where it names one, to a heading that is there."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    for target, anchor in re.findall(r"\]\(([^)#\s:]*)(?:#([^)\s]+))?\)", text):
        path = page.parent / target if target else page
        assert path.exists(), target
        if anchor:
            assert anchor in anchors(path.read_text("utf-8")), f"{target}#{anchor}"


def test_the_readme_is_short():
    """It fits a few screens: at most 150 lines of at most 118 characters."""
    lines = (ROOT / "README.md").read_text("utf-8").splitlines()
    assert len(lines) <= 150
    assert max(map(len, lines)) <= 118


def test_the_site_asks_nothing_of_others():
    """No font is fetched; the search needs no script from elsewhere."""
    assert "font: false" in CONFIG
    assert not re.search(r"https?://", CONFIG)


def test_the_extra_brings_the_site():
    """`bonwise[docs]` names each plug-in of the site."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert {re.split(r"[>\[]", one)[0] for one in extras["docs"]} >= {"mkdocs", "mkdocs-material", "mkdocstrings"}


# Every block of a page that a reader may type is run by a test, or it says here why not.


ELSEWHERE = {
    "docs/reproduction.md": "tests/docs/test_reproduction.py",
    "README.md": "tests/docs/test_guides.py",
    "docs/batches.md": "tests/crash/test_batches.py",
    "docs/hosts_recipes.md": "tests/hosts/test_recipes.py",
    "docs/testing.md": "tests/testing/test_server.py",
    "docs/tracing.md": "tests/test_tracing.py",
}
"""Pages whose Python blocks have a test of their own."""
OF_HOSTS = set(HOST_PAGES.values())
"""Their Python blocks run where the framework is installed, in an environment for each: benchmarks/hosts.py."""
IN_ORDER = {f"docs/{page}.md" for page in typed_pages.PAGES}
RUN = {*test_guides.GUIDES, *IN_ORDER, *ELSEWHERE, *OF_HOSTS}
NOT_TYPED = {
    "pip install": "needs a package index; the environments of .ci/run install what the lines name",
    "python3 -m venv": "the same",
    ".ci/release": "tags and uploads; tests/test_release.py runs what comes before",
    "TWINE_": "the same",
    "python -m bonwise.testing.server": "runs until it is stopped; tests/testing starts it",
    "docker": "no engine where the tests run; tests/serving checks what the image is made from",
    "inspect ": "needs the framework; tests/hosts/test_inspect_ai.py types it",
    "bonwise mcp": "runs until it is stopped; tests/hosts starts it",
    "bonwise demo": "on the front page; tests/demo, and docs/howto_audit.md types it",
}
"""Beginnings of lines of a shell that the tests of pages do not type, and why."""
PAGES_OF_BLOCKS = sorted(
    path.relative_to(ROOT).as_posix() for path in [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]
)


@pytest.mark.parametrize("page", [page for page in PAGES_OF_BLOCKS if blocks(page, "python")])
def test_every_python_block_is_run(page):
    """A page with Python blocks is in one of the lists."""
    assert page in RUN, f"{page}: add it to GUIDES, or to the PAGES of tests/docs/typed_pages.py"


@pytest.mark.parametrize("page", [page for page in PAGES_OF_BLOCKS if blocks(page, "sh")])
def test_every_line_of_a_shell_is_typed(page):
    """A page with lines of a shell is in a list, or each of its lines says above why no test types it."""
    lines = "\n".join(blocks(page, "sh")).replace("\\\n", " ").splitlines()
    left = [line for line in lines if line.strip() and not line.startswith((*NOT_TYPED, "#"))]
    if page in IN_ORDER:
        return  # its runner refuses a line that it does not know
    assert page in RUN or not left, f"{page}: {left[0]}"
    assert [line for line in left if not line.startswith("bonwise ")] == []
    assert len([words for words in commands(page) if words]) >= len(left)


def test_what_is_elsewhere_is_there():
    """Each test that is named reads the page that it is named for."""
    for page, test in ELSEWHERE.items():
        assert page.rpartition("/")[2] in (ROOT / test).read_text("utf-8")


def test_no_reason_is_given_in_vain():
    """Each beginning of a line stands on a page."""
    text = "\n".join(block for page in PAGES_OF_BLOCKS for block in blocks(page, "sh"))
    assert [start for start in NOT_TYPED if not re.search(rf"^{re.escape(start)}", text, re.MULTILINE)] == []


DOCS_OF_STUDIES = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("name", study_names())
def test_every_study_has_its_page(name):
    """The page of each study that is registered is there and shows its command; no page is of no study."""
    check_study_page(DOCS_OF_STUDIES, name)


def test_no_page_is_of_no_study():
    """Each page of a study is that of a registered one."""
    pages = {path.stem.removeprefix("study_").replace("_", "-") for path in DOCS_OF_STUDIES.glob("study_*.md")}
    assert pages == set(study_names())


# Parameters of the public functions and classes that mean the same are described in the same words.


MEANS = {
    "bins": "of a score, or of a histogram",
    "cost": "of a plan, or of a run",
    "columns": "asked for, or found",
    "control": "as names, or as a group of figures",
    "design": "of a figure, or of a sequence of figures",
    "draws": "asked for, or found",
    "frame": "of scores, or of something else",
    "gap_groups": "of strata, or of accuracies",
    "half_width": "of the interval of one question",
    "label_file": "of this phase, of earlier ones, or in the order of labelling",
    "labels_left_out": "of an audit, or of a table",
    "max_draws": "a limit, or what a model was learnt from",
    "mean_calls": "of a strategy, or of a joint budget",
    "orders": "of a mode that has them, or of every question",
    "path": "of any file",
    "pools": "where texts are, or what a page shows",
    "power": "of a test, or of a pair",
    "prompt": "a text, a file, or columns",
    "prompts": "counted where they are used",
    "question": "of a kind of study",
    "ranking": "of candidates, or of models",
    "resamples": "of what the function draws",
    "seed": "of what the function draws",
    "source": "of a kind of table",
    "temperature": "of a first score, or of a further one",
    "ties": "of votes, in each kind of study",
    "verdict_col": "of a vote, or of a pilot",
    "verdicts": "of one order, or of two",
}
"""Parameters whose meaning depends on what takes them."""

OTHERWISE = {
    ("DrawModel", "judge"): "the judge that was drawn",
    ("Rerank", "base_url"): "a service has a language of its own",
    ("Rerank", "label"): "of a reply, which names classes in its own way",
    ("Rerank", "model"): "of services that rerank",
    ("Rerank", "params"): "a reranker reasons not",
    ("Rerank", "price"): "there is no output",
    ("Resampled", "confidence"): "there is one interval",
    ("Resampled", "of"): "it takes no judge of its own kind",
    ("RouteStudy.router", "judge"): "a judge that was studied",
    ("audit_preferences", "labels"): "of pairs",
    ("study_preferences", "depth"): "of places, not of candidates",
    ("judge", "batch"): "of a provider",
    ("judge", "deadline"): "there is one per question",
    ("judge", "max_concurrency"): "its pools have no deadline",
    ("monitor", "confidence"): "it also limits false claims",
    ("plan", "confidence"): "of a test",
    ("study_strategies", "judge"): "every judge with repeated scores is studied",
    ("study_strategies", "strong"): "of three shares",
    ("route", "judge"): "it may be all but the stronger one",
    ("route", "prices"): "in US dollars",
    ("study_candidates", "judge_cost"): "described beside the price of a candidate",
    ("study_verdicts", "judge_col"): "described beside the other columns of a pair",
    ("study_verdicts", "pair_col"): "described beside the other columns of a pair",
    ("study_verdicts", "prompt_col"): "described beside the other columns of a pair",
    ("watch", "confidence"): "it also limits false alarms",
    ("watch", "judge"): "of the audit that is the baseline",
}
"""Single parameters that differ from others of the same name and type, and why."""


SECTION = re.compile(r"^Parameters\n-+\n(.*?)(?=^\S[^\n]*\n-{3,}$|\Z)", re.DOTALL | re.MULTILINE)
ENTRY = re.compile(r"^(\S[^\n]*?) : ([^\n]*)\n((?:[ ]+[^\n]*\n|\n)*)", re.MULTILINE)


def described(doc):
    """Yield name, type and text of each parameter of a docstring."""
    section = SECTION.search(inspect.cleandoc(doc))
    for entry in ENTRY.finditer(f"{section[1]}\n" if section else ""):
        for name in entry[1].split(", "):
            yield name, entry[2], " ".join(entry[3].split())


def public_docstrings():
    """Yield name and docstring of every public function and class, and of the public methods."""
    homes = dict.fromkeys(bw.__all__, "bonwise") | result_homes()
    for name, home in homes.items():
        value = getattr(import_module(home), name)
        if not callable(value):
            continue
        yield name, value.__doc__
        for key in vars(value) if inspect.isclass(value) else ():
            if not key.startswith("_") and callable(getattr(value, key)) and getattr(value, key).__doc__:
                yield f"{name}.{key}", getattr(value, key).__doc__


def first_sentence(text):
    """Return a description up to what one function adds to it."""
    return text.removesuffix(".").partition(". ")[0]


def test_the_same_parameter_has_the_same_description():
    """One name and type begin with the same sentence wherever they are described, but for the stated differences."""
    found = {}
    for where, doc in public_docstrings():
        for name, kind, text in described(doc):
            if name in MEANS or (where, name) in OTHERWISE or re.fullmatch(r"As in `bonwise\.\w+`\.", text):
                continue
            if text:
                found.setdefault((name, kind), {}).setdefault(first_sentence(text), []).append(where)
    assert len(found) > 100
    assert sum(len(places) > 1 for texts in found.values() for places in texts.values()) > 15
    assert {key: texts for key, texts in found.items() if len(texts) > 1} == {}


def test_no_difference_is_stated_in_vain():
    """Every stated difference is of a parameter that is still there."""
    here = {(where, name) for where, doc in public_docstrings() for name, _, _ in described(doc)}
    assert set(OTHERWISE) <= here
    assert set(MEANS) <= {name for _, name in here}


# The page of JSON has a section for each schema; their keys are added when the site is made.


JSON_PAGE = DOCS / "json.md"


def with_keys(text):
    """Return a page with the keys of every schema, as the site has it."""
    spec = importlib.util.spec_from_file_location("json_keys", ROOT / "website" / "json_keys.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.with_keys(text)


def test_every_schema_has_a_section():
    """On the site each schema is in one section, with its keys; what is written by hand stays."""
    written = JSON_PAGE.read_text("utf-8")
    made = with_keys(written)
    for word in words():
        assert len(re.findall(rf"^## `bonwise\.{word}/1`$", made, re.MULTILINE)) == 1
    assert all(line in made.splitlines() for line in written.splitlines())
    assert made.count("| key | type | always | meaning |") > len(words())


def test_the_page_in_the_tree_is_written_by_hand():
    """No table of keys is kept: they are made with the site."""
    assert "| key | type | always | meaning |" not in JSON_PAGE.read_text("utf-8")


def test_a_section_is_made_where_it_is_missing():
    """Under the heading of a schema, after what is written by hand; else at the end."""
    made = with_keys("# Title\n\n## `bonwise.router/1`\n\nBy hand.\n\n## Last\n\nAlso by hand.\n")
    router, last = made.index("By hand."), made.index("## Last")
    assert router < made.index("| `threshold` | number | yes | Value of the signal") < last
    assert last < made.index("## `bonwise.confidence/1`")
    assert made.count("Also by hand.") == 1


FUNCTIONS = {
    name
    for path in (ROOT / "src" / "bonwise").rglob("*.py")
    for name in re.findall(r"^ *(?:async )?def (?!_)(\w+_\w+)", path.read_text("utf-8"), re.MULTILINE)
}
_CODE = re.compile(r"^ *```.*?^ *```|``.+?``|`[^`]+`|\]\([^)]*\)", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", PAGES_OF_BLOCKS)
def test_no_verb_of_a_sentence_is_the_name_of_a_function(page):
    """A name that was replaced everywhere must not have changed what is no name: "cannot estimate_asks its calls"."""
    prose = _CODE.sub("", (ROOT / page).read_text("utf-8"))
    after = re.findall(r"\b(?:cannot|can|not|will|would|may|must)\s+([a-z]+_\w+)", prose)
    assert [word for word in after if word in FUNCTIONS] == []
