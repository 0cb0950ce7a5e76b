from __future__ import annotations

import json
from pathlib import Path

import pytest

from bonwise.testing import Faults
from cli.commands import pool_file, rows_of, strict, typed
from cli.served import served

POOLS = {
    "p2": ["a longer answer", {"id": "b", "text": "short"}, "third"],
    "p1": ["one", "two"],
    "p3": ["", "something"],
}
BASE = ["prompt_id", "candidate", "judge", "judge_score", "unscored"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Work in a folder with a few pools, one with a blank answer."""
    monkeypatch.chdir(tmp_path)
    pool_file("pools.jsonl", POOLS)
    return tmp_path


def judged(capsys, *more, judge="pointwise:openai/m"):
    """Judge the pools into scores.csv."""
    return typed(capsys, "judge", "pools.jsonl", "--judge", judge, "--out", "scores.csv", *more)


def test_the_same_command_costs_nothing_and_gives_the_same_bytes(capsys, folder, monkeypatch):
    """A second run takes every answer from the run folder, and says so."""
    with served(monkeypatch, folder) as script:
        first = judged(capsys, "--run", "runs/a")
        content, paid = Path("scores.csv").read_bytes(), script.counts.paid.total()
        second = judged(capsys, "--run", "runs/a")
    assert (first.code, second.code) == (0, 0)
    assert paid == 6 == script.counts.paid.total()
    assert Path("scores.csv").read_bytes() == content
    assert "6 calls sent, 0 answers from the ledger runs/a" in first.err
    assert "0 calls sent, 6 answers from the ledger runs/a" in second.err
    assert "unscored once: empty answer" in first.err


def test_every_command_that_pays_keeps_its_answers_somewhere(capsys, folder, monkeypatch):
    """Without --run the answers lie in a folder of a fixed name; judges that ask no model leave none."""
    with served(monkeypatch, folder):
        assert judged(capsys, judge="local:length").code == 0
        assert not Path("bonwise-run").exists()
        assert judged(capsys).code == 0
    assert Path("bonwise-run/ledger.sqlite").is_file()


def test_several_judges_share_a_run(capsys, folder, monkeypatch):
    """Rows are in input order, judge by judge; columns appear for what some judge fills."""
    specs = ["pointwise:openai/m", "interval:anthropic/c", "resampled,draws=2,of=pointwise:openai/m", "local:length"]
    with served(monkeypatch, folder):
        more = [word for spec in specs[1:] for word in ("--judge", spec)]
        done = judged(capsys, *more, judge=specs[0])
    assert done.code == 0
    rows = rows_of("scores.csv")
    assert list(rows[0]) == [*BASE, "low", "high", "sd", "draw_0", "draw_1"]
    assert [(row["prompt_id"], row["candidate"], row["judge"]) for row in rows] == [
        (prompt, name, spec)
        for prompt, names in {"p2": ["c0", "b", "c2"], "p1": ["c0", "c1"], "p3": ["c0", "c1"]}.items()
        for name in names
        for spec in specs
    ]
    drawn = next(row for row in rows if row["draw_0"])
    assert float(drawn["judge_score"]) == pytest.approx((float(drawn["draw_0"]) + float(drawn["draw_1"])) / 2)
    assert "draws are meant to differ by temperature 1" in done.err
    assert "anthropic/c takes no temperature: none is sent" in done.err


def test_comparisons_are_kept_with_both_orders(capsys, folder, monkeypatch):
    """--pairs writes a row a comparison, and the summary says what being shown first was worth."""
    with served(monkeypatch, folder):
        done = judged(capsys, "--pairs", "pairs.csv", judge="pairwise:openai/m")
    assert done.code == 0
    rows = rows_of("pairs.csv")
    assert len(rows) == 3 + 1  # three pairs of p2, one of p1; p3 has a single answer with words
    for row in rows:
        effect = float(row["shown_first"]) - float(row["shown_second"])
        assert float(row["order_effect"]) == pytest.approx(effect)
    assert "position effect" in done.err
    assert "4 pairs judged in both orders" in done.err


def test_a_model_fills_in_for_judges_that_name_none(capsys, folder, monkeypatch):
    """--model serves every judge without a model; without it the judge is refused before anything is sent."""
    with served(monkeypatch, folder) as script:
        assert judged(capsys, "--model", "openai/m", judge="pointwise").code == 0
        assert {row["judge"] for row in rows_of("scores.csv")} == {"pointwise:openai/m"}
        paid = script.counts.paid.total()
        refused = judged(capsys, judge="pointwise")
    assert (refused.code, script.counts.paid.total()) == (2, paid)
    assert "--model" in refused.err


def test_a_dry_run_sends_nothing_and_foresees_the_calls(capsys, folder, monkeypatch):
    """The estimate names the calls that a run then makes, and knows what is in the ledger."""
    with served(monkeypatch, folder) as script:
        before = judged(capsys, "--dry-run")
        assert script.counts.requests == 0
        assert not Path("bonwise-run").exists()
        assert "6 calls (0 of 6 answers" in before.out
        assert "at most" in before.out
        assert "$" in before.out
        judged(capsys)
        assert script.counts.paid.total() == 6
        after = judged(capsys, "--dry-run")
    assert "0 calls (6 of 6 answers" in after.out


def test_a_limit_leaves_a_run_that_goes_on(capsys, folder, monkeypatch):
    """At a limit the command ends with 4, blanks what is owed, and a further run pays only the rest."""
    with served(monkeypatch, folder) as script:
        cut = judged(capsys, "--max-calls", "4")
        owed = [row for row in rows_of("scores.csv") if row["unscored"].startswith("owed")]
        assert (cut.code, len(owed), script.counts.paid.total()) == (4, 2, 4)
        assert "2 answers are pending" in cut.err
        assert judged(capsys).code == 0
    assert script.counts.paid.total() == 6
    assert not script.counts.paid_again
    assert not any(row["unscored"].startswith("owed") for row in rows_of("scores.csv"))


def test_a_cost_limit_needs_a_price(capsys, folder, monkeypatch):
    """Without a known price --max-cost is refused, and nothing is sent; with one it holds."""
    with served(monkeypatch, folder) as script:
        assert judged(capsys, "--max-cost", "0.5").code == 0
        paid = script.counts.paid.total()
        refused = judged(capsys, "--max-cost", "0.5", judge="pointwise:anthropic/unheard-of")
    assert (refused.code, script.counts.paid.total()) == (2, paid)
    assert "price" in refused.err
    assert "BONWISE_PRICES" in refused.err


def test_a_refused_key_is_one_line(capsys, folder, monkeypatch):
    """A server that refuses the key ends the run with 2 and no key in what is said."""
    with served(monkeypatch, folder, keys=frozenset({"right"})):
        monkeypatch.setenv("OPENAI_API_KEY", "sk-wrong-canary-0123456789")
        done = judged(capsys)
    assert done.code == 2
    assert "canary" not in done.err + done.out
    assert "Traceback" not in done.err


def test_a_missing_key_names_its_variable(capsys, folder, monkeypatch):
    """Without a key, at the service itself, the variable to set is named and nothing is sent."""
    with served(monkeypatch, folder):
        monkeypatch.delenv("OPENAI_BASE_URL")
        done = judged(capsys)
    assert done.code == 2
    assert "OPENAI_API_KEY" in done.err


def test_refusals_are_unscored_and_asked_again_only_on_request(capsys, folder, monkeypatch):
    """An answer that says nothing usable is paid, final, and counted; --reask 1 asks once more."""
    with served(monkeypatch, folder, faults=Faults(refusal=1.0)) as script:
        done = judged(capsys)
        assert done.code == 0
        assert sum(row["judge_score"] == "" for row in rows_of("scores.csv")) == 7
        assert "unscored 6 times: refused" in done.err
        judged(capsys)
        assert script.counts.paid.total() == 6
        judged(capsys, "--reask", "1")
        assert script.counts.paid.total() == 12
        judged(capsys, "--reask", "1")
    assert script.counts.paid.total() == 12


def test_what_a_server_ignores_is_said(capsys, folder, monkeypatch):
    """Ignored draws, log probabilities and schemas are each a line of the summary."""
    with served(monkeypatch, folder, ignores=frozenset({"n", "logprobs", "schema"})):
        drawn = judged(capsys, judge="resampled,draws=3,of=pointwise:openai/m")
        logs = judged(capsys, judge="logprob:openai/m")
    assert "sent 1 of 3 answers" in drawn.err
    assert "schema" in drawn.err
    assert "logprobs" in logs.err
    assert all(row["judge_score"] == "" for row in rows_of("scores.csv"))


def test_the_ledger_can_be_looked_into(capsys, folder, monkeypatch):
    """Sums, single rows, a whole row, an export and pruning, from the run folder alone."""
    with served(monkeypatch, folder):
        judged(capsys)
    sums = typed(capsys, "ledger", "stats")
    assert "openai/m: calls 6 answered; 6 answers" in sums.out
    assert "integrity: ok" in sums.out
    document = strict(typed(capsys, "ledger", "stats", "--json", "-").out)
    assert (document["schema"], document["answers"]) == ("bonwise.ledger/1", 6)
    lines = typed(capsys, "ledger", "show", "bonwise-run", "--limit", "3").out.splitlines()
    assert len(lines) == 3
    whole = strict(typed(capsys, "ledger", "show", "--key", lines[0].split()[0]).out)
    assert whole["state"] == "answered"
    assert whole["body"]["model"] == "m"
    exported = typed(capsys, "ledger", "export", "bonwise-run", "--out", "calls.jsonl")
    assert exported.code == 0
    assert len([json.loads(line) for line in Path("calls.jsonl").read_text("utf-8").splitlines()]) == 6
    assert "0 calls deleted" in typed(capsys, "ledger", "prune").err


@pytest.mark.parametrize(
    "arguments",
    [
        ("stats", "nowhere"),
        ("show", "--state", "lost"),
        ("prune", "--state", "answered"),
        ("prune", "--before", "yesterday"),
        ("export", "--out", "bonwise-run/ledger.sqlite"),
    ],
    ids=" ".join,
)
def test_a_ledger_command_that_means_nothing_is_refused(capsys, folder, monkeypatch, arguments):
    """A folder without a ledger, an unknown state or day, and an output over the ledger end with 2 and one line."""
    with served(monkeypatch, folder):
        judged(capsys)
    done = typed(capsys, "ledger", *arguments)
    assert done.code == 2
    assert len(done.err.splitlines()) == 1


def test_judges_are_listed_with_their_calls(capsys):
    """Every built-in kind stands there with the calls it takes for so many candidates."""
    lines = typed(capsys, "judges", "--candidates", "5").out.splitlines()
    rows = {line.split()[0]: line.split()[1] for line in lines}
    assert rows["pointwise"] == "5"
    assert rows["pairwise"] == "20"
    assert rows["resampled"] == "25"
    assert rows["local"] == "0"


def test_gigantic_candidates_are_cut_and_counted(capsys, tmp_path, monkeypatch):
    """A text beyond the limit is shown without its middle, and the summary counts it."""
    monkeypatch.chdir(tmp_path)
    pool_file("pools.jsonl", {"p1": ["x" * 200_000, "short"]})
    with served(monkeypatch, tmp_path) as script:
        done = judged(capsys)
    assert done.code == 0
    assert script.counts.paid.total() == 2
    assert "shown without its middle once" in done.err
