"""Without the audit extra, or with a part of it: what works, what is loaded, and what says the line to type."""

from __future__ import annotations

import json

import numpy as np
import pytest
import typer

from bonwise.cli.app import app_for
from bonwise.routing.gain_model import fit_gain
from bonwise.routing.saved import SavedRouter
from cli.commands import rows_of
from cli.served import served
from tiers.commands_by_tier import AUDIT_TIER, BASE_TIER, PROMPTS, document_of, fill, words_of
from tiers.running import AUDIT_MODULES, LINE, in_child, installed

# What selecting and judging load: neither pandas nor scipy, nor what the audit extra brings.


HEAVY = {"pandas", "scipy", *AUDIT_MODULES}
ROUTED = ("--strong", "pairwise:openai/n", "--share", "0.5", "--run", "run")
SIGNALS = ("margin", "interval_width", "disagreement", "margin.json", "margin_level.json")

COMMANDS = {
    "judge": ("judge", "pools.jsonl", "--judge", "pointwise:openai/m", "--out", "out.csv", "--run", "run"),
    "judge pairs": (
        *("judge", "pools.jsonl", "--judge", "pairwise:openai/m", "--run", "run"),
        *("--out", "compared.csv", "--pairs", "compared_pairs.csv"),
    ),
    "judge intervals": ("judge", "pools.jsonl", "--judge", "interval:openai/m", "--out", "ends.csv", "--run", "run"),
    "judge, estimated": ("judge", "pools.jsonl", "--judge", "pointwise:openai/m", "--dry-run", "--run", "run"),
    "select": ("select", "pools.jsonl", "--judge", "pointwise:openai/m", "--run", "run"),
    "select by comparisons": ("select", "pools.jsonl", "--judge", "pairwise:openai/m", "--run", "run"),
    "select adaptively": (
        *("select", "pools.jsonl", "--judge", "interval:openai/m", "--strategy", "adaptive:margin=0", "--run", "run"),
    ),
    "select, estimated": ("select", "pools.jsonl", "--judge", "pointwise:openai/m", "--dry-run", "--run", "run"),
    **{
        f"select by {signal}": (
            *("select", "pools.jsonl", "--judge", "interval:openai/m", *ROUTED, "--route", signal),
            *(("--second", "pointwise:openai/m") if signal == "disagreement" else ()),
        )
        for signal in SIGNALS
    },
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Fill a folder, two saved routers among the files, and point the services' addresses at a scripted one."""
    folder = tmp_path_factory.mktemp("loaded")
    fill(folder)
    rng = np.random.default_rng(0)
    features = {"margin": rng.uniform(size=100), "level": rng.uniform(size=100)}
    model = fit_gain(features, features["level"])
    SavedRouter.of("margin", 0.5, -0.2, np.linspace(-1, 0, 50)).save(folder / "margin.json")
    SavedRouter.of("margin_level", 0.5, 0.2, np.linspace(0, 1, 50), model).save(folder / "margin_level.json")
    with pytest.MonkeyPatch.context() as patched, served(patched, tmp_path_factory.mktemp("prices")):
        yield folder


@pytest.fixture(scope="module")
def told(folder):
    """Run the commands twice in one interpreter; by name, what each left behind and what was loaded by then."""
    first, second = (in_child(folder, *COMMANDS.values()) for _ in range(2))
    return dict(zip(COMMANDS, zip(first, second, strict=True), strict=True))


@pytest.mark.parametrize("name", COMMANDS)
def test_judging_and_selecting_load_neither_pandas_nor_scipy(told, name):
    """A command that judges, selects or routes online loads no table, nor does it when it resumes its run folder."""
    first, second = told[name]
    assert (first.code, second.code) == (0, 0), first.err + second.err
    assert HEAVY.intersection(first.loaded) == HEAVY.intersection(second.loaded) == set()


def test_a_resumed_run_sends_nothing(told):
    """The second time every answer is in the run folder, and the file of scores is the same to the byte."""
    first, second = told["judge"]
    assert "12 calls sent, 0 answers from the ledger" in first.err
    assert "0 calls sent, 12 answers from the ledger" in second.err
    assert "out.csv" in first.written
    assert "out.csv" not in second.written


def test_the_library_selects_without_pandas_or_scipy(folder):
    """So do `bonwise.select`, `bonwise.judge`, `bonwise.select_many`, and a Selector with a Router."""
    for one in in_child(folder, calls=("selected", "many_judged", "served")):
        assert one.failure == ""
        assert HEAVY.intersection(one.loaded) == set()


def test_what_needs_a_distribution_loads_scipy_alone(folder):
    """The interval of a mean of draws, and the value of a further draw, take scipy, and no table either."""
    pointwise = ("pools.jsonl", "--judge", "pointwise:openai/m", "--run", "run")
    resampled = ("pools.jsonl", "--judge", "resampled,draws=2,of=pointwise:openai/m", "--run", "run")
    for words in (("judge", *resampled), ("select", *pointwise, "--strategy", "value_of_information")):
        (done,) = in_child(folder, words)
        assert done.code == 0, done.err
        assert HEAVY.intersection(done.loaded) == {"scipy"}


# With some modules of the audit extra and not with others: what needs none of the missing ones works.


AUDIT = ("audit", "scores.csv", "--labels", "labels.csv")

CASES = {
    "jinja2": (AUDIT, (*AUDIT, "--html", "page.html"), "--html page.html"),
    "matplotlib": (AUDIT, (*AUDIT, "--html", "page.html"), "--html page.html"),
    "threadpoolctl": (AUDIT, (*AUDIT, "--interval", "bootstrap"), "the bootstrap"),
}


@pytest.mark.parametrize("module", CASES)
def test_only_what_needs_the_missing_module_is_refused(module, tmp_path):
    """The message names the one module that is missing; the same command without that part works."""
    if not installed():
        pytest.skip("needs the audit extra, of which one module is then forbidden")
    fill(tmp_path)
    works, refused, asked = CASES[module]
    first, second = in_child(tmp_path, works, refused, absent=[module], forbidden=True)
    assert first.code == 0, first.err
    assert second.code == 2
    assert second.err == f"bonwise: {asked} needs bonwise[audit]: {module} is not installed ({LINE})\n"
    assert second.written == {}


# Without the audit extra: what works, and what says the line to type.


CALLS = ("selected", "many_judged", "served", "picked_and_shown", "loaded", "planned", "public_names", "audited")


@pytest.fixture(scope="module")
def refused(without_audit, tmp_path_factory):
    """Run every command of the audit tier; return what each left behind, and how many requests a service saw."""
    folder = tmp_path_factory.mktemp("refused")
    fill(folder)
    with pytest.MonkeyPatch.context() as patched, served(patched, tmp_path_factory.mktemp("prices")) as script:
        done = without_audit(folder, *map(words_of, AUDIT_TIER))
        return dict(zip(AUDIT_TIER, done, strict=True)), script.counts.requests


@pytest.fixture(scope="module")
def worked(without_audit, tmp_path_factory):
    """Run every command of the base tier, one after the other on one run folder; return what each left behind."""
    folder = tmp_path_factory.mktemp("worked")
    fill(folder)
    with pytest.MonkeyPatch.context() as patched, served(patched, tmp_path_factory.mktemp("prices")):
        done = without_audit(folder, *BASE_TIER.values())
    return folder, dict(zip(BASE_TIER, done, strict=True))


@pytest.fixture(scope="module")
def called(without_audit, tmp_path_factory):
    """Call every function of `library`; return what came of each."""
    folder = tmp_path_factory.mktemp("called")
    fill(folder)
    with pytest.MonkeyPatch.context() as patched, served(patched, tmp_path_factory.mktemp("prices")):
        return dict(zip(CALLS, without_audit(folder, calls=CALLS), strict=True))


def test_the_extra_is_really_absent(without_audit, tmp_path):
    """None of its modules can be imported where the other tests of this file run; one that can stops them."""
    without_audit(tmp_path)
    with pytest.raises(AssertionError, match="can be imported: colorsys"):
        in_child(tmp_path, absent=["no_such_module", "colorsys"])


def test_every_command_has_a_tier():
    """No command is left out of the tests below."""

    def paths(command, *before):
        below = getattr(command, "commands", {})
        return [p for name, one in below.items() for p in paths(one, *before, name)] if below else [before]

    tried = [*AUDIT_TIER.values(), *BASE_TIER.values()]
    assert [
        p for p in paths(typer.main.get_command(app_for([]))) if not any(words[: len(p)] == p for words in tried)
    ] == []


@pytest.mark.parametrize("name", AUDIT_TIER)
def test_the_audit_tier_says_the_line_to_type(refused, name):
    """One line on standard error with the command that mends it, exit 2, nothing on standard output."""
    done = refused[0][name]
    assert done.code == 2, done.err
    assert done.out == ""
    assert done.err.count("\n") == 1
    assert done.err.startswith("bonwise: ")
    assert "needs bonwise[audit]" in done.err
    assert done.err.endswith(f"({LINE})\n")


@pytest.mark.parametrize("name", AUDIT_TIER)
def test_the_audit_tier_writes_no_file_but_the_error(refused, name):
    """Where ``--json`` asks for a document there is that of the error; no other file is written or changed."""
    documents, asked = refused[0][name].written, document_of(name)
    assert list(documents) == ([] if asked is None else [asked])
    for text in documents.values():
        document = json.loads(text)
        assert list(document) == ["schema", "error", "hint"]
        assert (document["schema"], document["hint"]) == ("bonwise.error/1", LINE)
        assert f"bonwise: {document['error']} ({LINE})\n" == refused[0][name].err


def test_nothing_is_spent_before_a_refusal(refused):
    """No command of the audit tier sends a request, `select --html` among them."""
    assert refused[1] == 0


@pytest.mark.parametrize("name", BASE_TIER)
def test_the_base_tier_works(worked, name):
    """Every command of the base tier does what it does."""
    done = worked[1][name]
    assert done.code == 0, done.err
    assert "needs bonwise" not in done.err


def test_scores_and_picks_are_whole(worked):
    """Scores, comparisons and picks of the base tier hold a row for each thing that was judged."""
    folder, done = worked
    scores, pairs = rows_of(folder / "judged.csv"), rows_of(folder / "compared-pairs.csv")
    assert (len(scores), len(pairs)) == (3 * PROMPTS, 3 * PROMPTS)
    assert all(0 <= float(row["judge_score"]) <= 1 for row in scores)
    picks = [json.loads(line) for line in done["select routed"].out.splitlines()]
    assert [pick["best"] is not None and pick["routed"] is not None for pick in picks] == [True] * PROMPTS


@pytest.mark.parametrize("name", CALLS)
def test_the_library_has_the_same_tiers(called, name):
    """What a program calls works, or is refused with the line to type; see `library` for each."""
    assert called[name].failure == ""
