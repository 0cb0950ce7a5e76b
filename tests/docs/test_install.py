"""The page on installing names what the package really brings, and a row for each package that must fit beside it."""

from __future__ import annotations

import ast
import re
import tomllib

import pytest

from docs.pages import ROOT

PAGE = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
TIERS = {"`bonwise`": PROJECT["dependencies"], "`bonwise[audit]`": PROJECT["optional-dependencies"]["audit"]}


def rows(start):
    """Return the rows of the page that begin with one of the cells."""
    return [
        [cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.splitlines() if line.startswith(start)
    ]


def must_hold():
    """Return the packages that the benchmark holds to the versions that they get alone."""
    tree = ast.parse((ROOT / "benchmarks" / "compatibility.py").read_text(encoding="utf-8"))
    (names,) = [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and node.targets[0].id == "MUST_HOLD"
    ]
    return ast.literal_eval(names)


@pytest.mark.parametrize("tier", TIERS)
def test_an_installation_brings_what_the_page_says(tier):
    """The requirements are those of the package, bounds included."""
    (row,) = rows(f"| {tier} ")
    assert sorted(re.findall(r"`([^`]+)`", row[2])) == sorted(TIERS[tier])


@pytest.mark.parametrize("sdk", ["openai", "anthropic"])
def test_the_oldest_sdk_of_the_page_is_the_lowest_bound(sdk):
    """The table of SDKs begins where the requirement does."""
    (row,) = rows(f"| `{sdk}` ")
    (bound,) = [line.partition(">=")[2] for line in TIERS["`bonwise`"] if line.startswith(f"{sdk}>=")]
    assert row[1].split()[0] == bound


@pytest.mark.parametrize("name", must_hold())
def test_a_package_that_must_keep_its_version_does(name):
    """The table on the page says "same" beside both installations."""
    (row,) = rows(f"| {name} ")
    assert row[2:4] == ["same", "same"]
