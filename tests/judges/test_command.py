"""The command `bonwise judge` before a service of models, and what is selected from the same answers."""

from __future__ import annotations

import csv
import io
import json
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bonwise.judges.registry import judge_from_spec
from bonwise.table.pools import read_pools
from bonwise.table.verdicts import Score, Unscored
from bonwise.testing import Faults
from cli.commands import pool_file, rows_of, strict, typed
from cli.picked import decisions, picks
from cli.served import served, without_keys

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


def test_a_missing_key_ends_before_anything_is_written(capsys, folder, monkeypatch):
    """Also that of one of several judges: one line with the variable to set, no file, no run folder, nothing paid."""
    with served(monkeypatch, folder) as script:
        monkeypatch.delenv("OPENAI_BASE_URL")
        for more in ((), ("--judge", "local:length"), ("--judge", "pointwise:anthropic/m")):
            done = judged(capsys, *more)
            assert (done.code, done.out) == (2, "")
            assert done.err == "bonwise: no key for openai (set OPENAI_API_KEY)\n"
    assert not Path("scores.csv").exists()
    assert not Path("bonwise-run").exists()
    assert not script.counts.requests


def test_stored_answers_need_no_key(capsys, folder, monkeypatch):
    """With a ledger of all answers the run goes through; one that lacks some ends before another judge is paid."""
    with served(monkeypatch, folder) as script:
        judged(capsys)
        kept, paid = Path("scores.csv").read_bytes(), script.counts.paid.total()
        without_keys(monkeypatch)
        assert judged(capsys).code == 0
        assert Path("scores.csv").read_bytes() == kept
        pool_file("pools.jsonl", POOLS | {"p9": ["never", "asked"]})
        refused = judged(capsys, "--judge", "local:length")
    assert (refused.code, refused.err) == (2, "bonwise: no key for openai (set OPENAI_API_KEY)\n")
    assert Path("scores.csv").read_bytes() == kept
    assert script.counts.paid.total() == paid


@pytest.mark.parametrize("where", ["judge", "select"])
def test_nothing_scored_is_exit_1_unless_that_is_allowed(capsys, folder, monkeypatch, where):
    """What was found is written all the same; an answer that is pending goes before."""
    ends = {}
    with served(monkeypatch, folder, faults=Faults(refusal=1.0)):
        pool_file("pools.jsonl", {"p1": ["one", "two"], "p2": ["three", "four"]})
        command = (where, "pools.jsonl", "--judge", "pointwise:openai/m")
        for name, more in {"as it is": (), "allowed": ("--allow-unscored",)}.items():
            ends[name] = typed(capsys, *command, *more)
        ends["pending"] = typed(capsys, *command, "--max-calls", "1", "--run", "other")
    assert {name: done.code for name, done in ends.items()} == {"as it is": 1, "allowed": 0, "pending": 4}
    for name in ("as it is", "allowed"):
        lines = ends[name].err.splitlines()
        assert ends[name].out.count("refused") >= 2
        assert any(line.startswith("bonwise: WARNING: 4 of 4 candidates have no score") for line in lines)
        assert any(line.startswith("bonwise: unscored 4 times: refused") for line in lines)
        assert "nothing was scored: look at what was said with bonwise ledger export" in lines[-1]
        assert ("--allow-unscored" in lines[-1]) == (name == "as it is")


def test_pools_that_need_no_judge_are_not_nothing_scored(capsys, folder, monkeypatch):
    """One text beside a blank one, one candidate, one text twice: the picks stand, and the exit code is 0."""
    command = ("select", "pools.jsonl", "--judge", "pointwise:openai/m")
    with served(monkeypatch, folder, faults=Faults(refusal=1.0)):
        pool_file("pools.jsonl", {"p1": ["", "two"], "p2": ["three"], "p3": ["four", "four"]})
        picked = typed(capsys, *command)
        pool_file("pools.jsonl", {"p1": ["", "two"], "p2": ["five", "six"]})
        refused = typed(capsys, *command)
    assert (picked.code, [line["index"] for line in picks(picked)][:2]) == (0, [1, 0])
    assert "nothing was scored" not in picked.err
    assert refused.code == 1


@pytest.mark.parametrize(("blank", "warned"), [(1, False), (2, True)])
def test_more_than_a_tenth_without_a_score_is_a_warning(capsys, folder, blank, warned):
    """One of ten is none, two of ten are; with several judges each is looked at by itself, and the exit code is 0."""
    pool_file("pools.jsonl", {"p1": [""] * blank + ["a word"] * (10 - blank)})
    done = judged(capsys, judge="local:length")
    picked = typed(capsys, "select", "pools.jsonl", "--judge", "local:length", "--strategy", "greedy")
    assert (done.code, picked.code) == (0, 0)
    assert ("WARNING" in done.err) == warned == (f"WARNING: {blank} of 10 candidates have no score" in picked.err)
    assert f"unscored {'once' if blank == 1 else '2 times'}: empty answer" in done.err


def test_each_judge_is_warned_of_by_itself(capsys, folder, monkeypatch):
    """One judge that refuses everything is named among others that score all, and the exit code is 0."""
    pool_file("pools.jsonl", {"p1": ["one", "two"]})
    others = [word for name in ("length", "lexical", "format") for word in ("--judge", f"local:{name}")]
    with served(monkeypatch, folder, faults=Faults(refusal=1.0)):
        done = judged(capsys, *others)
    assert done.code == 0
    assert [line for line in done.err.splitlines() if "WARNING" in line] == [
        "bonwise: WARNING: 2 of 2 candidates have no score by 'pointwise:openai/m'"
    ]


def test_the_help_names_the_exit_codes(capsys):
    """Of both commands."""
    for command in ("judge", "select"):
        shown = " ".join(typed(capsys, command, "--help-all").out.replace("│", " ").split())
        assert "1 nothing was scored" in shown
        assert "--allow-unscored" in shown


def test_refusals_are_unscored_and_asked_again_only_on_request(capsys, folder, monkeypatch):
    """An answer that says nothing usable is paid, final, and counted; --reask 1 asks once more."""
    with served(monkeypatch, folder, faults=Faults(refusal=1.0)) as script:
        done = judged(capsys)
        assert done.code == 1
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


SCRIPTS = Path(sys.executable).parent
JUDGES = ("local:length", "local:lexical", "local:format", "local:consensus")
COLUMNS = ["prompt_id", "candidate", "judge", "judge_score", "unscored"]


@pytest.fixture(scope="module")
def arena(shared):
    """Return the folder of the arena sample."""
    return shared / "data" / "arena100"


@pytest.fixture
def pools(tmp_path, monkeypatch):
    """Work in a folder with a few pools, one with an empty answer and one with nothing else."""
    monkeypatch.chdir(tmp_path)
    return pool_file(
        "pools.jsonl",
        {
            "p2": ["a longer answer", {"id": "b", "text": "short"}],
            "p1": ["same", "same", "x"],
            "p4": ["", "something"],
            "p3": ["", "  "],
            "p5": ["alone"],
        },
    )


def test_the_journey_of_three_commands(capsys, arena, tmp_path):
    """Select, judge and audit the arena sample: all 101 pools picked in input order, scored, audited."""
    pools, scores = arena / "candidates.jsonl", tmp_path / "scores.csv"
    picked = typed(capsys, "select", pools, "--judge", "local:lexical")
    judged = typed(capsys, "judge", pools, "--judge", "local:lexical", "--out", scores)
    audited = typed(capsys, "audit", scores, "--labels", arena / "scores.csv", "--json", "-")
    assert (picked.code, judged.code, audited.code) == (0, 0, 0)
    expected = [json.loads(line) for line in pools.read_text("utf-8").splitlines()]
    lines = picks(picked)
    assert len(lines) == 101
    assert [line["prompt_id"] for line in lines] == [pool["prompt_id"] for pool in expected]
    for line, pool in zip(lines, expected, strict=True):
        assert pool["candidates"][line["index"]] == {"id": line["best"], "text": line["text"]}
    table = rows_of(scores)
    assert [(row["prompt_id"], row["candidate"]) for row in table] == [
        (pool["prompt_id"], candidate["id"]) for pool in expected for candidate in pool["candidates"]
    ]
    given = [score for line in lines for score in line["scores"]]
    assert [float(row["judge_score"]) for row in table] == given
    assert strict(audited.out)["data"]["labelled_prompts"] == 99


def test_the_journey_of_two_commands(capsys, arena, tmp_path):
    """Two judges and no labels: one is compared with the other, and nothing is called an oracle."""
    scores = tmp_path / "scores.csv"
    judges = ("--judge", "local:length", "--judge", "local:lexical")
    assert typed(capsys, "judge", arena / "candidates.jsonl", *judges, "--out", scores).code == 0
    done = typed(capsys, "audit", scores, "--oracle", "judge:local:lexical")
    assert done.code == 0
    assert "agreement with local:lexical" in " ".join(done.out.split())
    told = [line for line in done.out.splitlines() if not line.startswith("bonwise ")]
    assert "oracle" not in "".join(told).lower()


def test_the_same_inputs_give_the_same_bytes(capsys, arena, tmp_path):
    """Judging twice gives the same bytes, to a file and to standard output; selecting twice the same picks."""
    pools = arena / "candidates.jsonl"
    flags = [word for judge in JUDGES for word in ("--judge", judge)]
    to_stdout = typed(capsys, "judge", pools, *flags)
    for name in ("a.csv", "b.csv"):
        assert typed(capsys, "judge", pools, *flags, "--out", tmp_path / name).code == 0
        assert (tmp_path / name).read_bytes() == to_stdout.out.encode()
    first, second = (typed(capsys, "select", pools, "--judge", JUDGES[2]) for _ in range(2))
    assert decisions(first) == decisions(second)
    assert first.err == second.err


def test_one_row_a_prompt_candidate_and_judge(capsys, pools):
    """Rows are in input order, judges in the order named, and hold exactly what the judges say."""
    done = typed(capsys, "judge", pools, *[word for judge in JUDGES for word in ("--judge", judge)])
    found = list(csv.reader(io.StringIO(done.out)))
    expected = []
    for pool in read_pools(pools):
        verdicts = [judge_from_spec(name).judge(pool.prompt, [c.text for c in pool.candidates]) for name in JUDGES]
        for position, candidate in enumerate(pool.candidates):
            for name, answers in zip(JUDGES, verdicts, strict=True):
                verdict = answers[position]
                score = str(verdict.value) if isinstance(verdict, Score) else ""
                reason = verdict.reason if isinstance(verdict, Unscored) else ""
                expected.append([pool.prompt_id, candidate.id, name, score, reason])
    assert found == [COLUMNS, *expected]


def test_the_unscored_are_counted_with_their_reason(capsys, pools):
    """An answer without a score has a blank and a reason, never a number, and standard error counts them."""
    done = typed(capsys, "judge", pools, "--judge", "local:length", "--out", "s.csv")
    blank = [row for row in rows_of("s.csv") if row["judge_score"] == ""]
    assert [(row["prompt_id"], row["candidate"]) for row in blank] == [("p4", "c0"), ("p3", "c0"), ("p3", "c1")]
    assert {row["unscored"] for row in blank} == {"empty answer"}
    first, warning, pools_without, second = done.err.splitlines()
    assert warning == "bonwise: WARNING: 3 of 10 candidates have no score by 'local:length'"
    assert first == "bonwise: 10 rows to s.csv, 3 of them unscored"
    assert pools_without == "bonwise: no candidate has a score by 'local:length' in 1 pool: p3"
    assert second == "bonwise: unscored 3 times: empty answer"
    assert not done.out


def test_scores_survive_the_file(capsys, pools):
    """A score read back from the CSV is the number the judge gave, to the bit."""
    typed(capsys, "judge", pools, "--judge", "local:length", "--out", "s.csv")
    given = {
        (line["prompt_id"], name): score
        for line in picks(typed(capsys, "select", pools, "--judge", "local:length"))
        for name, score in zip(line["ids"], line["scores"], strict=True)
    }
    for row in rows_of("s.csv"):
        if row["judge_score"] and row["prompt_id"] != "p5":
            assert float(row["judge_score"]) == given[row["prompt_id"], row["candidate"]]


def test_picks_say_how_they_were_made(capsys, pools):
    """A pool has one line: decided by score, by tie-break, as the only candidate, or by nothing, and counted."""
    done = typed(capsys, "select", pools, "--judge", "local:length")
    found = {line["prompt_id"]: line for line in picks(done)}
    assert done.code == 0
    assert [(name, line["decided_by"]) for name, line in found.items()] == [
        ("p2", "score"),
        ("p1", "tie-break"),
        ("p4", "score"),
        ("p3", "nothing scored"),
        ("p5", "only candidate"),
    ]
    assert (found["p2"]["best"], found["p2"]["index"], found["p2"]["tied"]) == ("c0", 0, [])
    assert found["p1"]["best"] in {"c0", "c1"}
    assert found["p1"]["tied"] == ["c0", "c1"]
    assert (found["p4"]["best"], found["p4"]["scores"][0]) == ("c1", None)
    assert (found["p3"]["best"], found["p3"]["index"], found["p3"]["text"]) == (None, None, None)
    assert found["p3"]["unscored"] == {"c0": "empty answer", "c1": "empty answer"}
    assert done.err == (
        "bonwise: 5 pools by local:length: 2 by score, 1 by tie-break, 1 by nothing scored, 1 by only candidate\n"
        "bonwise: WARNING: 3 of 10 candidates have no score\n"
        "bonwise: unscored 3 times: empty answer\n"
    )


def test_the_order_of_candidates_does_not_choose(capsys, tmp_path):
    """Ties are broken by the seed and not by place: shuffled pools have the same picks, another seed has others."""
    rng = random.Random(1)  # noqa: S311 - a shuffle, no secret
    texts = {f"p{x}": [{"id": f"k{i}", "text": "same length"} for i in range(5)] for x in range(60)}
    plain = pool_file(tmp_path / "a.jsonl", texts)
    shuffled = pool_file(tmp_path / "b.jsonl", {name: rng.sample(pool, 5) for name, pool in texts.items()})
    best = {}
    for path, seed in ((plain, 0), (shuffled, 0), (plain, 1)):
        done = typed(capsys, "select", path, "--judge", "local:length", "--seed", seed)
        best[path.name, seed] = [line["best"] for line in picks(done)]
    assert best["a.jsonl", 0] == best["b.jsonl", 0]
    assert best["a.jsonl", 0] != best["a.jsonl", 1]
    assert set(best["a.jsonl", 0]) == {f"k{i}" for i in range(5)}


def test_formula_ids_are_defused_and_come_back(capsys, tmp_path):
    """Ids that a spreadsheet would run are defused in the scores, and still join with labels that hold them plain."""
    ids = ["=a()", "+b", "-c", "@d"]
    pools = pool_file(
        tmp_path / "p.jsonl", {name: [{"id": f"={i}", "text": "x" * i} for i in (1, 2)] for name in ids}
    )
    scores, labels = tmp_path / "s.csv", tmp_path / "labels.jsonl"
    assert typed(capsys, "judge", pools, "--judge", "local:length", "--out", scores).code == 0
    assert {row["prompt_id"] for row in rows_of(scores)} == {"'" + name for name in ids}
    rows = [{"prompt_id": n, "candidate": f"={i}", "oracle_label": i / 2} for n in ids for i in (1, 2)]
    labels.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    document = strict(typed(capsys, "audit", scores, "--labels", labels, "--json", "-").out)
    assert document["metrics"]["value_judge"]["estimate"] == 1.0


def test_ids_with_line_breaks_survive_the_file(capsys, tmp_path):
    """Ids and candidates with any white space inside are the same after a round trip through the scores."""
    names = ["a\nb", "a\rb", "a\r\nb", "a\tb", 'a"b', "a,b", "a;b"]
    pools = pool_file(tmp_path / "p.jsonl", {name: [{"id": name, "text": "x"}, "yy"] for name in names})
    assert typed(capsys, "judge", pools, "--judge", "local:length", "--out", tmp_path / "s.csv").code == 0
    with (tmp_path / "s.csv").open(encoding="utf-8", newline="") as stream:
        read = [(row["prompt_id"], row["candidate"]) for row in csv.DictReader(stream)]
    assert read == [(name, candidate) for name in names for candidate in (name, "c1")]
    document = strict(typed(capsys, "doctor", tmp_path / "s.csv", "--json", "-").out)
    assert document["counts"]["prompts"] == len(names)


def test_gzipped_pools_are_read(capsys, pools):
    """A gzipped file of pools gives the same picks."""
    subprocess.run([shutil.which("gzip"), "-k", pools], check=True)
    plain, packed = (typed(capsys, "select", path, "--judge", "local:length") for path in (pools, f"{pools}.gz"))
    assert decisions(plain) == decisions(packed)


def test_a_file_is_written_whole_or_not_at_all(capsys, pools):
    """When a later pool is bad, the scores of an earlier run stay as they were."""
    assert typed(capsys, "judge", pools, "--judge", "local:length", "--out", "s.csv").code == 0
    before = Path("s.csv").read_bytes()
    with Path(pools).open("a", encoding="utf-8") as stream:
        stream.write("{bad\n")
    assert typed(capsys, "judge", pools, "--judge", "local:length", "--out", "s.csv").code == 2
    assert Path("s.csv").read_bytes() == before
    assert sorted(path.name for path in Path().iterdir()) == ["pools.jsonl", "s.csv"]


def test_the_installed_commands_work_in_a_pipe(pools):
    """Picks of the installed command go to standard output as JSON lines, counts to standard error."""
    done = subprocess.run(
        [SCRIPTS / "bonwise", "select", pools, "--judge", "local:length"], capture_output=True, text=True, check=True
    )
    assert [strict(line)["prompt_id"] for line in done.stdout.splitlines()] == ["p2", "p1", "p4", "p3", "p5"]
    assert done.stderr.startswith("bonwise: 5 pools")
