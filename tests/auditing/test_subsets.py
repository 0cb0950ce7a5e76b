"""The worst and the best subset of the prompts: intervals over all, shrinkage, and what the verdict says."""

from __future__ import annotations

import json
from math import sqrt

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bonwise as bw
from auditing.tables import two_judges
from bonwise.auditing.simultaneous import UnitInfluences
from bonwise.auditing.subsets import shrunk, simultaneous_confidence
from bonwise.errors import UsageError
from bonwise.stats.laws import student_quantile
from cli.commands import typed


def judged(sizes, skill, seed=0, names=None):
    """Return a table of subsets of so many prompts; the judge's scores follow the labels by its skill in each."""
    rng, tables = np.random.default_rng(seed), []
    for k, (n, r) in enumerate(zip(sizes, skill, strict=True)):
        labels = rng.beta(0.6, 0.6, (n, 4))
        scores = r * labels + sqrt(1 - r * r) * labels.std() * rng.standard_normal((n, 4))
        ids = np.repeat([f"{k}-{x}" for x in range(n)], 4)
        part = {"prompt_id": ids, "candidate": np.tile(list("abcd"), n), "topic": (names or range(100, 999))[k]}
        tables.append(pd.DataFrame({**part, "judge_score": scores.ravel(), "oracle_label": labels.ravel()}))
    return pd.concat(tables, ignore_index=True)


NAMES = ["code", "chat", "math", "law"]


@pytest.fixture
def frame():
    """Return a judge that is good at code and chat and guesses in maths; three prompts are on law."""
    return judged([60, 60, 60, 3], [0.98, 0.95, 0.0, 0.9], names=NAMES)


def test_shrinkage_by_hand():
    """K = 3, n = 10, 20, 30: the pooled variance, DerSimonian and Laird's, and what each estimate keeps."""
    theta, se, n = [0.2, 0.5, 0.8], [0.2, 0.1, 0.1], [10, 20, 30]
    pooled = (9 * 10 * 0.04 + 19 * 20 * 0.01 + 29 * 30 * 0.01) / 57
    assert pooled == pytest.approx(16.1 / 57)
    w = [many / pooled for many in n]
    centre = (10 * 0.2 + 20 * 0.5 + 30 * 0.8) / 60
    q = sum(a * (x - centre) ** 2 for a, x in zip(w, theta, strict=True))
    tau2 = (q - 2) / (sum(w) - sum(a * a for a in w) / sum(w))
    weights = [1 / (tau2 + 1 / a) for a in w]
    mean = sum(a * x for a, x in zip(weights, theta, strict=True)) / sum(weights)
    kept, between = shrunk(np.array(theta), np.array(se), np.array(n))
    assert between == pytest.approx(sqrt(tau2))
    assert kept == pytest.approx([mean + tau2 / (tau2 + 1 / a) * (x - mean) for a, x in zip(w, theta, strict=True)])
    assert (round(between, 4), kept.round(4).tolist()) == (0.2577, [0.296, 0.5038, 0.7655])


def test_subsets_without_any_spread_stay_as_they_are():
    """Errors of 0 and equal estimates divide by nothing and overflow nowhere."""
    kept, between = shrunk(np.full(4, 0.25), np.zeros(4), np.full(4, 3))
    assert (kept.tolist(), between) == ([0.25] * 4, 0.0)


def test_estimates_that_differ_by_chance_become_their_mean():
    """Where the variance between is 0 nothing of the distance from the mean is kept."""
    kept, between = shrunk(np.array([0.45, 0.55]), np.array([0.2, 0.2]), np.array([10, 10]))
    assert (between, kept.tolist()) == (0, pytest.approx([0.5, 0.5]))


@given(st.lists(st.tuples(st.floats(-1, 1), st.floats(0, 1), st.integers(10, 60)), min_size=2, max_size=12))
def test_shrinkage_is_that_of_a_loop(parts):
    """A plain loop over the subsets finds the same; estimates stay between their own value and the mean."""
    pooled = sum((n - 1) * n * s * s for _, s, n in parts) / sum(n - 1 for *_, n in parts)
    total = sum(n for *_, n in parts)
    centre = sum(n * x for x, _, n in parts) / total
    around = sum(n * (x - centre) ** 2 for x, _, n in parts)
    tau2 = max(0.0, (around - (len(parts) - 1) * pooled) / (total - sum(n * n for *_, n in parts) / total))
    kept, between = shrunk(*(np.array(column) for column in zip(*parts, strict=True)))
    assert between == pytest.approx(sqrt(tau2), abs=1e-6)
    values = [x for x, *_ in parts]
    assert min(values) - 1e-9 <= kept.min() <= kept.max() <= max(values) + 1e-9
    if pooled > 1e-9:
        weights = [1 / (tau2 + pooled / n) for *_, n in parts]
        mean = sum(a * x for a, (x, *_) in zip(weights, parts, strict=True)) / sum(weights)
        keep = [tau2 / (tau2 + pooled / n) for *_, n in parts]
        assert kept == pytest.approx([mean + b * (x - mean) for b, x in zip(keep, values, strict=True)], abs=1e-6)


def one_unit_each(count):
    """Return influences of subsets that share nothing."""
    return [UnitInfluences(np.arange(5) + 5 * k, {"recovery": np.arange(5) - 2.0}) for k in range(count)]


def test_the_critical_value_by_hand():
    """23 disjoint subsets: .95^(1/23), which Student's t with 29 degrees of freedom makes 3.355 standard errors."""
    at = simultaneous_confidence(one_unit_each(23), 0.95, seed=0)
    assert at == pytest.approx(0.9977723, abs=1e-7)
    assert student_quantile(at, 29) == pytest.approx(3.355, abs=0.001)
    assert simultaneous_confidence(one_unit_each(200), 0.95, seed=0) == pytest.approx(0.95 ** (1 / 200))


def test_subsets_that_share_clusters_need_less():
    """Two subsets that move alike are one; those that share little are nearly apart; draws repeat by seed."""
    rng = np.random.default_rng(3)
    alike = [UnitInfluences(np.arange(40), {"recovery": np.arange(40) - 19.5})] * 2
    assert simultaneous_confidence(alike, 0.95, seed=1) == pytest.approx(0.95, abs=0.003)
    few = [UnitInfluences(np.arange(40) + 39 * k, {"recovery": rng.standard_normal(40)}) for k in range(5)]
    found = simultaneous_confidence(few, 0.95, seed=1)
    assert 0.985 < found <= 0.95 ** (1 / 5)
    assert found == simultaneous_confidence(few, 0.95, seed=1)


def test_the_verdict_says_where_a_useful_judge_is_weak(frame):
    """Useful over all prompts and not in maths: the second sentence says so, by the simultaneous interval."""
    found = bw.audit(frame)
    assert found.verdict.level == "useful"
    second = found.verdict.sentences[1]
    assert second.startswith("Useful over all prompts, weak where topic is math: ")
    assert second.endswith("(60 prompts).")
    subsets = found.subsets
    assert [one.value for one in subsets.weak] == ["math"]
    assert (subsets.worst.value, subsets.best.value, subsets.metric) == ("math", "code", "recovery")
    assert subsets.worst.high < 0.5
    assert subsets.confidence == pytest.approx(0.95 ** (1 / 3))
    alone = bw.audit(frame[frame["topic"] == "math"])["recovery"]
    assert subsets.worst.estimate == pytest.approx(alone.estimate)
    assert subsets.worst.low < alone.low
    assert subsets.worst.high > alone.high
    assert subsets.worst.estimate < subsets.worst.shrunk < subsets.best.shrunk < subsets.best.estimate


def test_a_useful_judge_that_fails_somewhere_is_told_in_the_second_sentence_and_nowhere_else():
    """A hundred tables, half of them with a topic on which the judge guesses or is wrong."""
    chance, told = np.random.default_rng(8), []
    for seed in range(100):
        bad = float(chance.choice([0.0, -0.6]))
        skill = [0.98, 0.95, 0.97 if seed % 2 else bad]
        sizes = [100, 100, int(chance.choice([12, 45, 45]))]
        found = bw.audit(judged(sizes, skill, seed=seed, names=NAMES))
        weak = {
            row.value for row in found.subsets.rows if row.high is not None and row.high < 0.5 and row.prompts >= 30
        }
        leads = [at for at, sentence in enumerate(found.verdict.sentences) if sentence.startswith("Useful over all")]
        failing = found.verdict.level == "useful" and bool(weak)
        assert leads == ([1] if failing else [])
        lines = " ".join(str(found).split())
        assert lines.count("Useful over all prompts, ") == failing
        told.append(failing)
        if failing:
            second = found.verdict.sentences[1]
            assert any(f"where topic is {value}: " in second for value in weak)
            answer = " ".join(found.answer.says.split())
            assert lines.index(answer) + len(answer) + 1 == lines.index(" ".join(second.split()))
    assert 20 < sum(told) < 50


def test_a_subset_below_30_prompts_is_not_called_weak():
    """It is the worst and has its interval, but the verdict does not rest on so few."""
    found = bw.audit(judged([80, 80, 29], [0.98, 0.98, -0.9], names=NAMES))
    assert (found.subsets.worst.value, found.subsets.weak) == ("math", [])
    assert found.subsets.worst.high < 0.5
    assert "Useful over all" not in " ".join(found.verdict.sentences)


def test_a_subset_whose_interval_spans_the_gate_is_not_called_weak():
    """An estimate below the gate is not enough: the upper end of the simultaneous interval decides."""
    found = bw.audit(judged([80, 80, 40], [0.98, 0.98, 0.3], names=NAMES))
    worst = found.subsets.worst
    assert worst.low < worst.estimate < 0.5 < worst.high
    assert (found.verdict.level, found.subsets.weak) == ("useful", [])


def test_small_subsets_and_undefined_ones_are_counted_with_the_reason(frame):
    """Three prompts on law and a subset of equal labels have rows without an interval, and are counted."""
    flat = judged([20], [0.5], names=["flat"]).assign(oracle_label=0.5)
    flat["prompt_id"] = "f" + flat["prompt_id"]
    found = bw.audit(pd.concat([frame, flat], ignore_index=True))
    rows = {one.value: one for one in found.subsets.rows}
    assert set(rows) == {"code", "chat", "math", "law", "flat"}
    assert (rows["law"].prompts, rows["law"].low, rows["law"].reason) == (3, None, "fewer than 10 prompts")
    assert (rows["flat"].estimate, rows["flat"].prompts) == (None, 20)
    assert rows["flat"].reason is not None
    assert "fewer than 10 prompts (1)" in found.subsets.sentence
    assert "topic law" in found.subsets.sentence
    assert "topic flat" in found.subsets.sentence
    assert rows["flat"].reason in found.subsets.sentence


def test_blank_values_are_a_subset(frame):
    """Prompts without a value are not dropped."""
    frame.loc[frame["topic"] == "chat", "topic"] = None
    assert {one.value for one in bw.audit(frame).subsets.rows} == {"code", "(blank)", "math", "law"}


def test_columns_are_taken_together_unless_one_is_named(frame):
    """With two columns the intervals hold over the subsets of both; a named one stands alone."""
    frame["lang"] = np.where(np.arange(len(frame)) // 4 % 2, "en", "de")
    both, one = bw.audit(frame).subsets, bw.audit(frame, stratum="topic").subsets
    assert {row.column for row in both.rows} == {"topic", "lang"}
    assert {row.column for row in one.rows} == {"topic"}
    assert one.confidence < both.confidence <= 0.95 ** (1 / 5)
    assert set(both.between) == {"topic", "lang"}


def test_columns_without_subsets_say_why(frame):
    """A column of a value per prompt, one that differs within prompts, one that says the same of all."""
    frame["id"] = frame["prompt_id"]
    frame["place"] = frame["candidate"]
    frame["same"] = 1
    assert set(bw.audit(frame).subsets.left_out) == {"id"}
    named = bw.audit(frame, stratum=["id", "place", "same"]).subsets
    assert set(named.left_out) == {"id", "place", "same"}
    assert "No subsets by place: it differs within prompts" in named.sentence
    assert named.rows == []


def test_a_column_with_one_subset_is_named(frame):
    """Of a column whose second value is rare nothing can be compared: the verdict names column and value."""
    prompts = list(dict.fromkeys(frame["prompt_id"]))
    frame["plen"] = np.where(frame["prompt_id"].isin(prompts[:8]), "long", "short")
    said = "No subsets by plen: of its 2 values, 1 with 10 prompts or more, and not long."
    assert said in bw.audit(frame).subsets.sentence
    assert said in " ".join(str(bw.audit(frame)).split())
    assert said in bw.audit(frame, stratum=["topic", "plen"]).subsets.sentence
    assert said in bw.audit(frame.drop(columns="topic")).subsets.sentence


def test_clusters_are_respected(frame):
    """Prompts that come in fives of equal scores count as a fifth of the prompts."""
    many = pd.concat([frame.assign(prompt_id=frame["prompt_id"] + f"/{k}", doc=frame["prompt_id"]) for k in range(5)])
    once, alike, apart = (
        bw.audit(table, stratum="topic").subsets.worst
        for table in (frame, many.rename(columns={"doc": "cluster"}), many.drop(columns="doc"))
    )
    assert (alike.low, alike.high) == (pytest.approx(once.low, abs=0.03), pytest.approx(once.high, abs=0.03))
    assert apart.high - apart.low < 0.7 * (alike.high - alike.low)


def test_whole_systems_are_decided_by_global_r(frame):
    """The subsets are those of the metric that decides."""
    assert bw.audit(frame, target="system").subsets.metric == "global_r"


def test_a_uniform_sample_has_subsets_and_an_unequal_one_refuses_a_named_column(frame):
    """Labels drawn alike tell of subsets; drawn with unequal chances they do not, and a named column is refused."""
    drawn = frame.copy()
    drawn.loc[drawn["prompt_id"].isin(drawn["prompt_id"].unique()[::3]), "oracle_label"] = np.nan
    found = bw.audit(drawn, design="uniform").subsets
    assert {one.value: one.prompts for one in found.rows}["math"] == 40
    rng = np.random.default_rng(1)
    chance = dict(zip(frame["prompt_id"].unique(), rng.uniform(0.3, 0.9, 183), strict=True))
    drawn["propensity"] = drawn["prompt_id"].map(chance)
    assert bw.audit(drawn).subsets is None
    with pytest.raises(UsageError, match="drawn with equal chances"):
        bw.audit(drawn, stratum="topic")


def test_through_the_terminal_json_and_the_page(capsys, frame, tmp_path, monkeypatch):
    """The terminal names worst and best in short, JSON and the page hold all of them."""
    monkeypatch.chdir(tmp_path)
    frame.to_csv("scores.csv", index=False)
    done = typed(capsys, "audit", "scores.csv", "--stratum", "topic", "--json", "a.json", "--html", "a.html")
    words = " ".join(done.out.split())
    assert "Useful over all prompts, weak where topic is math: " in words
    assert "Recovery by topic: worst where topic is math: " in words
    assert "best where topic is code: " in words
    assert "hold over all 3 subsets at once" in words
    document = json.loads((tmp_path / "a.json").read_text("utf-8"))
    assert document["settings"]["stratum"] == ["topic"]
    assert [one["value"] for one in document["subsets"]["rows"]] == ["math", "chat", "code", "law"]
    assert bw.load(tmp_path / "a.json").subsets == bw.audit("scores.csv", stratum="topic").subsets
    page = (tmp_path / "a.html").read_text("utf-8")
    assert "Recovery by topic: worst where topic is math: " in page
    assert page.count("Subsets of the prompts") >= 1
    assert "fewer than 10 prompts" in page
    unknown = typed(capsys, "audit", "scores.csv", "--stratum", "subject")
    assert (unknown.code, "no column named 'subject'" in unknown.err, "topic" in unknown.err) == (2, True, True)


def test_several_judges_have_their_own_subsets(capsys, tmp_path, monkeypatch):
    """Each judge's subsets are in JSON, the best judges' in the terminal."""
    monkeypatch.chdir(tmp_path)
    table = two_judges(80)
    table["topic"] = np.where(table["prompt_id"].rank(method="dense") % 2, "a", "b")
    found = bw.audit(table)
    assert all(len(one.subsets.rows) == 2 for one in found.judges.values())
    table.to_csv("two.csv", index=False)
    assert "second: Recovery by topic: worst" in " ".join(typed(capsys, "audit", "two.csv").out.split())


def true_recovery(skill):
    """Return the recovery of so many prompts that it is the truth."""
    table = judged([100_000], [skill], seed=9)
    scores, labels = (table[name].to_numpy().reshape(-1, 4) for name in ("judge_score", "oracle_label"))
    picked = np.take_along_axis(labels, scores.argmax(axis=1)[:, None], axis=1)
    return (picked.mean() - labels.mean()) / (labels.max(axis=1).mean() - labels.mean())


def covered(subsets, tables, seed):
    """Return the share of tables of which the intervals of all subsets hold the truth."""
    rng, held = np.random.default_rng(seed), 0
    skill = np.resize([0.0, 0.2, 0.4, 0.6, 0.8, 0.95], subsets)
    truth = {r: true_recovery(r) for r in set(skill.tolist())}
    for table in range(tables):
        sizes = rng.integers(10, 41, subsets)
        found = bw.audit(judged(sizes, skill, seed=seed + table)).subsets
        known = {str(100 + k): truth[r] for k, r in enumerate(skill.tolist())}
        rows = [one for one in found.rows if one.low is not None]
        assert len(rows) >= 0.95 * subsets
        held += all(one.low <= known[one.value] <= one.high for one in rows)
    return held / tables


def least(tables):
    """Return .93 less two standard errors of the simulation."""
    return 0.93 - 2 * sqrt(0.93 * 0.07 / tables)


@pytest.mark.parametrize(("subsets", "tables"), [(23, 24), (200, 4)])
def test_intervals_hold_over_all_subsets_at_once(subsets, tables):
    """In a thinned simulation with known truth, of subsets of 10 to 40 prompts."""
    assert covered(subsets, tables, 1000) >= least(tables)


@pytest.mark.slow
@pytest.mark.parametrize(("subsets", "tables"), [(23, 600), (200, 150)])
def test_intervals_hold_over_all_subsets_in_full(subsets, tables):
    """The same in full."""
    assert covered(subsets, tables, 5000) >= least(tables)
