"""Without the audit extra: what works, and what says the line to type."""

from __future__ import annotations

import json

import pytest
import typer

from bonwise.cli.app import app_for
from cli.commands import rows_of
from cli.served import served
from tiers.commands_by_tier import AUDIT_TIER, BASE_TIER, PROMPTS, document_of, fill, words_of
from tiers.running import LINE, in_child

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
