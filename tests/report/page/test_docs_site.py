"""Where the documentation is: named, stated by the package, or unknown."""

from __future__ import annotations

from email.message import Message

import pytest

from bonwise.errors import UsageError
from bonwise.report.page import docs_site as module
from bonwise.report.page.docs_site import docs_site


@pytest.fixture
def stated(monkeypatch):
    """Let the installed package state addresses."""

    def state(*lines):
        found = Message()
        for line in lines:
            found["Project-URL"] = line
        monkeypatch.setattr(module, "metadata", lambda _: found)

    monkeypatch.delenv("BONWISE_DOCS", raising=False)
    return state


@pytest.mark.parametrize("said", ["https://a.b/docs", "http://localhost:8000", "file:///srv/docs"])
def test_an_address_ends_with_one_slash(said):
    """Pages are named below it."""
    assert docs_site(said) == docs_site(f"{said}/") == f"{said}/"


def test_the_environment_names_it(monkeypatch, stated):
    """What a user says comes before what the package states."""
    stated("Documentation, https://stated.example/")
    monkeypatch.setenv("BONWISE_DOCS", "https://named.example/")
    assert docs_site() == "https://named.example/"


def test_a_folder_is_one_of_a_built_site(tmp_path):
    """A folder without a first page is none."""
    site = tmp_path / "built here 中"
    site.mkdir()
    (site / "index.html").write_text("", encoding="utf-8")
    assert docs_site(str(site)) == f"{site.as_uri()}/"
    (site / "index.html").unlink()
    with pytest.raises(UsageError, match="neither an address nor a folder of a built site"):
        docs_site(str(site))


@pytest.mark.parametrize(
    "said",
    [
        "javascript:alert(1)",
        "data:text/html,x",
        "docs.example.org",
        "https://a b/",
        "https://a\x1b[2J",
        "a\0b",
        "x" * 9000,
    ],
)
def test_anything_else_is_refused_in_one_line(said):
    """A script, a bare name and hostile text are no address."""
    with pytest.raises(UsageError, match="BONWISE_DOCS is neither") as refused:
        docs_site(said)
    assert str(refused.value).isprintable()
    assert len(str(refused.value)) < 500


def test_the_package_states_it(stated):
    """The label is compared as packaging tools compare it."""
    stated("Source, https://code.example", "documentation , https://docs.example/bonwise")
    assert docs_site() == "https://docs.example/bonwise/"


def test_nobody_says_it(stated):
    """Pages have no such links then."""
    stated("Source, https://code.example")
    assert docs_site() is None
    stated()
    assert docs_site("") is None
