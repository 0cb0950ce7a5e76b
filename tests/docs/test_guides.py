"""Pages whose blocks are typed one by one: the README, the guides, gates in a build, installing."""

from __future__ import annotations

import ast
import json
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import bonwise as bw
from bonwise.cli.entry import run
from bonwise.errors import UsageError
from bonwise.studies.result import study_names
from bonwise.testing import simulate
from docs.pages import ROOT, blocks, commands, without_outputs
from docs.stock import named
from docs.typed_pages import A_TEST

README = "README.md"


def write_scores(words):
    """Write the scores, and the labels, that one command names."""
    table = named(simulate("arena", n=100, seed=20261121).frame())
    table["candidate"] = table["candidate"].replace("c3", "unhelpful")
    table["quality"] = table["judge_score"]
    if "--labels" in words or "monitor" in words:
        table[["prompt_id", "candidate", "oracle_label"]].to_csv("labels.csv", index=False)
        table = table.drop(columns="oracle_label")
    if "--oracle" in words:
        other = table.assign(judge="local:lexical", judge_score=table["oracle_label"])
        table = pd.concat([table.assign(judge="local:length"), other])
    table.to_csv("scores.csv", index=False)


FEW_LABELS = [words for words in commands(README) if words[1:3] == ["labels", "draw"] or "monitor" in words]


@pytest.mark.parametrize("words", [words for words in commands(README) if words not in FEW_LABELS], ids=" ".join)
def test_every_command_runs(words, folder, capsys):
    """Each command of the README ends with an outcome of its own, not with bad usage."""
    if words[1] in {"audit", "doctor", "monitor"} and "scores.csv" in words:
        write_scores(words)
    without_outputs(words)
    assert run(words[1:]) in {0, 1, 3}, capsys.readouterr().err


def test_the_readme_is_read():
    """The README holds commands and Python blocks for this file to run."""
    assert len(commands(README)) >= 10
    assert len(blocks(README, "python")) >= 2


@pytest.mark.parametrize("block", blocks(README, "python"))
def test_python_blocks_run(block, folder):
    """Each Python block of the README runs as it stands, given the judge that it names."""
    write_scores([])
    exec(compile(block, "README.md", "exec"), {"my_judge": lambda _, text: len(text)})  # noqa: S102 - its purpose


def test_few_labels_in_order(folder, capsys):
    """The block on few labels gives figures for all prompts when its lines are typed in order, sheets filled in."""
    (block,) = (one for one in blocks(README, "sh") if "--sheet random-labels.csv" in one)
    lines = [shlex.split(line, comments=True) for line in block.splitlines()]
    truth = simulate("arena", n=400, seed=1).frame()
    truth.drop(columns="oracle_label").to_csv("scores.csv", index=False)
    for name in ("labels.csv", "todo.csv"):
        Path(name).unlink(missing_ok=True)
    assert [words[1] for words in lines] == ["plan", "labels", "audit", "labels", "monitor"]
    for words in lines:
        if "--json" not in words and words[1] != "labels":
            words += ["--json", f"{words[1]}.json"]
        assert run(words[1:]) in {0, 1, 3}, capsys.readouterr().err
        if "--sheet" in words:
            sheet = words[words.index("--sheet") + 1]
            blank = pd.read_csv(sheet)
            filled = blank.drop(columns="oracle_label").merge(truth[["prompt_id", "candidate", "oracle_label"]])
            filled[blank.columns].to_csv(sheet, index=False)
    audit, monitor = (json.loads(Path(f"{name}.json").read_text("utf-8")) for name in ("audit", "monitor"))
    assert (audit["sampling"]["design"], audit["metrics"]["recovery"]["method"]) == ("rule", "aipw")
    assert monitor["describes"] == "all prompts"
    with pytest.raises(UsageError, match=r"todo.csv beside it is the record of a draw by the rule 'rule'"):
        bw.audit("scores.csv", labels="labels.csv", design="uniform")


GUIDES = (
    "docs/annotators.md",
    "docs/calls.md",
    "docs/choosing.md",
    "docs/confidence.md",
    "docs/hosts.md",
    "docs/factor.md",
    "docs/images.md",
    "docs/json.md",
    "docs/judges.md",
    "docs/label_designs.md",
    "docs/length_order_family.md",
    "docs/logged_picks.md",
    "docs/pages.md",
    "docs/partial_labels.md",
    "docs/planning.md",
    "docs/preference_studies.md",
    "docs/preferences.md",
    "docs/prompts.md",
    "docs/readiness.md",
    "docs/routing.md",
    "docs/routing_online.md",
    "docs/runs.md",
    "docs/scale.md",
    "docs/selection.md",
    "docs/sequential.md",
    "docs/serve.md",
    "docs/spending.md",
    "docs/stack.md",
    "docs/subsets.md",
    "docs/strategies.md",
    "docs/tables.md",
    "docs/transfer.md",
    "docs/value_of_information.md",
    "docs/verdict.md",
    "docs/watch.md",
    *(f"docs/study_{name.replace('-', '_')}.md" for name in study_names()),
)
TYPED = [(page, words) for page in GUIDES for words in commands(page)]
WRITTEN = [(page, block) for page in GUIDES for block in blocks(page, "python")]


@pytest.mark.parametrize(("page", "words"), TYPED, ids=lambda part: part if isinstance(part, str) else " ".join(part))
def test_every_command_of_a_guide_runs(page, words, folder, capsys):
    """Each command of a guide does what it says, given the run folder and the prompt file that it names."""
    Path("my-prompt.md").write_bytes(Path(__file__).parents[2].joinpath("prompts", "pointwise.md").read_bytes())
    Path("serve.toml").write_text(blocks("docs/serve.md", "toml")[0], encoding="utf-8")
    if words[1] == "ledger":
        assert run(["judge", "pools.jsonl", "--judge", "pointwise:openai/m", "--run", words[3]]) == 0
    without_outputs(words)
    # What monitor and watch find is their exit code; the others have done what was asked, or not.
    codes = (0, 1, 3) if words[1] in {"monitor", "watch"} else (0,)
    assert run(words[1:]) in codes, capsys.readouterr().err


@pytest.mark.parametrize(("page", "block"), WRITTEN, ids=lambda part: part if part in GUIDES else "")
def test_every_python_block_of_a_guide_runs(page, block, folder):
    """Each Python block of a guide runs as it stands."""
    exec(compile(block, page, "exec"), {})  # noqa: S102 - its purpose


def test_the_guides_are_read():
    """The guides hold commands and Python blocks for this file to run."""
    assert len(TYPED) >= 7
    assert len(WRITTEN) >= 2


# The tests that the page on gates shows are run by a pytest of their own, with the plug-in of bonwise.


@pytest.fixture
def suite(tmp_path):
    """Return a folder with the tests of the page, and the table and labels that they name."""
    found = [block for block in blocks("docs/ci.md", "python") if A_TEST.search(block)]
    assert len(found) == 2
    tmp_path.joinpath("test_judge.py").write_text("\n\n".join(found), encoding="utf-8")
    tmp_path.joinpath("pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    return tmp_path


def typed(suite, table):
    """Write the tables, type pytest, and return its code and what it said."""
    table.to_csv(suite / "scores.csv", index=False)
    table.drop(columns="oracle_label").to_csv(suite / "judged.csv", index=False)
    table[["prompt_id", "candidate", "oracle_label"]].to_csv(suite / "labels.csv", index=False)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    done = subprocess.run(command, cwd=suite, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


def test_the_tests_of_the_page_pass_with_a_good_judge(suite):
    """Scores that follow the labels meet every gate, the easy candidate left out."""
    table = named(simulate("arena", n=200, seed=3).frame())
    table["candidate"] = table["candidate"].replace("c3", "unhelpful")
    noise = np.random.default_rng(1).normal(scale=0.05, size=len(table))
    code, said = typed(suite, table.assign(judge_score=(table["oracle_label"] + noise).clip(0, 1)))
    assert code == 0, said


def test_they_fail_with_a_judge_without_use(suite):
    """Scores without relation to the labels fail both tests, in the words of the gate."""
    table = named(simulate("arena", n=200, seed=3).frame())
    table["candidate"] = table["candidate"].replace("c3", "unhelpful")
    code, said = typed(suite, table.assign(judge_score=1 - table["oracle_label"]))
    assert code == 1
    assert "2 failed" in said
    assert "recovery > 20%: not met" in said


# The page on installing names what the package really brings, and a row for each package that must fit beside it.


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
