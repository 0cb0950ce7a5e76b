"""Judged pools as rows of a table, whatever the judges said."""

from __future__ import annotations

import asyncio
import json
import math
import re
import statistics
from pathlib import Path

import pytest

import bonwise as bw
from bonwise.calls.ask import Choice
from bonwise.calls.bill import Bill
from bonwise.calls.engine import Engine
from bonwise.calls.providers.protocol import Connection
from bonwise.judges.protocol import Judgment
from bonwise.judges.registry import judges_from_specs
from bonwise.judges.scoring import (
    PAIR_HEADER,
    JudgedPool,
    OrderEffect,
    judge_pools,
    order_effects,
    pair_rows,
    score_table,
    words_of_lost,
)
from bonwise.table.pools import Candidate, Pool
from bonwise.table.verdicts import Preference, Score, Unscored
from bonwise.table.writing import csv_text
from bonwise.testing.faults import drawn_share
from bonwise.testing.script import Script
from bonwise.testing.scripted_judge import ScriptedJudge
from bonwise.testing.transport import FakeTransport
from calls.virtual_time import run_virtual
from cli.commands import CONTROL, pool_file, rows_of, typed, written
from cli.served import served

ALWAYS = ("prompt_id", "candidate", "judge", "judge_score", "unscored")
SPECS = [
    "pointwise:openai/m",
    "interval:openai/m",
    "resampled,draws=3,of=pointwise:openai/m",
    "pairwise:openai/m",
    "quantized,bins=5,of=pointwise:openai/m",
]


def pool(name, size=2):
    """Return a pool."""
    return Pool(
        name, f"About {name}?", tuple(Candidate(f"{name}.{at}", f"Text {at} of {name}") for at in range(size))
    )


def judge(name):
    """Return a judge of which only the name matters."""
    return ScriptedJudge([], name=name)


def judged(*verdicts, name="p", preferences=()):
    """Return a pool with the verdicts of one judge."""
    return JudgedPool(pool(name, len(verdicts)), (Judgment(verdicts, preferences),))


def table(*found, judges=("j",)):
    """Return the rows as mappings from column to cell."""
    header, rows = score_table(found, [judge(name) for name in judges])
    assert all(len(row) == len(header) for row in rows)
    return header, [dict(zip(header, row, strict=True)) for row in rows]


def test_there_is_one_row_per_prompt_candidate_and_judge():
    """Rows come in input order: pools, their candidates, and for each candidate the judges."""
    two = Judgment((Score(0.1), Score(0.2))), Judgment((Score(0.3), Score(0.4)))
    found = [JudgedPool(pool("b"), two), JudgedPool(pool("a"), two)]
    header, rows = score_table(found, [judge("x"), judge("y")])
    assert header == ALWAYS
    assert rows == [
        ("b", "b.0", "x", 0.1, ""),
        ("b", "b.0", "y", 0.3, ""),
        ("b", "b.1", "x", 0.2, ""),
        ("b", "b.1", "y", 0.4, ""),
        ("a", "a.0", "x", 0.1, ""),
        ("a", "a.0", "y", 0.3, ""),
        ("a", "a.1", "x", 0.2, ""),
        ("a", "a.1", "y", 0.4, ""),
    ]


def test_an_unscored_candidate_has_a_blank_score_and_its_reason():
    """No score is a blank with the reason beside it, never a number, also in the columns that others fill."""
    header, rows = table(judged(Unscored("refused: policy"), Score(0.0), Unscored("owed: max_calls", owed=True)))
    assert header == ALWAYS
    assert [(row["judge_score"], row["unscored"]) for row in rows] == [
        ("", "refused: policy"),
        (0.0, ""),
        ("", "owed: max_calls"),
    ]
    header, rows = table(judged(Unscored("no"), Score(0.5, low=0.0, high=1.0, draws=(0.25, 0.75))))
    assert header == (*ALWAYS, "low", "high", "sd", "draw_0", "draw_1")
    assert [rows[0][name] for name in header[3:]] == ["", "no", "", "", "", "", ""]


def test_the_columns_of_intervals_stand_there_when_a_judge_filled_them():
    """``low`` and ``high`` appear when some score has them; other scores leave them blank."""
    header, rows = table(judged(Score(0.5, low=0.0, high=0.75)), judged(Score(0.6)))
    assert header == (*ALWAYS, "low", "high")
    assert [(row["low"], row["high"]) for row in rows] == [(0.0, 0.75), ("", "")]


def test_the_columns_of_draws_are_as_many_as_the_most_draws():
    """``draw_0`` ... hold the draws in their order, an unscored one blank; ``sd`` is their standard deviation."""
    header, rows = table(
        judged(Score(0.5, draws=(0.25, None, 0.75))), judged(Score(0.5, draws=(None, 0.5))), judged(Score(0.1))
    )
    assert header == (*ALWAYS, "sd", "draw_0", "draw_1", "draw_2")
    assert [[row[name] for name in header[5:]] for row in rows] == [
        [pytest.approx(math.sqrt(0.125)), 0.25, "", 0.75],
        ["", "", 0.5, ""],
        ["", "", "", ""],
    ]


def test_no_pools_leave_a_header():
    """A table of nothing has the columns that are always there, and no rows."""
    assert score_table([], [judge("j")]) == (ALWAYS, [])


PAIRS = (
    Preference(0, 1, 1.0, 0.0, (4, 2)),
    Preference(0, 2, 0.5, Unscored("refused: policy")),
    Preference(1, 2, None, 0.25),
)


def test_a_compared_pair_is_a_row():
    """Each pair has what its first candidate earned in each order, their mean and difference; blanks have reasons."""
    found = judged(Score(0.5), Score(0.5), Score(0.5), name="q", preferences=PAIRS)
    rows = [dict(zip(PAIR_HEADER, row, strict=True)) for row in pair_rows([found], [judge("j")])]
    assert [(row["prompt_id"], row["judge"], row["a"], row["b"]) for row in rows] == [
        ("q", "j", "q.0", "q.1"),
        ("q", "j", "q.0", "q.2"),
        ("q", "j", "q.1", "q.2"),
    ]
    assert [
        tuple(row[name] for name in ("shown_first", "shown_second", "value", "order_effect", "unscored"))
        for row in rows
    ] == [(1.0, 0.0, 0.5, 1.0, ""), (0.5, "", "", "", "refused: policy"), ("", 0.25, 0.25, "", "")]


def test_a_pair_without_any_verdict_is_blank_with_both_reasons():
    """Both orders unscored: no value, and both reasons."""
    pair = Preference(0, 1, Unscored("refused"), Unscored("empty reply"))
    (row,) = pair_rows([judged(Score(0.5), Score(0.5), preferences=(pair,))], [judge("j")])
    assert row == ("p", "j", "p.0", "p.1", "", "", "", "", "refused; empty reply", "", "")


def test_the_effect_of_the_order_is_the_mean_over_pairs_judged_both_ways():
    """Worked by hand: effects 1, 0 and -0.5 over three pairs; single orders and lost ones say nothing of it."""
    first = judged(Score(0.5), Score(0.5), Score(0.5), preferences=PAIRS)
    second = judged(
        Score(0.5),
        Score(0.5),
        preferences=(Preference(0, 1, 0.5, 0.5), Preference(0, 1, 0.25, 0.75), Preference(0, 1, Unscored("x"), 1.0)),
    )
    (effect,) = order_effects([first, second], [judge("j")])
    assert effect == OrderEffect("j", pairs=3, advantage=pytest.approx(0.5 / 3), differing=2)
    assert str(effect) == (
        "j: position effect +0.167; the verdict on 2 of 3 pairs judged in both orders changes with the order"
    )
    assert words_of_lost([first, second], 0) == "2 of 6 comparisons lost"
    assert words_of_lost([judged(Score(0.5), Score(0.5), preferences=PAIRS[:1])], 0) == ""


def test_a_symmetric_judge_depends_on_no_order():
    """Worked by hand: 1 - (1 - p) is p but for rounding, and a change of strength is none of side."""
    stated = [at / 73 for at in range(1, 73)]
    pairs = tuple(Preference(0, 1, one, 1 - (1 - one)) for one in stated)
    assert sum(pair.order_effect != 0 for pair in pairs) > 10
    (effect,) = order_effects([judged(Score(0.5), Score(0.5), preferences=pairs)], [judge("j")])
    assert (effect.pairs, effect.differing) == (72, 0)
    assert str(effect).startswith("j: position effect +0.000; the verdict on 0 of 72 pairs ")
    weaker = (Preference(0, 1, 0.9, 0.7), Preference(0, 1, 0.5, 0.7), Preference(0, 1, 0.7, 0.3))
    (effect,) = order_effects([judged(Score(0.5), Score(0.5), preferences=weaker)], [judge("j")])
    assert (effect.pairs, effect.differing) == (3, 2)


def test_a_judge_without_pairs_has_no_effect():
    """Nothing is said about a judge that compares no pairs, or of pairs of which one order is lost."""
    alone = judged(Score(0.5), Score(0.5))
    lost = judged(Score(0.5), Score(0.5), preferences=(Preference(0, 1, 1.0, Unscored("refused")),))
    assert order_effects([alone, lost], [judge("j")]) == []
    assert order_effects([], [judge("j")]) == []


def test_effects_are_told_apart_by_judge():
    """Each judge has its own effect, at its own place among the judges."""
    biased = Judgment((Score(0.5), Score(0.5)), (Preference(0, 1, 1.0, 0.0),))
    fair = Judgment((Score(1.0), Score(0.0)), (Preference(0, 1, 1.0, 1.0),))
    plain = Judgment((Score(1.0), Score(0.0)))
    found = order_effects([JudgedPool(pool("p"), (plain, biased, fair))], [judge(name) for name in "abc"])
    assert [(one.judge, one.advantage, one.differing) for one in found] == [("b", 1.0, 1), ("c", 0.0, 0)]


# The table of a run.


class Latencies(FakeTransport):
    """A transport whose answers take between 1 and 100 seconds, by the request."""

    async def handle_async_request(self, request):
        """Wait, then answer."""
        await asyncio.sleep(1 + 99 * drawn_share(await request.aread()))
        return await super().handle_async_request(request)


def said(request):
    """Refuse some questions, and answer the others in the form that they ask for."""
    share = drawn_share(request.user, request.sample)
    if share < 0.1:
        return Choice("", "refusal", "policy")
    score = round(100 * share)
    if "choice" in request.schema["properties"]:
        return '{"choice": "A", "confidence": 3}' if share < 0.6 else '{"choice": "TIE", "confidence": 1}'
    if "low" in request.schema["properties"]:
        return f'{{"score": {score}, "low": {max(score - 10, 0)}, "high": {min(score + 5, 100)}}}'
    return f'{{"score": {score}}}'


@pytest.fixture(scope="module")
def run():
    """Return pools that five judges judged with answers that came in any order, and the judges."""
    pools = [pool(f"p{number}", 2 + number % 3) for number in range(12)]
    judges = judges_from_specs(SPECS, base_url="http://scripted/v1")

    async def main():
        async with Engine(connection=Connection(transport=Latencies(Script(said)))) as engine:
            return [one async for one in judge_pools(pools, judges, engine)]

    return run_virtual(main()), judges


def test_rows_come_in_input_order_whatever_finishes_first(run):
    """With answers that take from 1 to 100 seconds the rows are in input order."""
    found, judges = run
    _, rows = score_table(found, judges)
    expected = [
        (f"p{number}", f"p{number}.{at}", one.name)
        for number in range(12)
        for at in range(2 + number % 3)
        for one in judges
    ]
    assert [row[:3] for row in rows] == expected


def test_every_score_of_a_run_is_in_its_table(run):
    """Each verdict is in its row: value, interval, draws and their deviation, or the reason."""
    found, judges = run
    header, rows = score_table(found, judges)
    assert header == (*ALWAYS, "low", "high", "sd", "draw_0", "draw_1", "draw_2")
    cells = iter(dict(zip(header, row, strict=True)) for row in rows)
    unscored = 0
    for one in found:
        for at in range(len(one.pool.candidates)):
            for judgment in one.judgments:
                verdict, row = judgment.verdicts[at], next(cells)
                if isinstance(verdict, Unscored):
                    unscored += 1
                    assert (row["judge_score"], row["unscored"]) == ("", verdict.reason)
                    continue
                assert (row["judge_score"], row["unscored"]) == (verdict.value, "")
                assert (row["low"], row["high"]) == tuple(
                    "" if end is None else end for end in (verdict.low, verdict.high)
                )
                known = [draw for draw in verdict.draws if draw is not None]
                assert row["sd"] == (pytest.approx(statistics.stdev(known)) if len(known) > 1 else "")
    assert unscored > 0


def test_the_table_of_a_run_reads_back(run, tmp_path):
    """What a run writes as CSV, `ScoreTable` reads as it was: the same scores, and blanks for the unscored."""
    found, judges = run
    header, rows = score_table(found, judges)
    file = tmp_path / "scores.csv"
    file.write_text(csv_text(header, rows), encoding="utf-8")
    frame = bw.ScoreTable.read(file).frame
    assert list(frame["judge"].unique()) == [one.name for one in judges]
    read = {(one.prompt_id, one.candidate, one.judge): one.judge_score for one in frame.itertuples()}
    assert len(read) == len(rows)
    for prompt, candidate, name, score, *_ in rows:
        value = read[prompt, candidate, name]
        assert math.isnan(value) if score == "" else value == score


def test_the_pairs_of_a_run_are_all_there(run):
    """Every pair of every pool is a row of the judge that compares, and of no other."""
    found, judges = run
    rows = list(pair_rows(found, judges))
    sizes = [len(one.pool.candidates) for one in found]
    assert len(rows) == sum(math.comb(size, 2) for size in sizes)
    assert {row[1] for row in rows} == {"pairwise:openai/m"}
    (effect,) = order_effects(found, judges)
    effects = [row[7] for row in rows if row[7] != ""]
    assert (effect.pairs, effect.advantage) == (len(effects), pytest.approx(statistics.fmean(effects)))
    lost = [row for row in rows if row[8]]
    assert lost
    assert all(row[6:8] == ("", "") for row in lost)
    assert words_of_lost(found, [row.name for row in judges].index("pairwise:openai/m")) == (
        f"{len(lost)} of {len(rows)} comparisons lost"
    )


def test_stated_confidences_stand_beside_their_orders():
    """A confidence that was stated in one order only is a number there and blank in the other."""
    pair = Preference(0, 1, 1.0, 0.5, confidence=(4, None))
    (row,) = pair_rows([judged(Score(0.5), Score(0.5), preferences=(pair,))], [judge("j")])
    cells = dict(zip(PAIR_HEADER, row, strict=True))
    assert (cells["confidence_first"], cells["confidence_second"]) == (4, "")


def test_the_words_of_a_judge_stand_beside_its_score_where_they_are_asked_for(run):
    """With `raw` the last column holds what was said of the candidate alone, by each draw, read or not."""
    found, judges = run
    header, rows = score_table(found, judges, raw=True)
    assert header[-1] == "raw"
    assert [row[:-1] for row in rows] == score_table(found, judges)[1]
    raw = {spec.name: [row[-1] for row in rows if row[2] == spec.name] for spec in judges}
    pointwise, _, resampled, _, quantized = raw.values()
    assert all(pointwise)
    assert quantized == pointwise
    assert max(said.count("\n\n") for said in resampled) == 2
    assert not any(row[-1] for row in rows if row[2] == "pairwise:openai/m" and row[3] != "")


def test_words_and_reasons_are_written_out_where_no_file_holds_them():
    """Half a surrogate pair, NUL and escapes of a terminal are in the table as text; a reason is one line."""
    hostile = "\x00\x1b[31m\ud800\nb"
    found = judged(Score(0.5, raw=hostile), Unscored(hostile, raw=hostile))
    _, (first, second) = score_table([found], [judge("j")], raw=True)
    assert (first[-1], second[-1]) == ("\\x00\\x1b[31m\\ud800\nb",) * 2
    assert second[4] == r"\x00\x1b[31m\ud800\nb"
    assert [verdict.raw for verdict in found.judgments[0].verdicts] == [hostile] * 2
    pair = Preference(0, 1, Unscored(hostile), None)
    (row,) = pair_rows([judged(Score(0.5), Score(0.5), preferences=(pair,))], [judge("j")])
    assert row[PAIR_HEADER.index("unscored")] == second[4]


def test_tokens_add_up_to_what_a_pool_took(run):
    """With `tokens` the rows of a prompt and judge, and its pairs, share its tokens evenly; owed ones are blank."""
    found, judges = run
    header, rows = score_table(found, judges, tokens=True)
    assert header[-1] == "tokens"
    for one in found:
        for asked, judgment in zip(judges, one.judgments, strict=True):
            bill = judgment.bill
            took = bill.input_tokens + bill.output_tokens + bill.reused_tokens
            mine = [row[-1] for row in rows if row[0] == one.pool.prompt_id and row[2] == asked.name]
            pairs = [row[-1] for row in pair_rows([JudgedPool(one.pool, (judgment,))], [asked], tokens=True)]
            if bill.from_ledger and not bill.reused_tokens:
                assert set(mine) == {""}
            else:
                assert sum(mine) == pytest.approx(took)
                assert not pairs or sum(pairs) == pytest.approx(took)
    owed = JudgedPool(pool("p"), (Judgment((Score(1.0), Unscored("late", owed=True)), bill=Bill(calls=1, owed=1)),))
    assert [row[-1] for row in score_table([owed], [judge("j")], tokens=True)[1]] == ["", ""]


@pytest.mark.parametrize(
    "spec", ["pointwise:openai/m", "resampled,draws=3,of=pointwise:openai/m", "pairwise:openai/m"]
)
def test_an_answer_that_equal_questions_share_has_its_tokens_in_every_run(tmp_path, spec):
    """Equal pools have equal tokens, whoever paid, with a ledger and without; no call counts twice as paid."""
    texts = (Candidate("a", "one"), Candidate("b", "one"), Candidate("c", "other"))
    pools = [Pool(f"p{number}", "The same?", texts) for number in range(3)]
    judges = judges_from_specs([spec], base_url="http://scripted/v1")

    async def main(ledger):
        async with Engine(ledger, connection=Connection(transport=FakeTransport(Script()))) as engine:
            return [one async for one in judge_pools(pools, judges, engine)], engine.totals.bill

    runs = [run_virtual(main(ledger)) for ledger in (tmp_path / "l.sqlite", tmp_path / "l.sqlite", None)]
    took = [[row[-1] for row in score_table(found, judges, tokens=True)[1]] for found, _ in runs]
    assert took[0] == took[1] == took[2]
    assert len(set(took[0])) == 1
    paid = [bill.input_tokens + bill.output_tokens for _, bill in runs]
    assert paid[1] == 0 < paid[0] == paid[2] < sum(took[0])
    for (_, bill), sent in zip(runs, paid, strict=True):
        assert sent + bill.reused_tokens == pytest.approx(sum(took[0]))


# What judges said goes into a file and from there onto a page, whatever it holds.


NOISE = {
    "\ud800": r"\ud800",
    "\x00": r"\x00",
    "\x1b[31m\x1b]0;owned\x07": r"\x1b[31m\x1b]0;owned\x07",
    "\x9b2J\x7f": r"\x9b2J\x7f",
    "over\rwritten": r"over\rwritten",
    "one\r\ntwo\tthree": "one\ntwo\tthree",
    "=cmd|' /C calc'!A0": "=cmd|' /C calc'!A0",
    '"quoted",\u2028<script>alert(1)</script>': '"quoted",\u2028<script>alert(1)</script>',
}
"""What a model may say before its score, and how a file holds it."""

POOLS = {f"p{at}": [f"answer {at} {name}" for name in "ab"] for at in range(len(NOISE))}


def said_of_hostile(request):
    """Answer with the noise of the pool's number, and a score after it."""
    at, name = re.search(r"answer (\d) ([ab])", request.user).groups()
    return f'{list(NOISE)[int(at)]} {{"score": {70 if name == "a" else 30 + int(at)}}}'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Work in a folder with a pool for each noise, and labels by which each pick loses: pages show those prompts."""
    monkeypatch.chdir(tmp_path)
    pool_file("pools.jsonl", POOLS)
    labels = [(name, f"c{at}", label) for name in POOLS for at, label in enumerate((0, 1))]
    written("labels.csv", [dict(zip(("prompt_id", "candidate", "oracle_label"), row, strict=True)) for row in labels])
    return tmp_path


def judged_of_hostile(capsys, out="scores.csv"):
    """Judge the pools, the words and the tokens kept."""
    return typed(capsys, "judge", "pools.jsonl", "--judge", "pointwise:openai/m", "--raw", "--tokens", "--out", out)


def test_what_a_judge_said_never_costs_the_file(capsys, folder, monkeypatch):
    """Replies with half a surrogate pair, NUL or escapes of a terminal are written out, scored and read back."""
    with served(monkeypatch, folder, answer=said_of_hostile):
        first, again = judged_of_hostile(capsys), judged_of_hostile(capsys, "again.csv")
    assert (first.code, again.code) == (0, 0)
    content = Path("scores.csv").read_bytes()
    assert content == Path("again.csv").read_bytes()
    assert not CONTROL.search(content.decode().replace("\t", "").replace("\u2028", ""))
    rows = rows_of("scores.csv")
    assert [row["judge_score"] for row in rows[::2]] == ["0.7"] * len(NOISE)
    for row, shown in zip(rows[::2], NOISE.values(), strict=True):
        assert row["raw"].removeprefix("'") == f'{shown} {{"score": 70}}'
        assert float(row["tokens"]) > 0
    assert not CONTROL.search(first.err)


def test_what_a_judge_said_can_be_audited(capsys, folder, monkeypatch):
    """The file of such replies is audited, and its page shows each of them as text."""
    with served(monkeypatch, folder, answer=said_of_hostile):
        judged_of_hostile(capsys)
    done = typed(capsys, "audit", "scores.csv", "--labels", "labels.csv", "--html", "page.html")
    assert done.code == 0, done.err
    page = Path("page.html").read_bytes().decode()
    assert not CONTROL.search(page.replace("\t", ""))
    for shown in (r"\ud800", r"\x00", r"\x1b]0;owned\x07", r"\x9b2J\x7f", r"over\rwritten", "&lt;script&gt;alert(1)"):
        assert shown in page


def test_a_ledger_holds_what_was_said_as_it_was(capsys, folder, monkeypatch):
    """What is written out for the file stands unchanged in the ledger's own record of the reply."""
    with served(monkeypatch, folder, answer=said_of_hostile):
        judged_of_hostile(capsys)
    exported = typed(capsys, "ledger", "export", "bonwise-run", "--out", "calls.jsonl")
    assert exported.code == 0, exported.err
    text = Path("calls.jsonl").read_text(encoding="utf-8")
    assert r"\u0000" in text
    assert r"\x00" not in text


@pytest.mark.parametrize("record", [{"prompt_id": "p\0"}, {"candidates": [{"id": "c\0", "text": "a"}]}])
def test_a_name_that_no_table_holds_is_refused_before_anything_is_paid(capsys, folder, monkeypatch, record):
    """A NUL in an identifier is one line of error, and nothing is asked."""
    pool = {"prompt_id": "p", "prompt": "the prompt", "candidates": ["a", "b"], **record}
    Path("pools.jsonl").write_text(json.dumps(pool) + "\n", encoding="utf-8")
    with served(monkeypatch, folder) as script:
        done = typed(capsys, "judge", "pools.jsonl", "--judge", "pointwise:openai/m", "--out", "scores.csv")
    assert (done.code, script.counts.requests) == (2, 0)
    assert "holds a NUL, which no text table can hold" in done.err
