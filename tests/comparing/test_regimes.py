"""Two audits side by side: differences of independent samples, and the command."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonwise.auditing.front import audit
from bonwise.comparing.front import compare_regimes
from bonwise.errors import UsageError
from bonwise.loading import load
from bonwise.stats.laws import difference_ends
from bonwise.testing import simulate
from cli.commands import strict, typed

COMPARED = ["global_r", "within_r", "inflation", "recovery", "top1_accuracy", "tie_rate"]
SHARES = ["judge_between_share", "oracle_between_share"]


def arena(prompts, seed, tag=""):
    """Return an audit of simulated prompts of their own."""
    frame = simulate("arena", n=prompts, seed=seed).frame()
    return audit(frame.assign(prompt_id=frame["prompt_id"].astype(str) + f"-{seed}{tag}"))


def test_the_ends_of_a_difference_by_hand():
    """.5 in [.2, .6] less .1 in [.0, .5]: below sqrt(.09 + .16) = .5, above sqrt(.01 + .01) = .1414."""
    assert difference_ends((0.5, 0.1), (0.2, 0.6), (0.0, 0.5)) == pytest.approx((-0.1, 0.4 + math.sqrt(0.02)))
    # With a correlation of 1 the distances are subtracted: |.3 - .4| and |.1 - .1|.
    assert difference_ends((0.5, 0.1), (0.2, 0.6), (0.0, 0.5), 1.0) == pytest.approx((0.3, 0.4))


@given(st.floats(-1, 1), st.floats(-1, 1), st.floats(0.01, 2), st.floats(0.01, 2))
def test_symmetric_intervals_give_that_of_two_standard_errors(a, b, first, second):
    """Where both ends are as far, the half-width is the root of the sum of squares."""
    ends = difference_ends((a, b), (a - first, a + first), (b - second, b + second))
    half = math.hypot(first, second)
    assert ends == pytest.approx((a - b - half, a - b + half))


def test_every_difference_is_first_minus_second():
    """Of the figures of each audit, with both standard errors, and none where a figure is missing."""
    first, second = arena(150, 1), arena(80, 2)
    study = compare_regimes(first, second)
    pair = study.judges["judge"]
    assert list(pair.differences) == [*COMPARED, *SHARES]
    for name, apart in pair.differences.items():
        one, other = first[name], second[name]
        assert apart.estimate == pytest.approx(one.estimate - other.estimate), name
        assert apart.se == pytest.approx(math.hypot(one.se, other.se)), name
        assert apart.low < apart.estimate < apart.high, name
        assert apart.n == one.n + other.n
    assert study.shared_prompts == 0
    assert len(study.to_frame()) == len(pair.differences)


@pytest.mark.parametrize("samples", [60, pytest.param(400, marks=pytest.mark.slow)])
def test_intervals_hold_no_difference_where_there_is_none(samples):
    """Samples of one population differ by chance: 95 % of the intervals hold 0."""
    held = dict.fromkeys(("within_r", "recovery"), 0)
    audits = [arena(60, seed) for seed in range(samples + 1)]
    # Every audit stands in two pairs, which makes them no less right one by one.
    for first, second in pairwise(audits):
        differences = compare_regimes(first, second).judges["judge"].differences
        for name in held:
            figure = differences[name]
            held[name] += figure.low is None or figure.low <= 0 <= figure.high
    for name, times in held.items():
        assert times / samples >= 0.95 - 3.5 * math.sqrt(2 * 0.05 * 0.95 / samples), name


@pytest.mark.shared
def test_the_arena_sample_and_the_simulated_arena_recover_alike(shared):
    """.2126 on 99 prompts and .2168 on 5,000; global_r is higher on the 99."""
    data = shared / "data"
    audits = (
        audit(data / "arena100" / "scores.csv", exclude="unhelpful"),
        audit(data / "simulated" / "arena_like_5000.csv.gz"),
    )
    pair = compare_regimes(*audits).judges["judge"]
    assert pair.differences["recovery"].estimate == pytest.approx(0.2126 - 0.2168, abs=2e-4)
    assert pair.differences["recovery"].low < 0 < pair.differences["recovery"].high
    assert pair.differences["global_r"].low > 0


def test_judges_are_matched_by_name_or_as_the_only_ones():
    """Two only judges may have two names; of several there is no pair without a common name."""
    frame = simulate("arena", n=40, seed=3).frame()
    one, other = audit(frame.assign(judge="a")), audit(frame.assign(judge="b"))
    pair = compare_regimes(one, other).judges["a"]
    assert (pair.first.judge, pair.second.judge) == ("a", "b")
    both = audit([*frame.assign(judge="c").to_dict("records"), *frame.assign(judge="d").to_dict("records")])
    with pytest.raises(UsageError, match="no judge is in both: a; c, d"):
        compare_regimes(one, both)
    with pytest.raises(UsageError, match="two confidences"):
        compare_regimes(one, audit(frame, confidence=0.9))


def test_a_loaded_audit_does_not_know_its_prompts(tmp_path):
    """So nobody can count the shared ones; the figures are the same."""
    first, second = arena(60, 1), arena(60, 2)
    first.to_json()
    (tmp_path / "first.json").write_text(first.to_json())
    loaded = load(tmp_path / "first.json")
    study = compare_regimes(loaded, second)
    assert study.shared_prompts is None
    assert study.judges == compare_regimes(first, second).judges


def test_the_command_prints_both_side_by_side(tmp_path, monkeypatch, capsys):
    """Of two files: verdict, table, and the prompts that are in both."""
    monkeypatch.chdir(tmp_path)
    frame = simulate("arena", n=60, seed=3).frame()
    frame.to_csv("a.csv", index=False)
    noise = np.random.default_rng(1).normal(0, 0.01, len(frame))
    frame.assign(judge_score=(frame["oracle_label"] + noise).clip(0, 1)).to_csv("b.csv", index=False)
    shown = typed(capsys, "audit", "a.csv", "b.csv", "--compare-regimes", "--json", "c.json")
    assert shown.code == 0
    assert "Verdict: the second recovers more" in shown.out
    assert "60 prompts of one name in both" in shown.out
    assert strict((tmp_path / "c.json").read_text())["schema"] == "bonwise.regimes/1"
    (tmp_path / "old").mkdir()
    frame.to_csv("old/a.csv", index=False)
    assert "old/a.csv against a.csv" in typed(capsys, "audit", "old/a.csv", "a.csv", "--compare-regimes").out
    alone = typed(capsys, "audit", "a.csv", "--compare-regimes")
    assert (alone.code, "takes two files, not 1" in alone.err) == (2, True)
    gated = typed(capsys, "audit", "a.csv", "b.csv", "--compare-regimes", "--fail-under", "recovery=0.2")
    assert (gated.code, "has no say over two audits" in gated.err) == (2, True)
