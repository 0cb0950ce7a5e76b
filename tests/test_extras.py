from __future__ import annotations

import importlib.abc
import sys
import tomllib
from pathlib import Path

import pytest

from bonwise.errors import BonwiseError, MissingExtraError
from bonwise.extras import BOOTSTRAP, PAGES, TABLES, TREES, Feature

ROOT = Path(__file__).parents[1]
DISTRIBUTIONS = {"sklearn": "scikit-learn"}


@pytest.mark.parametrize(
    ("modules", "said"),
    [
        (("json", "absent_a"), "absent_a is not installed"),
        (("absent_a", "json", "absent_b"), "absent_a and absent_b are not installed"),
        (("absent_a", "absent_b", "absent_c"), "absent_a, absent_b and absent_c are not installed"),
    ],
)
def test_a_missing_module_is_one_error_with_the_line_to_type(modules, said):
    """The message says what was asked for, which extra it needs and what is missing; the hint is the line to type."""
    with pytest.raises(MissingExtraError) as caught:
        Feature(modules, "audit").require("reading scores.csv")
    assert caught.value.message == f"reading scores.csv needs bonwise[audit]: {said}"
    assert caught.value.hint == "pip install 'bonwise[audit]'"
    assert isinstance(caught.value, BonwiseError)
    assert not isinstance(caught.value, ImportError)


def test_finding_out_imports_nothing():
    """A module that is installed is asked for without being loaded."""
    name = next(one for one in ("turtle", "imaplib", "xmlrpc") if one not in sys.modules)
    Feature((name,)).require("this")
    assert name not in sys.modules


def test_a_forbidden_module_counts_as_missing(monkeypatch):
    """An import hook that refuses a module leaves it missing, and its error unseen."""

    class Refusing(importlib.abc.MetaPathFinder):
        def find_spec(self, fullname, *_):
            if fullname == "forbidden_module":
                raise ModuleNotFoundError(fullname)

    monkeypatch.setattr(sys, "meta_path", [Refusing(), *sys.meta_path])
    assert Feature(("forbidden_module",)).missing() == ("forbidden_module",)


def test_the_features_need_what_the_extra_brings():
    """The modules of all features are those that the audit extra of the distribution installs, and no others."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    brought = {one.partition(">")[0] for one in project["optional-dependencies"]["audit"]}
    needed = {DISTRIBUTIONS.get(one, one) for feature in (TABLES, PAGES, BOOTSTRAP, TREES) for one in feature.modules}
    assert needed == brought
    assert needed.isdisjoint(one.partition(">")[0] for one in project["dependencies"])
