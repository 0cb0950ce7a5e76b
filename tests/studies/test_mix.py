"""What the controls of a pool hide: the study, its statistics, and the command."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auditing.tables import cohort, lossy, two_judges
from bonwise.auditing.front import audit
from bonwise.auditing.settings import Settings
from bonwise.errors import InputError, UsageError
from bonwise.stats.catalog import ESTIMANDS
from bonwise.stats.estimation import IntervalRule
from bonwise.stats.sums import Sums
from bonwise.studies.labelled_panels import open_judged
from bonwise.studies.mix.engine import OF_PAIRS, SHARES, mix_change, mix_curve, mix_of, mix_sums
from bonwise.studies.mix.front import study_mix
from cli.commands import CONTROL, scored, strict, typed, written
from stats import twins
from stats.nominal import assert_covered
from stats.pools import arrays, pools

NAMES = [e.name for e in ESTIMANDS]


def with_control(frame, name="bad", share=1.0, seed=3):
    """Add a candidate that everyone can tell apart to a share of the prompts."""
    rng = np.random.default_rng(seed)
    one = frame[frame["candidate"] == "c0"].copy()
    one = one[rng.random(len(one)) < share] if share < 1 else one
    one["candidate"] = name
    one["judge_score"] = (0.1 * rng.random(len(one))).round(2)
    prompts, names = pd.factorize(one["prompt_id"])
    one["oracle_label"] = (0.1 * rng.random(len(names))).round(2)[prompts]
    return pd.concat([frame, one], ignore_index=True)


def ends_of(study, judge="judge"):
    """Return the metrics without the control, and with it in every pool."""
    points = study.judges[judge].points
    return points[0].metrics, points[10].metrics


def assert_alike(found, expected):
    """Compare metrics with their intervals."""
    for name in NAMES:
        one, other = found[name], expected[name]
        assert (one.n, one.interval, one.method) == (other.n, other.interval, other.method), name
        for key in ("estimate", "low", "high", "se"):
            left, right = getattr(one, key), getattr(other, key)
            assert left == (None if right is None else pytest.approx(right, abs=1e-9)), (name, key)


@pytest.mark.shared
def test_arena_rises_from_the_audit_without_its_control_to_the_audit_with_it(shared):
    """On the arena sample recovery goes from .213 to .656 and global_r from .652 to .869, every step upwards."""
    scores = shared / "data" / "arena100" / "scores.csv"
    study, audited = study_mix(scores, control="unhelpful"), audit(scores, control="unhelpful").judges["judge"]
    first, last = ends_of(study)
    assert_alike(first, audited.metrics)
    assert_alike(last, audited.with_control)
    expected = {"recovery": (0.213, 0.656), "global_r": (0.652, 0.869)}
    for name, ends in expected.items():
        assert (first[name].estimate, last[name].estimate) == pytest.approx(ends, abs=5e-4)
        curve = [p.metrics[name].estimate for p in study.judges["judge"].points if name in p.metrics]
        assert (np.diff(curve) > 0).all()
    # The paper's Figure 3 runs up to .89; here the easy pairs alone give .906.
    assert study.judges["judge"].points[-1].metrics["global_r"].estimate == pytest.approx(0.906, abs=5e-4)
    change = study.judges["judge"].change
    assert change["recovery"].estimate == pytest.approx(0.444, abs=5e-4)
    assert change["value_judge"].low < 0 < change["value_judge"].high
    assert "recovery rises from 21% to 66% (change +44 points [" in study.judges["judge"].sentences[0]


def test_the_ends_are_the_audits_of_several_judges_and_of_several_controls():
    """Whoever judges and however many controls there are, the ends are the audits without and with them."""
    frame = with_control(with_control(two_judges(80), "bad"), "worse", seed=4)
    controls = ("bad", "worse")
    study, audited = study_mix(frame, control=controls), audit(frame, control=controls)
    for name, judge in audited.judges.items():
        first, last = ends_of(study, name)
        assert_alike(first, judge.metrics)
        assert_alike(last, judge.with_control)
        # Of 6 candidates 2 are controls: 8 of 15 pairs hold one of them and one of the others.
        assert study.judges[name].points[10].easy_pairs == pytest.approx(8 / 15)
    assert study.not_studied == {}


def test_ragged_pools_are_audited_as_they_are():
    """Where only some pools hold the control the ends are still the audits, and a sentence counts the pools."""
    frame = with_control(cohort(100), share=0.5)
    study, audited = study_mix(frame, control="bad"), audit(frame, control="bad").judges["judge"]
    first, last = ends_of(study)
    assert_alike(first, audited.metrics)
    assert_alike(last, audited.with_control)
    data = study.judges["judge"].data
    assert data["prompts_with_control"] < data["mixed_prompts"] == 100
    words = " ".join(study.judges["judge"].sentences)
    assert f"{data['prompts_with_control']} of 100 prompts hold bad" in words
    assert "With it in half of the prompts that hold it " in words
    assert "of the pools that hold a control" in " ".join(study.to_text(full=True).split())


def test_several_controls_are_them():
    """Two controls are spoken of in the plural."""
    frame = with_control(with_control(cohort(80), "bad"), "worse", seed=4)
    sentences = study_mix(frame, control=("bad", "worse")).judges["judge"].sentences
    assert any(one.startswith("With them in half of the prompts that hold them ") for one in sentences)


def test_one_prompt_has_no_confidence_to_speak_of():
    """Of one prompt the change is given without an interval, and no confidence is claimed."""
    frame = with_control(cohort(20))
    study = study_mix(frame[frame["prompt_id"] == frame["prompt_id"].iloc[0]], control="bad")
    words = " ".join(study.judges["judge"].sentences)
    assert "no interval" in words
    assert "confidence" not in words
    assert "-0.000" not in words
    assert "1 prompts" not in study.to_text(full=True)


def test_the_curve_is_what_a_benchmark_with_so_many_controls_would_show():
    """A benchmark that draws which prompts show the control has, over many draws, the metrics of the curve."""
    whole = with_control(cohort(200))
    curve = study_mix(whole, control="bad").judges["judge"].points[3].metrics
    control = whole["candidate"] == "bad"
    rng, found = np.random.default_rng(8), []
    for _ in range(30):
        shows = rng.random(len(whole)) < 0.3
        found.append(audit(whole[~control | shows], shape="ragged").metrics)
    for name in ("recovery", "global_r", "within_r", "tie_rate", "value_random"):
        drawn = [metrics[name].estimate for metrics in found]
        assert np.mean(drawn) == pytest.approx(curve[name].estimate, abs=0.02), name


def test_partly_labelled_tables_say_what_they_describe():
    """With labels missing beyond the limit figures are of the labelled prompts, in every estimate and a sentence."""
    study = study_mix(with_control(cohort(60, unlabelled=20)), control="bad")
    judge = study.judges["judge"]
    assert {found.method for point in judge.points for found in point.metrics.values()} == {"labelled_only"}
    assert {found.method for found in judge.change.values()} == {"labelled_only"}
    assert judge.data["mixed_prompts"] == 40
    assert "40 prompts whose candidates all have labels" in judge.sentences[-1]
    assert "* from the completely labelled prompts alone" in str(study)


def test_prompts_are_counted_out_with_the_reason():
    """Prompts whose control lacks a label, and pools that are no choice without it, are left out and counted."""
    frame = with_control(cohort(80))
    bad = frame.index[frame["candidate"] == "bad"]
    frame.loc[bad[:3], "oracle_label"] = np.nan
    alone = frame["prompt_id"].isin(frame["prompt_id"].unique()[-2:]) & ~frame["candidate"].isin(["c0", "bad"])
    study = study_mix(frame[~alone], control="bad", shape="ragged")
    data = study.judges["judge"].data
    assert (data["mixed_prompts"], data["left_out"], data["only_with_control"]) == (75, 3, 2)
    assert any("3 prompts are left out: bad is not there, or lacks" in one for one in study.judges["judge"].sentences)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"control": ()}, "without a control there is nothing to mix in"),
        ({"control": "bad", "exclude": "bad"}, "without a control there is nothing to mix in"),
        ({"control": "nobody"}, "no candidate named 'nobody'"),
    ],
)
def test_nothing_to_mix_in_is_refused(options, said):
    """Without a control that is in the table the study is refused in one line, with a way out."""
    with pytest.raises(UsageError, match=said) as raised:
        study_mix(with_control(cohort(20)), **options)
    assert raised.value.hint


@pytest.mark.parametrize(("others", "left"), [(["c0", "c1", "c2"], "only 'c3'"), (["c0", "c1", "c2", "c3"], "no")])
def test_a_control_beside_which_nothing_is_left_to_choose_is_refused(others, left):
    """The hint is about the controls, not about columns; what is excluded is not left either."""
    frame = with_control(cohort(20))
    for options in ({"control": ["bad", *others]}, {"control": "bad", "exclude": others}):
        with pytest.raises(UsageError, match=f"{left}.* left beside the control") as refused:
            study_mix(frame, **options)
        assert "--control" in refused.value.hint


def test_the_text_is_no_wider_than_a_page_and_has_the_ends_of_the_curve():
    """Every second point of the first leg stands there, all pools among them; the document has each."""
    study = study_mix(with_control(cohort(60)), control="bad")
    lines = [line.rstrip() for line in study.to_text(full=True).splitlines()]
    assert max(map(len, lines)) <= 118
    shown = [line.split()[0] for line in lines if re.match(r"\d+% +[\d.]+%", line)]
    assert shown == ["0%", "20%", "40%", "60%", "80%", "100%"]
    assert len([line for line in lines if line.startswith("all + ")]) == 9
    assert any(line.startswith("easy alone") for line in lines)
    assert "every second point of the curve" in " ".join(lines)


def test_a_control_without_scores_or_labels_is_refused():
    """Where no pool holds the control with a label the study says so."""
    frame = with_control(cohort(20))
    frame.loc[frame["candidate"] == "bad", "oracle_label"] = np.nan
    with pytest.raises(InputError, match="no labelled prompt holds the control 'bad'"):
        study_mix(frame, control="bad")


def test_a_judge_that_never_scored_the_control_is_named():
    """Of several judges the one that scored no control is not studied, and the document says why."""
    frame = with_control(two_judges(40))
    frame.loc[(frame["judge"] == "second") & (frame["candidate"] == "bad"), "judge_score"] = np.nan
    study = study_mix(frame, control="bad")
    assert list(study.judges) == ["first"]
    assert study.not_studied == {"second": "no labelled prompt holds a control"}
    assert "second: no labelled prompt holds a control" in str(study)


def test_the_document_is_strict_and_the_frame_tidy():
    """The document is JSON without NaN; the frame holds a row a judge, point and metric; the repr is short."""
    study = study_mix(with_control(cohort(30)), control="bad")
    document = json.loads(json.dumps(study.to_dict(), allow_nan=False))
    assert (document["schema"], document["study"], document["settings"]["control"]) == (
        "bonwise.study/1",
        "mix",
        ["bad"],
    )
    frame = study.to_frame()
    assert len(frame) == 11 * len(NAMES) + 10 * len(OF_PAIRS)
    assert set(frame["metric"]) == set(NAMES)
    assert repr(study) == "<MixStudy of judge on table>"


def test_the_inner_function_takes_the_panels_it_is_given():
    """On an open table the study is that of the front door, whatever interval the audit was asked for."""
    frame, settings = with_control(cohort(30)), Settings(control=("bad",), interval="bootstrap", resamples=50)
    inner = mix_of(open_judged(frame, settings)).to_dict()["judges"]
    assert inner == study_mix(frame, control="bad").to_dict()["judges"]


def test_a_judge_that_ties_everything_has_reasons_for_figures():
    """Where metrics are undefined the study still speaks, with null and the reason."""
    frame = with_control(cohort(30)).assign(judge_score=0.5)
    study = study_mix(frame, control="bad")
    assert study.judges["judge"].change["global_r"].reason == "undefined: needs scores and labels that vary"
    assert "The change of global_r has no figure" in study.to_text(full=True)
    json.dumps(study.to_dict(), allow_nan=False)


def test_a_control_like_the_others_moves_nothing():
    """Where the control is no easier than the others the sentences claim no rise."""
    sentences = study_mix(cohort(120), control="c0").judges["judge"].sentences
    assert "global_r goes from" in sentences[0]
    assert not any("half of the prompts" in sentence for sentence in sentences)


RULE = IntervalRule()
SEED = 20261122
METRICS = ("global_r", "recovery", "sign_agreement", "value_random")

CONTROLLED = pools(least=1, most=5, candidates=(3, 6)).flatmap(
    lambda prompts: st.tuples(
        st.just(prompts),
        # Two others stay in every pool; the first pool has a control.
        st.tuples(*(st.integers(1 if at == 0 else 0, len(pool[0]) - 2) for at, pool in enumerate(prompts))),
    )
)
"""Pools of which the last candidates, as many as the second part says, are controls."""


def sums_of(prompts, controls):
    """Compute the sums of pools whose last candidates are controls."""
    scores, labels, sizes = arrays(prompts)
    marks = [
        at >= len(pool[0]) - many for pool, many in zip(prompts, controls, strict=True) for at in range(len(pool[0]))
    ]
    return mix_sums(scores, labels, sizes, np.array(marks))


def without(prompts, controls):
    """Return the pools without their controls."""
    return [tuple(side[: len(side) - many] for side in pool) for pool, many in zip(prompts, controls, strict=True)]


def easy_pairs(prompts, controls):
    """Return every pair of another candidate and a control as a pool of its own."""
    return [
        ([pool[0][i], pool[0][j]], [pool[1][i], pool[1][j]])
        for pool, many in zip(prompts, controls, strict=True)
        for i, j in product(range(len(pool[0]) - many), range(len(pool[0]) - many, len(pool[0])))
    ]


def plain(mixed, names=tuple(e.name for e in ESTIMANDS)):
    """Return metrics of summed sums, None where they are undefined."""
    totals = Sums(*mixed.sum(axis=1))
    found = {e.name: float(e.of(totals)) for e in ESTIMANDS if e.name in names}
    return {name: None if math.isnan(value) else value for name, value in found.items()}


def assert_same(found, expected):
    """Compare the metrics that were found, None being equal to None only."""
    for name, value in found.items():
        if expected[name] is None:
            assert value is None, name
        else:
            assert value == pytest.approx(expected[name], rel=1e-8, abs=1e-8), name


@given(CONTROLLED, st.integers(0, 5))
@settings(max_examples=150)
def test_a_share_of_the_prompts_is_so_many_copies_of_the_pools(given_pools, fifths):
    """At a share of k fifths the metrics are those of 5 - k copies of the pools without and k with the controls."""
    prompts, controls = given_pools
    sums = sums_of(prompts, controls)
    copies = (5 - fifths) * without(prompts, controls) + fifths * list(prompts)
    mixed = (1 - fifths / 5) * sums.without + fifths / 5 * sums.whole
    assert_same(plain(mixed), twins.metrics(copies))


@given(CONTROLLED, st.integers(0, 4))
@settings(max_examples=150)
def test_towards_easy_pairs_is_so_many_copies_of_the_pairs(given_pools, quarters):
    """On the second leg the metrics are those of copies of the whole pools and of the pairs as pools of two."""
    prompts, controls = given_pools
    sums = sums_of(prompts, controls)
    copies = (4 - quarters) * list(prompts) + quarters * easy_pairs(prompts, controls)
    mixed = (1 - quarters / 4) * sums.whole + quarters / 4 * sums.easy
    assert_same(plain(mixed, OF_PAIRS), twins.metrics(copies))


def test_a_pool_by_hand():
    """Of a, b and the control z one pair is hard and two are easy; half of the prompts with z make 1 pair of 2."""
    sums = sums_of([([0.6, 0.4, 0.0], [0.5, 0.9, 0.1])] * 2, [1, 1])
    curve = mix_curve(sums, RULE)
    at = {(point.share, point.towards): point for point in curve}
    # Without z the one pair is discordant; with it two of three pairs agree, and alone both do.
    assert [at[key].metrics["sign_agreement"].estimate for key in ((0, 0), (0.5, 0), (1, 0), (1, 1))] == [
        0,
        pytest.approx(1 / 2),
        pytest.approx(2 / 3),
        1,
    ]
    assert at[0.5, 0].easy_pairs == pytest.approx(1 / 2)
    assert at[1, 0].easy_pairs == pytest.approx(2 / 3)
    # The pick is a, worth .5; a random pick is worth .7 without z and .5 with it, the best .9.
    assert plain(sums.without)["recovery"] == pytest.approx((0.5 - 0.7) / (0.9 - 0.7))
    assert plain(sums.whole)["recovery"] == pytest.approx(0, abs=1e-12)


def test_the_curve_has_two_legs_that_meet():
    """The points are in the order of easy pairs; the second leg starts where the first ends, without a jump."""
    curve = mix_curve(drawn_sums(60, 1), RULE)
    assert [point.share for point in curve[:11]] == list(SHARES)
    assert [point.towards for point in curve[11:]] == list(SHARES[1:])
    easy = [point.easy_pairs for point in curve]
    assert easy == sorted(easy)
    assert (easy[0], easy[-1]) == (0, 1)
    assert set(curve[-1].metrics) == set(OF_PAIRS)
    sums = drawn_sums(60, 1)
    for name in OF_PAIRS:
        near = plain((1 - 1e-9) * sums.whole + 1e-9 * sums.easy, (name,))[name]
        assert near == pytest.approx(curve[10].metrics[name].estimate, abs=1e-7)


def test_prompts_without_a_control_do_not_count_among_easy_pairs():
    """At the end of the second leg only prompts that hold a control are counted, and the same before it changes."""
    prompts = [([0.6, 0.4, 0.0], [0.5, 0.9, 0.1])] * 3 + [([0.1, 0.2, 0.4], [0.3, 0.1, 0.9])] * 2
    curve = mix_curve(sums_of(prompts, [1, 1, 1, 0, 0]), RULE)
    assert [point.metrics["global_r"].n for point in curve[-2:]] == [5, 3]


def test_the_change_of_recovery_has_its_own_denominators():
    """The change is the difference of the ends with the jackknife of both ratios, and undefined where an end is."""
    sums = drawn_sums(80, 2)
    change = mix_change(sums, RULE)
    both = [plain(sums.whole)["recovery"], plain(sums.without)["recovery"]]
    assert change["recovery"].estimate == pytest.approx(both[0] - both[1])
    left = [
        plain(np.delete(sums.whole, x, axis=1))["recovery"] - plain(np.delete(sums.without, x, axis=1))["recovery"]
        for x in range(80)
    ]
    assert change["recovery"].se == pytest.approx(math.sqrt(79 * np.var(left)))
    flat = sums_of([([0.6, 0.4, 0.0], [0.5, 0.5, 0.1])] * 4, [1] * 4)
    assert mix_change(flat, RULE)["recovery"].reason == "undefined: needs a prompt where labels differ"


def drawn_sums(n, seed):
    """Draw pools of four of alike quality, and a control that is usually the worst."""
    rng = np.random.default_rng([SEED, seed])
    level = rng.normal(0.6, 0.1, (n, 1))
    labels = np.column_stack([level + rng.normal(0, 0.1, (n, 4)), rng.normal(0.1, 0.1, n)])
    scores = np.round(20 * (labels + rng.normal(0, 0.15, labels.shape))) / 20
    return mix_sums(scores.ravel(), labels.ravel(), np.full(n, 5), np.tile([False] * 4 + [True], n))


def covered(n, replications):
    """Count the intervals that hold the truth, half way and of the change."""
    truth = drawn_sums(200_000, 0)
    half = plain((truth.without + truth.whole) / 2, METRICS)
    ends = plain(truth.whole, METRICS), plain(truth.without, METRICS)
    rule = IntervalRule(label_range=(-np.inf, np.inf))
    hits = Counter()
    for seed in range(1, replications + 1):
        sums = drawn_sums(n, seed)
        found = mix_curve(sums, rule)[5].metrics
        change = mix_change(sums, rule)
        for name in METRICS:
            hits[f"{name} half way"] += found[name].low <= half[name] <= found[name].high
            hits[f"{name} change"] += change[name].low <= ends[0][name] - ends[1][name] <= change[name].high
    return hits


def test_intervals_of_the_curve_hold_the_truth():
    """A thinned simulation finds the truth in about 95 % of the intervals, half way and of the change."""
    hits = covered(100, 80)
    assert min(hits.values()) >= 0.86 * 80, hits


@pytest.mark.slow
def test_intervals_of_the_curve_are_nominal():
    """Over 2,000 tables the intervals of the curve and of the change hold the truth 93 to 97 times in 100."""
    assert_covered(covered(200, 2000), 2000)


SCORES = scored(
    [[0.9, 0.8, 0.1], [0.2, 0.2, 0.0], [0.3, 0.8, 0.1]] * 12, [[1, 0.7, 0], [0.4, 0.6, 0.1], [0.9, 0.5, 0.2]] * 12
)


@pytest.fixture
def scores(tmp_path):
    """Write pools whose third candidate is easy to tell apart."""
    return written(tmp_path / "scores.csv", SCORES)


def test_the_study_prints_its_findings_and_writes_its_document(scores, tmp_path, capsys):
    """The curve goes to standard output, the document to a file, the same sentences in both."""
    done = typed(capsys, "study", "mix", scores, "--control", "c2", "--full", "--json", tmp_path / "mix.json")
    assert done.code == 0, done.err
    document = strict((tmp_path / "mix.json").read_text("utf-8"))
    assert document["study"] == "mix"
    for sentence in document["judges"]["j"]["sentences"]:
        assert " ".join(sentence.split()[:4]) in " ".join(done.out.split())
    assert "easy pairs alone" in done.out
    assert not CONTROL.search(done.out)


def test_the_study_writes_its_page(scores, tmp_path, capsys):
    """With --html the study is a page that holds its drawings and findings."""
    done = typed(capsys, "study", "mix", scores, "--control", "c2", "--html", tmp_path / "mix.html")
    assert done.code == 0, done.err
    text = (tmp_path / "mix.html").read_text("utf-8")
    assert "Agreement by the share of easy pairs" in text
    assert text.count("<svg") == 2


def test_without_a_control_the_hint_names_the_flag(scores, capsys):
    """The command refuses to guess which candidate is the easy one."""
    done = typed(capsys, "study", "mix", scores)
    assert done.code == 2
    assert "--control; the candidates are c0, c1, c2" in done.err


def test_the_input_is_not_overwritten(scores, capsys):
    """A page that would replace the scores is refused."""
    done = typed(capsys, "study", "mix", scores, "--control", "c2", "--html", scores)
    assert (done.code, "read or written already" in done.err) == (2, True)


@pytest.mark.parametrize("unpicked", ["random", "first", "drop"])
def test_with_unscored_candidates_the_ends_are_two_audits(unpicked):
    """Without and with the control the curve is what the audit says of the same table, whatever nothing picks."""
    frame = lossy(with_control(cohort(60)), seed=4)
    study = study_mix(frame, control="bad", unpicked=unpicked)
    without, whole = ends_of(study)
    data, left = study.judges["judge"].data, audit(frame, control="bad", unpicked=unpicked).judges["judge"]
    assert_alike(without, left.metrics)
    if unpicked != "drop":  # else a prompt of which the control alone is scored is in one audit and not in the other
        assert_alike(whole, audit(frame, keep_easy="bad", unpicked=unpicked).judges["judge"].metrics)
    assert sum(data.unscored.values()) == left.data.unscored.candidates
    assert data.prompts == left.data.prompts == 60 - data.dropped.get("no score for any candidate", 0)
    assert unpicked == "drop" or data.prompts_under_two_scores >= 6
    assert "candidates without a score: no reason given" in study.to_text(full=True)


@given(pools(most=4, candidates=(3, 5)), st.data())
@settings(max_examples=60, deadline=None)
def test_easy_pairs_with_unscored_candidates_are_pools_of_two(prompts, data):
    """Every sum over pairs is that of each pair of a control and another candidate on its own."""
    scores, labels, sizes = arrays(prompts)
    lost = np.array(data.draw(st.lists(st.booleans(), min_size=len(scores), max_size=len(scores))))
    scores = np.where(lost, np.nan, scores)
    starts = np.cumsum(sizes) - sizes
    control = np.zeros(len(scores), dtype=bool)
    control[starts] = True
    found = Sums(*mix_sums(scores, labels, sizes, control).easy)
    for x, (start, size) in enumerate(zip(starts, sizes, strict=True)):
        pairs = [(start, other) for other in range(start + 1, start + size)]
        apart = [(one, two) for one, two in pairs if round(labels[one], 9) != round(labels[two], 9)]
        decided = right = 0
        for one, two in apart:
            ranks = [-math.inf if np.isnan(scores[at]) else round(scores[at], 9) for at in (one, two)]
            decided += ranks[0] != ranks[1]
            right += ranks[0] != ranks[1] and (ranks[0] > ranks[1]) == (labels[one] > labels[two])
        assert (found.all_pairs[x], found.all_apart_O[x]) == (len(pairs), len(apart))
        assert (found.decided[x], found.decided_right[x]) == (decided, right)
        assert found.pairs[x] == sum(not np.isnan(scores[[one, two]]).any() for one, two in pairs)
