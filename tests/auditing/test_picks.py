"""Picks that production made, audited: from a table, from a file, typed."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings

from auditing.tables import cohort, table
from bonwise.auditing.front import audit
from bonwise.auditing.judge_record import NO_SCORES
from bonwise.auditing.logged_picks import holds_picks, read_picks
from bonwise.errors import ColumnError, FileError, InputError, RowError, UsageError
from cli.commands import scored, strict, typed, written
from stats.pools import pools

OF_PICKS = ("top1_accuracy", "hit_rate", "value_random", "value_judge", "value_oracle", "gain", "recovery")


def greedy_lines(frame, seed=0):
    """Pick the best-scored candidate of each prompt as a selection does, ties drawn."""
    rng = np.random.default_rng(seed)
    lines = []
    for prompt, pool in frame.groupby("prompt_id", sort=False):
        scores = pool["judge_score"].round(9)
        ids = pool["candidate"].tolist()
        tied = pool["candidate"][scores == scores.max()].tolist()
        level = tied if len(tied) > 1 else []
        decided = "tie-break" if level else "score"
        best = tied[rng.integers(len(tied))]
        lines.append({"prompt_id": prompt, "ids": ids, "best": best, "level": level, "decided_by": decided})
    return lines


def logged(path, lines):
    """Write picks and return their path."""
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return path


def labels_of(frame):
    """Return the labels of a table as a table of their own."""
    return frame[["prompt_id", "candidate", "oracle_label"]]


def same(found, expected):
    """Compare the metrics of picks of two audits, intervals too."""
    for name in (*OF_PICKS, "oracle_tie_rate", "oracle_between_share"):
        a, b = found[name], expected[name]
        assert (a.n, a.interval, a.reason) == (b.n, b.interval, b.reason), name
        for one, other in zip((a.estimate, a.low, a.high, a.se), (b.estimate, b.low, b.high, b.se), strict=True):
            assert one == (None if other is None else pytest.approx(other, abs=1e-12, rel=0)), name


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(prompts=pools(least=2, most=12))
def test_greedy_picks_are_the_score_audit_in_expectation(prompts, tmp_path):
    """Whatever the table, greedy picks audited as logged picks equal the audit of the scores, intervals too."""
    frame = table(prompts)
    path = logged(tmp_path / "picks.jsonl", greedy_lines(frame))
    same(audit(path, labels=labels_of(frame), shape="ragged"), audit(frame, shape="ragged"))


def test_a_cohort_of_greedy_picks_is_the_score_audit(tmp_path):
    """The same on a table of 400 prompts, with either kind of interval and with labels missing."""
    frame = cohort(400, unlabelled=5)
    path = logged(tmp_path / "picks.jsonl", greedy_lines(frame))
    for asked in ({}, {"interval": "bootstrap", "resamples": 50}, {"confidence": 0.9}):
        same(audit(path, labels=labels_of(frame), **asked), audit(frame, **asked))


def scored_lines(frame):
    """Pick as `greedy_lines` does, and log the scores."""
    pools = frame.groupby("prompt_id", sort=False)["judge_score"]
    return [
        {**line, "scores": [None if math.isnan(score) else score for score in scores]}
        for line, (_, scores) in zip(greedy_lines(frame), pools, strict=True)
    ]


def test_scores_of_the_lines_are_audited_beside_the_picks(tmp_path):
    """Figures of scores are those of the audit of the scores; the verdict stays one on the decision alone."""
    frame = cohort(60)
    picks = audit(logged(tmp_path / "picks.jsonl", scored_lines(frame)), labels=labels_of(frame))
    scores = audit(frame)
    for name in scores.metrics:
        assert picks[name] == scores[name], name
    assert dict(picks.verdict.checks) == {
        **dict.fromkeys(scores.verdict.checks, "undefined"),
        "decision": scores.verdict.checks["decision"],
    }
    assert "of picks only the decision is judged" in " ".join(picks.verdict.sentences)
    assert "within_r" in picks.to_text(full=True)


def test_equal_scores_do_not_make_picks_random(tmp_path):
    """What decides among equal scores may be good: the word of the verdict follows from the picks."""
    frame = cohort(200)
    best = frame.loc[frame.groupby("prompt_id")["oracle_label"].idxmax()].set_index("prompt_id")["candidate"]
    lines = [
        {"prompt_id": prompt, "ids": pool.tolist(), "best": best[prompt], "scores": [1.0] * len(pool)}
        for prompt, pool in frame.groupby("prompt_id", sort=False)["candidate"]
    ]
    found = audit(logged(tmp_path / "picks.jsonl", lines), labels=labels_of(frame))
    assert (found["tie_rate"].estimate, found.verdict.level) == (1.0, "useful")


@pytest.mark.parametrize(
    "changed",
    [{"scores": None}, {"routed": {"strong": "other", "signal": 0.1}}, {"routed": True}],
    ids=["a line without", "a line of the stronger judge", "a line that says routed"],
)
def test_scores_of_some_lines_or_of_two_judges_are_not_audited(tmp_path, changed):
    """One such line leaves every figure of scores null with a reason, and the picks as they were."""
    frame = cohort(60)
    first, *others = scored_lines(frame)
    path = logged(tmp_path / "picks.jsonl", [{**first, **changed}, *others])
    found = audit(path, labels=labels_of(frame))
    assert (found["within_r"].estimate, found["within_r"].reason) == (None, NO_SCORES)
    same(found, audit(frame))


def test_a_line_with_too_few_scores_is_refused(tmp_path):
    """The row is named."""
    first, second, *others = scored_lines(cohort(20))
    path = logged(tmp_path / "picks.jsonl", [first, {**second, "scores": second["scores"][1:]}, *others])
    with pytest.raises(RowError, match=r"row 2: .*one score per candidate"):
        read_picks(path)


def test_how_picks_are_read_is_named():
    """A second value without a name could be taken for another file."""
    with pytest.raises(TypeError):
        read_picks("picks.jsonl", True)


@pytest.mark.parametrize(
    ("score", "reason"),
    [(10**400, r"scores\[0\] should be a finite number"), (10**200, r"score beyond 1e\+100")],
    ids=["beyond doubles", "beyond scores"],
)
def test_a_score_that_is_too_large_is_refused(tmp_path, score, reason):
    """The row is that of the file."""
    first, second, *others = scored_lines(cohort(20))
    path = logged(tmp_path / "picks.jsonl", [first, {**second, "scores": [score, *second["scores"][1:]]}, *others])
    with pytest.raises(RowError, match=rf"row 2: .*{reason}"):
        read_picks(path)


def test_what_has_no_score_is_named_of_picks_too(tmp_path):
    """The sentence and the counts are those of the audit of the scores."""
    frame = cohort(60)
    frame.loc[frame.index % 7 == 0, "judge_score"] = math.nan
    lines = scored_lines(frame)
    found = audit(logged(tmp_path / "picks.jsonl", lines), labels=labels_of(frame))
    scores = audit(frame)
    assert found.to_dict()["data"]["unscored"] == scores.to_dict()["data"]["unscored"]
    assert next(one for one in found.verdict.sentences if "cannot be picked" in one)


def test_labels_of_picks_may_be_lower_is_better(tmp_path):
    """Their column is reversed; a name of the picks is none that could be."""
    frame = cohort(60)
    errors = labels_of(frame).assign(errors=-frame["oracle_label"]).drop(columns="oracle_label")
    path = logged(tmp_path / "picks.jsonl", greedy_lines(frame))
    asked = {"labels": errors, "columns": {"oracle_label": "errors"}}
    found = audit(path, **asked, lower_is_better="errors")
    assert found["recovery"].estimate == pytest.approx(audit(path, labels=labels_of(frame))["recovery"].estimate)
    assert found.settings.lower_is_better == ["errors"]
    with pytest.raises(UsageError, match="'picks' is neither a judge nor a column"):
        audit(path, **asked, lower_is_better="picks")


def test_metrics_of_scores_are_null_with_the_reason(tmp_path):
    """What is made of scores is undefined, and the verdict says no more than follows from picks."""
    frame = cohort(60)
    found = audit(logged(tmp_path / "picks.jsonl", greedy_lines(frame)), labels=labels_of(frame))
    for name, e in found.metrics.items():
        if name in OF_PICKS or name.startswith("oracle_"):
            assert e.estimate is not None, name
        else:
            assert (e.estimate, e.reason) == (None, NO_SCORES), name
    assert {found.verdict.checks[key] for key in ("correlation", "level", "directional")} == {"undefined"}
    assert found.verdict.checks["decision"] in {"pass", "fail", "inconclusive"}
    assert found.per_prompt()["margin"].isna().all()
    document = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert document["settings"]["picks"]["as_picked"] is False
    assert sum(document["settings"]["picks"]["decided_by"].values()) == 60
    assert "within_r" not in str(found)


def test_drawn_picks_scatter_around_their_expectation(tmp_path):
    """Picks as drawn have, over many seeds, the mean of the picks in expectation, and never less noise."""
    frame = cohort(80)
    drawn = []
    for seed in range(40):
        path = logged(tmp_path / f"{seed}.jsonl", greedy_lines(frame, seed))
        drawn.append(audit(path, labels=labels_of(frame), as_picked=True)["value_judge"].estimate)
    expected = audit(path, labels=labels_of(frame))["value_judge"].estimate
    assert np.std(drawn) > 0
    assert np.mean(drawn) == pytest.approx(expected, abs=4 * np.std(drawn) / np.sqrt(40))


def test_prompts_without_a_pick_are_dropped_and_counted(tmp_path):
    """A pick that is owed, a single candidate and no labels are each a reason, and each prompt is named."""
    frame = cohort(100)
    lines = greedy_lines(frame)
    prompts = [line["prompt_id"] for line in lines]
    lines[3] |= {"best": None, "level": [], "decided_by": "owed"}
    lines[4] |= {"ids": lines[4]["ids"][:1], "best": lines[4]["ids"][0], "level": []}
    labels = labels_of(frame)
    gone = (labels["prompt_id"] == prompts[5]) | (
        (labels["prompt_id"] == prompts[4]) & (labels["candidate"] != lines[4]["ids"][0])
    )
    found = audit(logged(tmp_path / "picks.jsonl", lines), labels=labels[~gone])
    reasons = {drop["prompt_id"]: drop["reason"] for drop in found.data["dropped"]}
    assert reasons == {prompts[3]: "nothing picked: owed", prompts[4]: "one candidate", prompts[5]: "unlabelled"}
    assert found.data["prompts"] == 97


def test_many_unlabelled_prompts_leave_bounds_and_no_balance_of_scores(tmp_path):
    """With many labels missing the figures describe the labelled prompts; worst cases are the scores' own."""
    frame = cohort(100, unlabelled=30)
    found = audit(logged(tmp_path / "picks.jsonl", greedy_lines(frame)), labels=labels_of(frame)).to_dict()
    scored = audit(frame).to_dict()
    assert [row["feature"] for row in found["balance"]] == ["candidates"]
    assert found["metrics"]["recovery"]["method"] == "labelled_only"
    for name, ends in scored["bounds"].items():
        assert found["bounds"][name] == pytest.approx(ends, abs=1e-12)


def test_labels_may_be_on_any_scale(tmp_path):
    """Labels from 1 to 5 are no sign of another scale: a pick has none."""
    frame = cohort(60)
    labels = labels_of(frame).assign(oracle_label=1 + 4 * frame["oracle_label"])
    path = logged(tmp_path / "picks.jsonl", greedy_lines(frame))
    found, unit = audit(path, labels=labels), audit(path, labels=labels_of(frame))
    assert found["gain"].estimate == pytest.approx(4 * unit["gain"].estimate)
    assert found["recovery"].estimate == pytest.approx(unit["recovery"].estimate)


REFUSED = {
    "no labels": ({"labels": None}, InputError, "no oracle labels"),
    "exclude": ({"exclude": "base"}, UsageError, "made among all its candidates"),
    "system": ({"target": "system"}, UsageError, "no table of scores to compare systems by"),
    "oracle": ({"labels": None, "oracle": "judge:x"}, UsageError, "no table of scores"),
    "column": ({"columns": {"judge_score": "score"}}, UsageError, "no column for judge_score"),
}


@pytest.mark.parametrize(("asked", "error", "words"), REFUSED.values(), ids=REFUSED)
def test_what_picks_cannot_answer_is_refused(tmp_path, asked, error, words):
    """What asks for scores, or for another pool, is refused in plain words."""
    frame = cohort(10)
    path = logged(tmp_path / "picks.jsonl", greedy_lines(frame))
    with pytest.raises(error, match=words):
        audit(path, **{"labels": labels_of(frame), **asked})


def test_labels_that_match_no_candidate_are_refused(tmp_path):
    """A label of a candidate that was in no pool is an error, as it is beside scores."""
    frame = cohort(10)
    labels = pd.concat([labels_of(frame), labels_of(frame).head(1).assign(candidate="stranger")])
    with pytest.raises(RowError, match="match no scored candidate"):
        audit(logged(tmp_path / "picks.jsonl", greedy_lines(frame)), labels=labels)


@pytest.mark.parametrize("role", ["prompt_id", "candidate", "oracle_label"])
def test_columns_named_with_picks_are_those_of_the_label_file(tmp_path, role):
    """Picks have no columns of a table, so a named column must be in the label file, their own name or not."""
    frame = cohort(10)
    path = logged(tmp_path / "picks.jsonl", greedy_lines(frame))
    renamed = labels_of(frame).rename(columns={role: "other"})
    assert audit(path, labels=renamed, columns={role: "other"})["recovery"].n == 10
    for name in ("nope", role):
        with pytest.raises(ColumnError, match=f"no column named '{name}' for {role}"):
            audit(path, labels=renamed, columns={role: name})


def test_picks_of_some_prompts_take_their_labels_from_a_file_of_all(tmp_path):
    """A log of the first prompts is audited as with their labels alone; what the file held beyond is counted."""
    frame = cohort(60)
    path = logged(tmp_path / "picks.jsonl", greedy_lines(frame)[:20])
    found = audit(path, labels=labels_of(frame))
    prompts = frame["prompt_id"].drop_duplicates()[:20]
    same(found, audit(path, labels=labels_of(frame[frame["prompt_id"].isin(prompts)])))
    assert found.to_dict()["settings"]["labels_left_out"] == {"prompts": 40, "rows": 160}
    assert "labels of 40 prompts that are not in the file left out (160 rows)" in str(found)
    scored = audit(frame[frame["prompt_id"].isin(prompts)].drop(columns="oracle_label"), labels=labels_of(frame))
    assert scored.to_dict()["settings"]["labels_left_out"] == {"prompts": 40, "rows": 160}


@pytest.mark.parametrize(("owed", "state"), [(0, "met"), (5, "met"), (6, "inconclusive"), (60, "inconclusive")])
def test_a_log_that_lacks_more_than_five_percent_of_its_picks_passes_no_gate(tmp_path, owed, state):
    """Of 100 pools 5 may lack a pick; with 6 no gate is settled, whichever way, and the audit says of whom it is."""
    frame = cohort(100)
    lines = greedy_lines(frame)
    for line in lines[:owed]:
        line |= {"best": None, "level": [], "decided_by": "owed"}
    found = audit(logged(tmp_path / "picks.jsonl", lines), labels=labels_of(frame))
    met, missed = found.check({"value_judge": -5, "gain": 5}).gates
    assert (met.state, missed.state) == (state, "not met" if state == "met" else state)
    document = found.to_dict()
    assert (document["data"]["pools"], document["data"]["pools_without_pick"]) == (100, owed)
    said = f"{100 - owed} of 100 pools that have a pick" in str(found)
    assert said == (state == "inconclusive")
    if said:
        assert f"{owed} of 100 pools have no pick" in met.sentence


def test_a_single_candidate_is_no_missing_pick(tmp_path):
    """A pool of one needs no pick, so any number of them leaves gates as they are."""
    frame = cohort(40)
    lines = greedy_lines(frame)
    alone = [{"prompt_id": f"one{x}", "ids": ["a"], "best": None} for x in range(40)]
    found = audit(logged(tmp_path / "picks.jsonl", [*lines, *alone]), labels=labels_of(frame), shape="ragged")
    assert (found.data["pools"], found.data["pools_without_pick"]) == (40, 0)
    assert {gate.state for gate in found.check({"value_judge": -5}).gates} == {"met"}


def test_what_decided_is_counted_over_the_audited_prompts(tmp_path):
    """Counts of what decided are those behind the figures; prompts without a pick or a label stand apart."""
    frame = cohort(100)
    lines = greedy_lines(frame)
    for line in lines:
        line["decided_by"] = "score"
    lines[0] |= {"best": None, "level": [], "decided_by": "owed"}
    labels = labels_of(frame)
    gone = labels["prompt_id"].isin([line["prompt_id"] for line in lines[1:3]])
    found = audit(logged(tmp_path / "picks.jsonl", lines), labels=labels[~gone])
    picks = found.to_dict()["settings"]["picks"]
    assert (picks["decided_by"], picks["left_out"]) == ({"score": 97}, {"score": 2, "owed": 1})
    assert "decided by score (97); left out: score (2), owed (1)" in str(found)


def test_routed_picks_name_their_router(tmp_path):
    """Signal, share and stronger judge stand in the words and in the JSON; picks of 0.1.0 name the judge alone."""
    frame = cohort(100)
    settings = {"strategy": "greedy", "judge": "j", "strong": "local:length"}
    for more, words in (
        ({"router": "margin at a share of 25%"}, "routed by margin at a share of 25%, stronger judge local:length;"),
        ({}, "routed by stronger judge local:length;"),
    ):
        lines = [line | {"settings": settings | more} for line in greedy_lines(frame)]
        found = audit(logged(tmp_path / "picks.jsonl", lines), labels=labels_of(frame))
        assert list(found.to_dict()["settings"]["picks"]["by"].items()) == list((settings | more).items())
        assert words in " ".join(str(found).split())
    plain = audit(logged(tmp_path / "picks.jsonl", greedy_lines(frame)), labels=labels_of(frame))
    assert "routed by" not in str(plain)


def test_only_picks_can_be_taken_as_drawn():
    """Asking for drawn picks of a table of scores is an error."""
    with pytest.raises(UsageError, match="works only with logged picks"):
        audit(cohort(10), as_picked=True)


LINE = {"prompt_id": "p", "ids": ["a", "b", "c"], "best": "b"}


def written_of_file(path, *lines):
    """Write lines as they stand, a mapping as JSON."""
    path.write_text("\n".join(one if isinstance(one, str) else json.dumps(one) for one in lines) + "\n", "utf-8")
    return path


def read(tmp_path, *lines, **reading):
    """Write lines and read them as picks."""
    return read_picks(written_of_file(tmp_path / "picks.jsonl", *lines), **reading)


def scores(picks):
    """Return the scores of the only prompt's candidates."""
    return [row["judge_score"] for row in picks.rows()]


def test_a_pick_is_a_judge_that_scores_what_it_kept(tmp_path):
    """What was kept scores 1, the rest 0; three fields are all that a line needs."""
    picks = read(tmp_path, LINE)
    assert scores(picks) == [0.0, 1.0, 0.0]
    assert picks.name == "picks"


def test_what_a_seed_decided_is_taken_in_expectation_unless_asked(tmp_path):
    """A pick among equals is each of them, and the drawn one alone where that is asked for."""
    line = LINE | {"level": ["b", "c"], "decided_by": "tie-break"}
    assert scores(read(tmp_path, line)) == [0.0, 1.0, 1.0]
    assert scores(read(tmp_path, line, as_picked=True)) == [0.0, 1.0, 0.0]


def test_nothing_picked_has_no_score_and_a_reason(tmp_path):
    """Without a pick there is no score; that and a pool of one are reasons to drop a prompt."""
    picks = read(tmp_path, LINE | {"best": None, "decided_by": "owed"}, {"prompt_id": "q", "ids": ["a"], "best": "a"})
    assert [row["judge_score"] is None for row in picks.rows()] == [True, True, True, False]
    assert picks.reasons == {"p": "nothing picked: owed", "q": "one candidate"}


@pytest.mark.parametrize(
    ("counts", "answers", "tokens"),
    [
        ({}, None, None),
        ({"answers": 4, "from_ledger": 0, "input_tokens": 300, "output_tokens": 20}, 4, 320),
        ({"answers": 4, "from_ledger": 3, "input_tokens": 90, "output_tokens": 5}, 4, None),
        ({"answers": 4, "from_ledger": 3, "input_tokens": 90, "output_tokens": 5, "reused_tokens": 225}, 4, 320),
        ({"answers": 0, "from_ledger": 0, "input_tokens": 0, "output_tokens": 0, "reused_tokens": 0}, 0, 0),
    ],
    ids=["none", "sent", "unknown", "reused", "free"],
)
def test_tokens_are_those_of_all_answers_or_unknown(tmp_path, counts, answers, tokens):
    """Tokens of answers from a ledger count where the line says them; where it does not, the sum is unknown."""
    (pick,) = read(tmp_path, LINE | counts).picks
    assert (pick.answers, pick.tokens) == (answers, tokens)


def test_numbers_and_texts_name_one_prompt_and_one_candidate(tmp_path):
    """A number is the text that it is written as."""
    picks = read(tmp_path, {"prompt_id": 7, "ids": [0, 1], "best": 1})
    assert picks.picks[0].prompt_id == "7"
    assert scores(picks) == [0.0, 1.0]


STRATEGY = {"settings": {"strategy": "greedy", "judge": "j", "seed": 1, "version": "1", "parameters": []}}

BAD = {
    "no json": ((LINE, "{"), "row 2: not JSON"),
    "no prompt": ((LINE, LINE | {"prompt_id": None}), "row 2: prompt_id should be a text or a number, not null"),
    "prompt twice": ((LINE, LINE), r"row 2: 'p' is picked again \(first in row 1\)"),
    "unknown pick": ((LINE | {"best": "z"},), "row 1: the line has a best, 'z', that is none of its ids"),
    "unknown level": (
        (LINE | {"level": ["b", "z"]},),
        "row 1: the line has a level with a name that is none of its ids",
    ),
    "pick off its level": (
        (LINE | {"level": ["a", "c"]},),
        "row 1: the line has a level that its best is not one of",
    ),
    "candidate twice": ((LINE | {"ids": ["b", "b"]},), "row 1: ids names 'b' twice"),
    "no list": ((LINE | {"ids": "abc"},), "row 1: ids should be a list, not .abc."),
    "no candidates": ((LINE | {"ids": []},), "row 1: ids should not be empty"),
    "no count": ((LINE | {"answers": 1.5},), "row 1: answers should be a whole number, not 1.5"),
    "negative": ((LINE | {"input_tokens": -1},), "row 1: input_tokens should be at least 0, not -1"),
    "two policies": (
        (LINE | STRATEGY, LINE | {"prompt_id": "q", "settings": STRATEGY["settings"] | {"strategy": "adaptive"}}),
        "row 2: picked with another strategy than row 1",
    ),
}


@pytest.mark.parametrize(("lines", "words"), BAD.values(), ids=BAD)
def test_a_line_that_is_no_pick_is_refused_with_its_row(tmp_path, lines, words):
    """Each kind of broken line is refused, the row named."""
    with pytest.raises(RowError, match=words) as caught:
        read(tmp_path, *lines)
    assert caught.value.hint


def test_seeds_versions_and_parameters_may_differ(tmp_path):
    """What may change between runs of one policy does not split a file; the policy names the picks."""
    other = STRATEGY["settings"] | {"seed": 2, "version": "2", "parameters": [{"temperature": 1}]}
    picks = read(tmp_path, LINE | STRATEGY, LINE | {"prompt_id": "q", "settings": other})
    assert picks.name == "greedy of j"


def test_a_router_may_be_unnamed_in_earlier_lines_but_not_another(tmp_path):
    """Lines of 0.1.0 do not name the router's signal and share; where two lines do, they are the same."""
    named = STRATEGY["settings"] | {"strong": "s", "router": "margin at a share of 25%"}
    unnamed = STRATEGY["settings"] | {"strong": "s"}
    lines = [LINE | {"settings": unnamed}, LINE | {"prompt_id": "q", "settings": named}]
    assert len(read(tmp_path, *lines).picks) == 2
    other = named | {"router": "margin at a share of 50%"}
    with pytest.raises(RowError, match="picked with another router than row 1"):
        read(tmp_path, LINE | {"settings": named}, LINE | {"prompt_id": "q", "settings": other})


def test_an_empty_file_holds_no_picks(tmp_path):
    """No line is an error, and no sign of picks."""
    path = written_of_file(tmp_path / "picks.jsonl", "")
    assert not holds_picks(path)
    with pytest.raises(FileError, match="no picks"):
        read_picks(path)


def test_picks_are_told_from_scores_by_their_first_line(tmp_path):
    """Only JSON Lines that name the best of some ids hold picks."""
    assert holds_picks(written_of_file(tmp_path / "a.jsonl", LINE))
    assert not holds_picks(
        written_of_file(tmp_path / "b.jsonl", {"prompt_id": "p", "candidate": "a", "judge_score": 1})
    )
    assert not holds_picks(written_of_file(tmp_path / "a.csv", LINE))
    assert not holds_picks(tmp_path / "absent.jsonl")


SCORES = scored([[0.9, 0.1], [0.2, 0.2], [0.3, 0.8]] * 12, [[1, 0], [0.4, 0.6], [0.9, 0.1]] * 12)


def picks(path, best=max):
    """Write greedy picks of the scores, or the worst ones, as lines of bonwise select."""
    pools = {}
    for row in SCORES:
        pools.setdefault(row["prompt_id"], {})[row["candidate"]] = row["judge_score"]
    lines = []
    for prompt, pool in pools.items():
        top = [name for name, value in pool.items() if value == best(pool.values())]
        line = {"prompt_id": prompt, "ids": list(pool), "best": top[0], "level": top if len(top) > 1 else []}
        lines.append(line | {"answers": 2, "from_ledger": 0, "input_tokens": 80, "output_tokens": 20})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return path


@pytest.fixture
def labels(tmp_path):
    """Write the labels alone."""
    keys = ("prompt_id", "candidate", "oracle_label")
    return written(tmp_path / "labels.csv", [{key: row[key] for key in keys} for row in SCORES])


def test_picks_are_audited_like_the_scores_behind_them(tmp_path, labels, capsys):
    """A file of picks with labels gives the recovery of the scores, gates included; scores' metrics are null."""
    done = typed(capsys, "audit", picks(tmp_path / "winners.jsonl"), "--labels", labels, "--json", "-")
    scores = typed(capsys, "audit", written(tmp_path / "scores.csv", SCORES), "--json", "-")
    found, expected = strict(done.out)["metrics"], strict(scores.out)["metrics"]
    assert found["recovery"] == expected["recovery"]
    assert found["within_r"]["reason"] == NO_SCORES
    assert "Audit of the picks of" in done.err
    gate = typed(capsys, "audit", tmp_path / "winners.jsonl", "--labels", labels, "--fail-under", "gain=0.9")
    assert gate.code == 1


def test_picks_without_labels_and_elsewhere_are_refused_with_the_way_out(tmp_path, capsys):
    """Without labels the hint names the flag; a command that wants scores names the one that takes picks."""
    winners = picks(tmp_path / "winners.jsonl")
    done = typed(capsys, "audit", winners)
    assert (done.code, "--labels" in done.err) == (2, True)
    done = typed(capsys, "doctor", winners)
    assert (done.code, "--labels LABELS.csv" in " ".join(done.out.split())) == (0, True)


def test_two_sets_of_picks_are_compared(tmp_path, labels, capsys):
    """The comparison pairs the picks by prompt, with what they took."""
    files = picks(tmp_path / "a.jsonl"), picks(tmp_path / "b.jsonl", min)
    done = typed(capsys, "compare", *files, "--labels", labels, "--full", "--json", "-")
    document = strict(done.out)
    assert (done.code, document["schema"], document["prompts"]) == (0, "bonwise.compare/1", 36)
    assert document["first"]["metrics"]["tokens_per_prompt"]["estimate"] == 100
    assert "gain_per_1000_tokens" in done.err


def test_stated_confidence_is_audited(tmp_path, capsys):
    """A table of probabilities and outcomes is compared with itself, ties as asked."""
    rows = [{"prompt_id": f"p{k % 9}", "probability": k % 10 / 10, "outcome": k % 3 / 2} for k in range(60)]
    path = written(tmp_path / "stated.csv", rows)
    done = typed(capsys, "study", "confidence", path, "--json", "-", "--ties", "half")
    document = strict(done.out)
    assert (done.code, document["schema"], document["settings"]["oracle_ties"]) == (0, "bonwise.confidence/1", "half")
    assert document["judges"]["judge"]["data"]["oracle_ties_counted_half"] == 20
    assert typed(capsys, "study", "confidence", path, "--ties", "win").code == 2
