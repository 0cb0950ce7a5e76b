"""Strengths of models from votes: by hand, against plain loops, with known truth, and where there is none."""

from __future__ import annotations

import json
import math
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bonwise.errors import UsageError
from bonwise.stats import estimation, jackknife
from bonwise.table.votes import VoteTable
from bonwise.votes.front import study_preferences
from bonwise.votes.ranking import fit_strengths, rank_models
from cli.commands import CONTROL, strict, typed


def votes(counts):
    """Return one row per vote of ``{(winner, loser): votes}``, each with a prompt of its own."""
    rows = [pair for pair, count in counts.items() for _ in range(count)]
    frame = pd.DataFrame(rows, columns=["model_a", "model_b"]).assign(winner="model_a")
    return frame.assign(question_id=range(len(frame)))


def ranked(frame, ties="half", confidence=0.95):
    """Return the ranking of a frame by model."""
    table = VoteTable.read(frame, graded=True).under(ties)
    return {one.model: one for one in rank_models(table, ties, confidence)}


def test_golden_strengths_by_hand():
    """2 to 1, 2 to 1 and 4 to 1 are odds of strengths log 2, 0 and -log 2, so the model fits without a rest."""
    counts = {("a", "b"): 20, ("b", "a"): 10, ("b", "c"): 20, ("c", "b"): 10, ("a", "c"): 40, ("c", "a"): 10}
    found = ranked(votes(counts))
    strengths = {name: one.strength.estimate for name, one in found.items()}
    assert strengths == pytest.approx({"a": math.log(2), "b": 0, "c": -math.log(2)})
    assert [*found] == ["a", "b", "c"]
    assert (found["a"].votes, found["a"].share) == (80, 60 / 80)
    assert found["a"].strength.n == 110


def test_golden_interval_of_two_models():
    """3 votes to 1 on 4 prompts: log 3 / 2, with residuals 1/4, 1/4, 1/4 and -3/4."""
    found = ranked(votes({("a", "b"): 3, ("b", "a"): 1}))
    # Along (1, -1) the curvature is 2 x 4 x 3/4 x 1/4 = 3/2; without one of 4 prompts a model moves 4/3 of its pull.
    pulls = np.array([0.25, 0.25, 0.25, -0.75]) / 1.5 * 4 / 3
    assert found["a"].strength.estimate == pytest.approx(math.log(3) / 2)
    assert found["a"].strength.se == pytest.approx(math.sqrt(3 / 4 * (pulls**2).sum()))
    assert (found["a"].places, found["b"].places) == ([1, 2], [1, 2])


@pytest.mark.parametrize(
    ("counts", "ranking", "reasons"),
    [
        (
            {("a", "b"): 2, ("b", "a"): 1, ("top", "a"): 5, ("b", "low"): 4},
            ["a", "b"],
            {
                "top": "it lost no vote, so no strength is high enough",
                "low": "it won no vote, so no strength is low enough",
            },
        ),
        (
            {("a", "b"): 2, ("b", "a"): 2, ("b", "c"): 1, ("c", "a"): 1, ("x", "y"): 3, ("y", "x"): 1},
            ["b", "c", "a"],
            dict.fromkeys("xy", "no votes connect it with the ranked models"),
        ),
        (
            {("a", "b"): 2, ("b", "a"): 2, ("b", "c"): 1, ("c", "a"): 1, ("x", "y"): 1, ("y", "x"): 1, ("x", "a"): 1},
            ["b", "c", "a"],
            dict.fromkeys("xy", "its votes against the ranked models all go one way"),
        ),
        (
            {("a", "b"): 5, ("b", "c"): 7},
            [],
            {
                "a": "it lost no vote, so no strength is high enough",
                "b": "its votes against the other models all go one way",
                "c": "it won no vote, so no strength is low enough",
            },
        ),
        (
            {("a", "b"): 12},
            [],
            {
                "a": "it lost no vote, so no strength is high enough",
                "b": "it won no vote, so no strength is low enough",
            },
        ),
    ],
)
def test_what_has_no_finite_strength_is_named(counts, ranking, reasons):
    """Neither infinity nor a large number is printed: the others are ranked without it."""
    found = ranked(votes(counts))
    assert [name for name, one in found.items() if one.places] == ranking
    withheld = {name: one.strength.reason for name, one in found.items() if one.places is None}
    assert withheld == reasons
    assert all(one.strength.estimate is None for name, one in found.items() if name in reasons)


# A twin in plain loops: minorization and maximization (Hunter 2004), and prompts left out by their pull.


def loops(rows, names):
    """Return strengths, by name, of (first, second, votes for the second, prompt), and those without each prompt."""
    won = {(one, other): 0.0 for one in names for other in names}
    for first, second, share, _ in rows:
        won[second, first] += share
        won[first, second] += 1 - share
    worth = dict.fromkeys(names, 1.0)
    for _ in range(20_000):
        for one in names:
            games = sum((won[one, x] + won[x, one]) / (worth[one] + worth[x]) for x in names if x != one)
            worth[one] = sum(won[one, x] for x in names if x != one) / games
    mean = sum(map(math.log, worth.values())) / len(names)
    strengths = {name: math.log(worth[name]) - mean for name in names}
    curvature = np.full((len(names), len(names)), 1 / len(names))
    pulls = {}
    for first, second, share, prompt in rows:
        chance = worth[second] / (worth[first] + worth[second])
        for one, sign in ((first, -1), (second, 1)):
            pulls.setdefault(prompt, dict.fromkeys(names, 0.0))[one] += sign * (share - chance)
            for other, turn in ((first, -1), (second, 1)):
                curvature[names.index(one), names.index(other)] += sign * turn * chance * (1 - chance)
    inverse, count = np.linalg.inv(curvature), len(pulls)
    moved = [inverse @ [pull[name] for name in names] * count / max(count - 1, 1) for pull in pulls.values()]
    return strengths, {name: [strengths[name] - move[at] for move in moved] for at, name in enumerate(names)}


@given(
    st.lists(
        st.tuples(st.permutations("abc"), st.sampled_from(["model_a", "model_b", "tie"]), st.integers(0, 5)),
        min_size=8,
        max_size=30,
    )
)
@settings(max_examples=25, deadline=None)
def test_strengths_and_intervals_are_those_of_loops(drawn):
    """Ties as half votes, prompts as clusters, whichever side stands first."""
    frame = pd.DataFrame([(p[0], p[1], word, q) for p, word, q in drawn], columns=[*"lr", "winner", "question_id"])
    frame = frame.rename(columns={"l": "model_a", "r": "model_b"})
    table = VoteTable.read(frame)
    found = rank_models(table, "half", 0.9)
    assume(len(found) == 3 and all(one.places for one in found))
    rows = [
        (table.models[a], table.models[b], share, prompt)
        for a, b, share, prompt in zip(table.first, table.second, table.preferred, table.prompt, strict=True)
    ]
    strengths, left_out = loops(rows, list(table.models))
    for one in found:
        assert one.strength.estimate == pytest.approx(strengths[one.model], abs=1e-6)
        scatter = jackknife.Scatter.without(np.array(left_out[one.model]))
        if scatter.se > 1e-6 and one.strength.n > 1:
            expected = estimation.from_jackknife(
                strengths[one.model], scatter, one.strength.n, (-math.inf, math.inf), 0.9, exact=None
            )
            assert (one.strength.low, one.strength.high) == pytest.approx((expected.low, expected.high), abs=1e-5)


def drawn_votes(rng, prompts, each, truth, spread=0.8):
    """Draw votes whose strengths differ from prompt to prompt, a fifth of them ties: sides, shares, prompts."""
    models, of_prompt = len(truth), truth + spread * rng.normal(size=(prompts, len(truth)))
    prompt = np.repeat(np.arange(prompts), each)
    first = rng.integers(0, models, len(prompt))
    second = (first + rng.integers(1, models, len(prompt))) % models
    chance = 1 / (1 + np.exp(of_prompt[prompt, first] - of_prompt[prompt, second]))
    return first, second, np.where(rng.random(len(prompt)) < 0.2, 0.5, rng.random(len(prompt)) < chance), prompt


def coverage(repeats, prompts, each):
    """Return how often intervals hold the strengths that fit votes without end, and in which share places hold."""
    rng, truth = np.random.default_rng(7), np.array([-1.0, -0.5, 0.5, 1.0])
    first, second, share, _ = drawn_votes(rng, 200_000, 2, truth)
    won = np.zeros((4, 4))
    np.add.at(won, (second, first), share)
    np.add.at(won, (first, second), 1 - share)
    limit = dict(zip("abcd", fit_strengths(won)[0], strict=True))
    held, names = [], np.array([*"abcd"])
    for _ in range(repeats):
        first, second, share, prompt = drawn_votes(rng, prompts, each, truth)
        words = np.array(["model_a", "tie", "model_b"])[(2 * share).astype(int)]
        frame = pd.DataFrame(
            {"model_a": names[first], "model_b": names[second], "winner": words, "question_id": prompt}
        )
        found = ranked(frame)
        held += [one.strength.low <= limit[name] <= one.strength.high for name, one in found.items() if one.places]
    return float(np.mean(held))


def test_intervals_hold_the_truth():
    """Also with few prompts, whose strengths differ: clustered by prompt, 95 % intervals cover."""
    assert coverage(40, 30, 6) >= 0.9


@pytest.mark.slow
@pytest.mark.parametrize(("prompts", "each"), [(20, 6), (40, 5), (150, 4)])
def test_intervals_cover(prompts, each):
    """Over 500 simulated files each."""
    assert coverage(500, prompts, each) >= 0.93


def test_strong_verdicts_of_arena_hard_count_three_votes():
    """As its script counts: the baseline is A in game 1 and B in game 2; A>>B is three votes, a tie half."""
    scores = [("A>>B", "B>>A"), ("A>B", "B>A"), ("B>A", "A>>B"), ("A=B", "A>B")]
    lines = [
        {"question_id": str(at), "model": "new", "judge": "j", "games": [{"score": one}, {"score": two}]}
        for at, (one, two) in enumerate(scores)
    ]
    # Votes of the baseline: 3 + 3, 1 + 1, 0, 1/2; of the model: 0, 0, 1 + 3, 1/2 + 1.
    found = ranked(pd.DataFrame(lines))
    assert (found["baseline"].votes, found["baseline"].share) == (14, 8.5 / 14)
    assert found["baseline"].strength.estimate == pytest.approx(math.log(8.5 / 5.5) / 2)
    study = study_preferences(pd.DataFrame(lines), fewest_votes=2, ranking=True)
    assert study.settings.readings["A>>B"] == "three votes in the ranking, as in Arena-Hard's script"
    assert study.pairs[0].win_rate.estimate == 1.5 / 4  # baseline, baseline, new, new
    plain = study_preferences(pd.DataFrame(lines), fewest_votes=2)
    assert "A>>B" not in plain.settings.readings


def test_a_map_of_verdicts_says_that_a_strong_one_is_one_vote():
    """What the user says of a verdict goes before the rule of a tool."""
    frame = votes({("a", "b"): 3, ("b", "a"): 3}).assign(winner=["A>>B"] * 3 + ["A>B"] * 3)
    assert ranked(frame)["a"].votes == 12
    table = VoteTable.read(frame, verdict_map={"A>>B": "first"})
    assert rank_models(table, None, 0.95)[0].votes == 6


def test_the_command_prints_and_writes_strengths(tmp_path, capsys):
    """In the text, on the page, in JSON and as rows of a file; without the flag nothing of it is there."""
    hostile = "c\x1b[31m"
    counts = {("a", "b"): 20, ("b", "a"): 10, ("b", hostile): 20, (hostile, "b"): 10, ("top", "a"): 12}
    path, page, table = tmp_path / "votes.csv", tmp_path / "v.html", tmp_path / "v.csv"
    votes(counts).to_csv(path, index=False)
    done = typed(capsys, "preferences", path, "--ranking", "--html", page, "--out", table, "--full")
    text = " ".join(done.out.split())
    assert done.code == 0
    assert not CONTROL.search(done.out)
    assert "Models by strength: log-odds of a vote against their mean" in text
    assert "top is not ranked: it lost no vote, so no strength is high enough" in text
    assert "Models by strength" in page.read_text("utf-8")
    rows = pd.read_csv(table)
    strengths = rows[rows["metric"] == "strength"]
    assert strengths["first"].tolist()[0] == "a"
    assert strengths["second"].isna().all()
    document = strict(typed(capsys, "preferences", path, "--ranking", "--json", "-").out)
    assert [one["model"] for one in document["ranking"]][::3] == ["a", "top"]
    assert not document.keys() <= json.loads(typed(capsys, "preferences", path, "--json", "-").out).keys()


def test_many_models_and_prompts_take_memory_by_vote():
    """Where each vote is on a prompt of its own: a table of prompts by models twice would take 1 GB."""
    rng, many = np.random.default_rng(1), 300
    pairs = np.array([rng.permutation(many)[:2] for _ in range(6000)])
    frame = pd.DataFrame(pairs, columns=["model_a", "model_b"]).astype(str).assign(winner="model_a")
    table = VoteTable.read(frame.assign(question_id=range(len(frame))), graded=True).under("half")
    tracemalloc.start()
    try:
        found = rank_models(table, "half", 0.95)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert sum(one.places is not None for one in found) > 250
    assert peak < 60e6


def test_ties_alone_leave_prompts_known(tmp_path, capsys):
    """Then no pair varies, which is no lack of a column."""
    frame = votes({("a", "b"): 12}).assign(winner="tie")
    frame.to_csv(tmp_path / "votes.csv", index=False)
    text = " ".join(typed(capsys, "preferences", tmp_path / "votes.csv", "--full").out.split())
    assert "prompts: no pair varies, so what votes on one prompt share is unknown" in text


def test_a_ranking_by_names_is_refused():
    """Pessimistic ties go by the alphabet."""
    frame = votes({("a", "b"): 6, ("b", "a"): 6})
    with pytest.raises(UsageError, match="ranks by name"):
        study_preferences(frame, ranking=True, ties="pessimistic")


def test_a_ranking_is_not_of_labels(tmp_path, capsys):
    """With labels the flag is refused, as the others of a study are."""
    path = tmp_path / "votes.csv"
    votes({("a", "b"): 6, ("b", "a"): 6}).to_csv(path, index=False)
    done = typed(capsys, "preferences", path, "--labels", path, "--ranking")
    assert done.code == 2
    assert "--ranking is only for votes without labels" in " ".join(done.err.split())
