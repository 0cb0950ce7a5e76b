"""Annotators in an audit: agreement, and what one of them recovers of the labels of the others."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bonwise as bw
from bonwise.auditing.annotators import CellLabelsGiven, annotator_pools, krippendorff_alpha
from bonwise.cli.entry import run
from bonwise.doctoring.engine import columns_of
from bonwise.table.annotators import aggregate

METRICS = ("recovery", "within_r", "top1_accuracy")


def labelled(n=60, annotators=3, noise=0.7, judge_noise=1.0, seed=20261124, candidates=3, *, whole=None):
    """Return rows of candidates with a true worth, the labels of annotators who see it with noise, and a judge."""
    rng = np.random.default_rng(seed)
    worth = rng.normal(size=(n, candidates))
    scores = worth + judge_noise * rng.normal(size=worth.shape)
    labels = worth[:, :, None] + noise * rng.normal(size=(n, candidates, annotators))
    seen = np.ones(labels.shape, dtype=bool) if whole is None else np.repeat(whole[:, None, :], candidates, axis=1)
    prompt, candidate, who = np.nonzero(seen)
    return pd.DataFrame(
        {
            "prompt_id": [f"p{one:04d}" for one in prompt],
            "candidate": [f"c{one}" for one in candidate],
            "judge_score": scores[prompt, candidate],
            "oracle_label": labels[seen],
            "annotator": [f"ann {one}" for one in who],
        }
    )


def found_of(frame, **options):
    """Audit a table and return what it says of annotators."""
    return bw.audit(frame, **options).annotators


class TestByHand:
    """Two prompts of two candidates and three annotators, worked on paper."""

    LABELS = (("p", "a", [1, 2, 4]), ("p", "b", [2, 4, 3]), ("q", "a", [5, 4, 4]), ("q", "b", [1, 2, 5]))

    def frame(self, times=1):
        """Return the prompts, each as often as wanted."""
        return pd.DataFrame(
            [
                {
                    "prompt_id": f"{p}{at}",
                    "candidate": c,
                    "judge_score": score,
                    "oracle_label": label,
                    "rater": f"r{who}",
                }
                for at in range(times)
                for score, (p, c, labels) in zip((0.3, 0.6, 0.2, 0.1), self.LABELS, strict=True)
                for who, label in enumerate(labels)
            ]
        )

    def test_left_out_one_by_one(self):
        """Means of the others: r0 sees 3, 3.5 and 4, 3.5; r1 2.5, 2.5 and 4.5, 3; r2 1.5, 3 and 4.5, 1.5.

        The annotator's own pick is b, b, a in p and a, a, b in q. Its gain over the mean of the others' labels is
        0.25, 0, -0.75 and 0.25, 0.75, -1.5; the most that could be gained is 0.25, 0, 0.75 and 0.25, 0.75, 1.5.
        """
        found = found_of(self.frame(), annotator_rule="mean")
        one = found.one_annotator
        gains = np.array([0.25, 0, -0.75, 0.25, 0.75, -1.5])
        most = np.array([0.25, 0, 0.75, 0.25, 0.75, 1.5])
        # The annotator's pick is the others' best in 1, 1/2 (both are), 0 and 1, 1, 0 of the pools.
        assert one.top1_accuracy.estimate == pytest.approx((1 + 0.5 + 0 + 1 + 1 + 0) / 6)
        assert (one.prompts, one.pools) == (2, 6)
        many = found_of(self.frame(times=40), annotator_rule="mean")
        # Prompts that are alike leave nothing to doubt but the bound; the sums are those of the two prompts.
        assert many.one_annotator.recovery.estimate == pytest.approx(gains.sum() / most.sum())
        judge = np.array([0.25, 0, 0.75, 0.25, 0.75, 1.5])  # its pick is b in p and a in q
        assert many.judges["judge"].recovery.estimate == pytest.approx(judge.sum() / most.sum())
        assert many.judges["judge"].minus_annotator["recovery"].estimate == pytest.approx(
            (judge - gains).sum() / most.sum()
        )

    def test_counts_and_alpha(self):
        """Alpha is that of the labels by candidate; the median of three is a label, and none is split."""
        found = found_of(self.frame(times=6))
        assert (found.annotators, found.labels, found.labelled_candidates, found.several_labels) == (3, 72, 24, 24)
        assert (found.kind, found.rule, found.level, found.split) == ("ordered categories", "median", "ordinal", 0)
        units = np.repeat(np.arange(24), 3)
        labels = np.tile([label for *_, three in self.LABELS for label in three], 6).astype(float)
        alone = krippendorff_alpha(labels, units, units // 2, "ordinal")
        assert found.alpha.estimate == pytest.approx(alone.estimate)
        assert (found.alpha.low, found.alpha.n) == (pytest.approx(alone.low), 12)
        assert [(one.annotator, one.labels, one.pools) for one in found.each] == [
            ("r0", 24, 12),
            ("r1", 24, 12),
            ("r2", 24, 12),
        ]


@given(
    cells=st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 3), st.integers(0, 3)), max_size=40
    ),
    rule=st.sampled_from(["mean", "median", "majority"]),
)
def test_plain_loops(cells, rule):
    """The pools of every annotator, and what the others say, are those of loops."""
    kept = {(prompt, candidate, who): label for prompt, candidate, who, label in cells}
    ordered = sorted(kept)
    at = np.array([prompt * 3 + candidate for prompt, candidate, _ in ordered], dtype=np.int64)
    who = np.array([one[2] for one in ordered], dtype=np.int64)
    values = np.array([kept[one] for one in ordered], dtype=float)
    found = annotator_pools(CellLabelsGiven(at, who, values, at // 3), np.full(4, 3), rule)
    expected = []
    for prompt in range(4):
        for one in range(4):
            own = [kept.get((prompt, candidate, one)) for candidate in range(3)]
            others = [[kept[k] for k in ordered if k[:2] == (prompt, c) and k[2] != one] for c in range(3)]
            if None not in own and all(others):
                rest = [aggregate(rule, np.zeros(len(o), int), np.array(o, float), 1).labels[0] for o in others]
                expected.append((prompt, one, own, rest))
    assert [(p, a) for p, a in zip(found.prompts, found.annotators, strict=True)] == [one[:2] for one in expected]
    assert found.own.tolist() == [label for *_, own, _ in expected for label in own]
    assert found.others == pytest.approx([label for *_, rest in expected for label in rest])


def test_chunks_do_not_matter(monkeypatch):
    """Few labels are gathered at a time; the labels of the others are the same."""
    frame = labelled(n=20)
    whole = found_of(frame).one_annotator
    monkeypatch.setattr("bonwise.auditing.annotators._AT_A_TIME", 7)
    assert found_of(frame).one_annotator == whole


def truth(noise, others):
    """Return what recovery and within_r of one annotator are in the population of `labelled`.

    Worth and noise are normal and independent, so that recovery is the correlation within prompts.
    """
    return 1 / np.sqrt((1 + noise**2) * (1 + noise**2 / others))


@pytest.mark.slow
@pytest.mark.parametrize("annotators", [2, 4])
def test_coverage(annotators):
    """Intervals hold what one annotator, and the judge, recover in the population about as often as they say."""
    one, judge = truth(0.7, annotators - 1), 1 / np.sqrt(2 * (1 + 0.49 / (annotators - 1)))
    held = []
    for seed in range(300):
        found = found_of(labelled(n=80, annotators=annotators, seed=seed))
        pairs = [
            (found.one_annotator.recovery, one),
            (found.one_annotator.within_r, one),
            (found.judges["judge"].recovery, judge),
            (found.judges["judge"].minus_annotator["recovery"], judge - one),
            # The variance of labels is 1 of the candidates and 0.49 of the annotators.
            (found.alpha, 1 / 1.49),
        ]
        held.append([estimate.low <= value <= estimate.high for estimate, value in pairs])
    assert (np.mean(held, axis=0) >= 0.92).all(), np.mean(held, axis=0)


def test_known_truth():
    """One large table: the estimates are those of the population."""
    found = found_of(labelled(n=4000, annotators=3))
    one = truth(0.7, 2)
    assert found.one_annotator.recovery.estimate == pytest.approx(one, abs=0.02)
    assert found.one_annotator.within_r.estimate == pytest.approx(one, abs=0.02)
    assert found.alpha.estimate == pytest.approx(1 / 1.49, abs=0.02)
    assert found.judges["judge"].recovery.estimate == pytest.approx(1 / np.sqrt(2 * (1 + 0.49 / 2)), abs=0.02)


def test_a_judge_may_exceed_one_annotator():
    """The labels of one annotator are no ceiling: a judge with less noise recovers more."""
    found = found_of(labelled(n=300, judge_noise=0.1))
    assert found.judges["judge"].minus_annotator["recovery"].low > 0
    assert "more than one annotator: the difference is +" in str(bw.audit(labelled(n=300, judge_noise=0.1)))


def test_annotators_of_some_prompts():
    """A prompt counts for those who labelled all its candidates; a prompt with one annotator tells nothing."""
    whole = np.zeros((30, 3), dtype=bool)
    whole[:, 0] = True
    whole[:20, 1] = True
    whole[:5, 2] = True
    found = found_of(labelled(n=30, whole=whole))
    assert (found.one_annotator.prompts, found.one_annotator.pools) == (20, 45)
    assert [one.pools for one in found.each] == [20, 20, 5]
    assert found.several_labels == 60
    assert found.alpha.n == 20


def test_what_cannot_be_told_has_a_reason():
    """Annotators who label single candidates leave the comparison out, and say why."""
    frame = labelled(n=20)
    turn = frame["candidate"].str[1].astype(int) + frame["annotator"].str[-1].astype(int)
    found = bw.audit(frame[turn % 3 < 2])
    assert found.annotators.one_annotator is None
    assert "no annotator has labels of every candidate" in found.annotators.reason
    assert "What one annotator recovers cannot be told" in str(found)
    assert found.annotators.alpha.estimate is not None


@pytest.mark.parametrize("clustered", [False, True])
def test_annotators_who_do_not_agree_are_no_ceiling(tmp_path, clustered):
    """Alpha at chance: every output questions the labels first, and compares no judge with an annotator."""
    frame = labelled(n=40, noise=40.0)
    if clustered:  # too few clusters for an interval, and one of two annotators reversed the scale
        frame = labelled(n=40, annotators=2)
        turned = np.where(frame["annotator"] == "ann 0", -frame["oracle_label"], frame["oracle_label"])
        frame = frame.assign(oracle_label=turned, cluster=frame["prompt_id"].str[:-1])
    audit = bw.audit(frame)
    alpha = audit.annotators.alpha
    assert alpha.estimate <= 0 if clustered else alpha.low <= 0 < alpha.high
    assert audit.annotators.one_annotator is not None
    audit.to_html(tmp_path / "a.html")
    texts = [str(audit), audit.to_text(full=True), audit.to_markdown(), (tmp_path / "a.html").read_text("utf-8")]
    for text in texts:
        words = " ".join(text.replace("\\", "").split())
        assert not any(said in words for said in ("ne annotator", "as good as"))
        first = min(
            words.find(said) for said in ("Question the labels first", "annotators gave", "alpha") if said in words
        )
        assert words[first:].startswith(
            "Question the labels first: the annotators are not shown to agree beyond chance"
        )
    assert bw.audit(labelled(n=40)).annotators.agree
    assert "One annotator's labels recover" in str(bw.audit(labelled(n=40)))


def test_several_judges_and_clusters():
    """Each judge is compared on its own prompts; clusters of prompts are the unit of every interval."""
    frame = labelled(n=40)
    other = frame[frame["prompt_id"] < "p0030"].assign(judge="b", judge_score=-frame["judge_score"])
    both = pd.concat([frame.assign(judge="a"), other])
    found = found_of(both)
    assert {name: one.prompts for name, one in found.judges.items()} == {"a": 40, "b": 30}
    assert found.judges["b"].recovery.high < 0
    clustered = frame.assign(cluster=frame["prompt_id"].str[:-1])
    few = found_of(clustered)
    assert few.alpha.low is None
    assert "4 clusters" in few.alpha.reason


def test_one_label_per_candidate_changes_nothing():
    """A table with one label per candidate has no such part, whoever is named beside the labels."""
    frame = labelled(n=20, annotators=1)
    alone = bw.audit(frame.drop(columns="annotator")).to_dict()
    named = bw.audit(frame).to_dict()
    assert "annotators" not in alone
    assert alone["metrics"] == named["metrics"]


def test_the_label_is_what_the_rule_says():
    """The metrics are those of the table with the aggregated labels."""
    frame = labelled(n=30)
    keys = ["prompt_id", "candidate", "judge_score"]
    by_hand = frame.groupby(keys, as_index=False)["oracle_label"].mean()
    several, one = bw.audit(frame), bw.audit(by_hand)
    for name, metric in one.metrics.items():
        assert several[name].estimate == pytest.approx(metric.estimate, abs=1e-12), name
    assert several["recovery"].low == pytest.approx(one["recovery"].low, abs=1e-12)


def test_drops_and_exclusions():
    """Only candidates that are audited count."""
    found = found_of(labelled(n=20), exclude="c2")
    assert (found.labels, found.labelled_candidates) == (120, 40)


@pytest.mark.parametrize("rule", ["mean", "median", "majority"])
@given(seed=st.integers(0, 10**6))
@settings(max_examples=15, deadline=None)
def test_alpha_is_over_every_candidate_with_two_labels(rule, seed):
    """Prompts that lack a candidate, or have one alone, are not audited, and their labels count in alpha."""
    rng = np.random.default_rng(seed)
    frame = labelled(n=40, seed=seed, annotators=3).round({"oracle_label": 0})
    number = frame["prompt_id"].str[1:].astype(int)
    frame = frame[(number > 2) | (frame["candidate"] == "c0")]  # three prompts of one candidate
    frame = frame[rng.random(len(frame)) < 0.8]
    judged = found_of(frame, annotator_rule=rule, exclude="c2")
    kept = frame[frame["candidate"] != "c2"]
    several = kept.groupby(["prompt_id", "candidate"])["oracle_label"].size()
    assert (judged.labels, judged.labelled_candidates) == (len(kept), len(several))
    assert judged.several_labels == int((several > 1).sum())
    units = (kept["prompt_id"] + kept["candidate"]).tolist()
    assert judged.alpha.estimate == pytest.approx(
        loop_alpha(kept["oracle_label"].tolist(), units, judged.level), abs=1e-9
    )
    assert sum(one.labels for one in judged.each) == len(kept)


class TestCommand:
    """The audit on the command line, in every form."""

    @pytest.fixture
    def folder(self, tmp_path, monkeypatch):
        """Write scores and labels of annotators, one of them with a hostile name."""
        monkeypatch.chdir(tmp_path)
        frame = labelled(n=30).round({"oracle_label": 0}).assign(who=lambda f: f["annotator"])
        frame.loc[frame["annotator"] == "ann 1", ["annotator", "who"]] = "<script>alert(1)</script>\x1b[31m"
        frame.drop(columns="who").to_csv("rows.csv", index=False)
        keys = ["prompt_id", "candidate", "judge_score"]
        wide = frame.pivot_table(index=keys, columns="who", values="oracle_label").reset_index()
        wide.set_axis([*keys, "alice", "bob", "carol"], axis=1).to_csv("columns.csv", index=False)
        frame.drop_duplicates(keys)[keys].to_csv("scores.csv", index=False)
        frame[["prompt_id", "candidate", "oracle_label", "who"]].to_csv("labels.csv", index=False)
        return tmp_path

    def document(self, capsys, *arguments):
        """Return the JSON document of an audit."""
        assert run(["audit", *arguments, "--json", "-"]) == 0
        return json.loads(capsys.readouterr().out)

    @pytest.mark.usefixtures("folder")
    def test_rows_columns_and_label_files_are_one(self, capsys):
        """Whatever the layout, the figures are the same."""
        rows = self.document(capsys, "rows.csv")
        names = [flag for name in ("alice", "bob", "carol") for flag in ("--label-col", name)]
        columns = self.document(capsys, "columns.csv", *names)
        joined = self.document(capsys, "scores.csv", "--labels", "labels.csv", "--annotator-col", "who")
        for other in (columns, joined):
            assert other["metrics"] == rows["metrics"]
            for key in ("alpha", "one_annotator", "judges", "labels", "rule"):
                assert other["annotators"][key] == rows["annotators"][key]
        assert columns["settings"]["columns"]["oracle_label"] == "alice, bob, carol"

    @pytest.mark.usefixtures("folder")
    def test_the_rule_is_settable(self, capsys):
        """The rule is stated, and the level of alpha follows it."""
        found = self.document(capsys, "rows.csv", "--annotator-rule", "majority")["annotators"]
        assert (found["rule"], found["rule_stated"], found["level"]) == ("majority", True, "nominal")
        assert found["split"] > 0
        assert run(["audit", "rows.csv", "--annotator-rule", "mode"]) == 2
        assert "choose mean, median or majority" in capsys.readouterr().err

    def test_every_form(self, folder, capsys):
        """Terminal, page and Markdown say it, and a hostile name executes nothing."""
        outputs = ["--html", "audit.html", "--markdown", "audit.md", "--json", "audit.json"]
        assert run(["audit", "rows.csv", *outputs]) == 0
        words = " ".join(capsys.readouterr().out.split())
        assert "Krippendorff's alpha" in words
        assert "One annotator's labels recover" in words
        assert "\x1b[31m" not in words
        page = (folder / "audit.html").read_text("utf-8")
        assert "Against the labels of the other annotators" in page
        assert "<script>alert(1)" not in page
        assert "Krippendorff" in (folder / "audit.md").read_text("utf-8")
        assert "Krippendorff" in str(bw.load(folder / "audit.json"))

    def test_doctor(self, folder, capsys):
        """What will be done is said before."""
        assert run(["doctor", "rows.csv", "--json", "doctor.json"]) == 0
        words = " ".join(capsys.readouterr().out.split())
        assert "3 annotators gave 270 labels; candidates with two labels or more: 90." in words
        assert "An audit takes the median (ordered categories); --annotator-rule mean or majority" in words
        counts = json.loads((folder / "doctor.json").read_text("utf-8"))["labels"]["annotators"]
        assert counts["several_labels"] == 90
        names = [flag for name in ("alice", "bob") for flag in ("--label-col", name)]
        assert run(["doctor", "columns.csv", *names, "--annotator-rule", "mean", "--full"]) == 0
        words = " ".join(capsys.readouterr().out.split())
        assert "--label-col alice,bob --annotator-rule mean" in words
        assert words.count(" oracle_label carol") == 1


def test_doctor_of_a_label_file_names_the_annotators():
    """A file of labels is no table of scores; its columns are told all the same."""
    labels = labelled(n=5).drop(columns="judge_score")
    assert {one.name: one.taken for one in columns_of(labels)}["annotator"] == "annotator"
    alone = labelled(n=5, annotators=1).drop(columns="judge_score")
    assert {one.name: one.taken for one in columns_of(alone)}["annotator"] == ""


# Krippendorff's alpha: published examples, plain loops, and coverage where the truth is known.


LEVELS = ("nominal", "ordinal", "interval")
_ = np.nan


def alpha_of(table, level, **named):
    """Return alpha of a table of annotators by units, each unit a prompt."""
    annotator, unit = np.nonzero(~np.isnan(np.asarray(table, dtype=float)))
    return krippendorff_alpha(np.asarray(table, dtype=float)[annotator, unit], unit, unit, level, **named)


class TestPublished:
    """Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability", examples A to C."""

    def test_two_observers_yes_and_no(self):
        """Two observers yes and no."""
        found = alpha_of([[0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]], "nominal")
        assert found.estimate == pytest.approx(0.095, abs=5e-4)
        # Six values are 1 and fourteen 0, four units disagree: 1 - 19 * 8 / (2 * 6 * 14).
        assert found.estimate == pytest.approx(1 - 19 * 8 / 168)

    def test_two_observers_five_classes(self):
        """Two observers five classes."""
        first, second = "aabbdcccedda", "babbbccceddd"
        table = [[ord(one) for one in row] for row in (first, second)]
        assert alpha_of(table, "nominal").estimate == pytest.approx(0.692, abs=5e-4)

    @pytest.mark.parametrize(("level", "published"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
    def test_four_observers_and_missing_labels(self, level, published):
        """Four observers and missing labels."""
        table = [
            [1, 2, 3, 3, 2, 1, 4, 1, 2, _, _, _],
            [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, _, 3],
            [_, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, _],
            [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, _],
        ]
        found = alpha_of(table, level)
        assert found.estimate == pytest.approx(published, abs=5e-4)
        assert found.n == 11  # the last unit has one label


def loop_alpha(labels, units, level):
    """Compute alpha pair by pair, from the definition."""
    members = {}
    for label, unit in zip(labels, units, strict=True):
        members.setdefault(unit, []).append(label)
    pairable = [found for found in members.values() if len(found) > 1]
    values = [label for found in pairable for label in found]
    n = len(values)
    count = {label: values.count(label) for label in values}

    def delta(a, b):
        if level == "nominal":
            return float(a != b)
        if level == "interval":
            return (a - b) ** 2
        low, high = min(a, b), max(a, b)
        between = sum(times for label, times in count.items() if low <= label <= high)
        return (between - (count[a] + count[b]) / 2) ** 2

    observed = sum(
        delta(a, b) / (len(found) - 1) for found in pairable for a, b in itertools.permutations(found, 2)
    ) / max(n, 1)
    expected = sum(delta(a, b) for a, b in itertools.permutations(values, 2)) / max(n * (n - 1), 1)
    return 1 - observed / expected if expected > 0 else np.nan


CELLS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2), st.integers(1, 4)), min_size=1, max_size=24)


@pytest.mark.parametrize("level", LEVELS)
@given(cells=CELLS)
@settings(max_examples=60, deadline=None)
def test_alpha_in_plain_loops(level, cells):
    """Alpha and its standard error are those of loops over pairs, and over prompts left out."""
    prompts, units, labels = (np.array(column) for column in zip(*cells, strict=True))
    units = prompts * 3 + units
    found = krippendorff_alpha(labels.astype(float), units, prompts, level)
    truth = loop_alpha(labels.tolist(), units.tolist(), level)
    if np.isnan(truth):
        assert found.estimate is None
        return
    assert found.estimate == pytest.approx(truth, abs=1e-9)
    several = np.bincount(units)[units] > 1
    known = np.unique(prompts[several])
    assert found.n == len(known)
    left = [loop_alpha(labels[prompts != one].tolist(), units[prompts != one].tolist(), level) for one in known]
    if found.se is not None and found.se > 0:
        spread = np.sqrt((len(known) - 1) / len(known) * np.sum((np.array(left) - np.mean(left)) ** 2))
        assert found.se == pytest.approx(spread, abs=1e-9)
    elif len(known) > 1:
        assert np.isnan(left).any() or np.ptp(left) < 1e-9


def test_a_cluster_is_the_unit_of_the_interval():
    """Prompts of one cluster are left out together."""
    rng = np.random.default_rng(5)
    units = np.repeat(np.arange(40), 3)
    labels = rng.integers(1, 6, size=40)[units] + rng.integers(0, 2, size=120)
    alone = krippendorff_alpha(labels.astype(float), units, units, "interval")
    doubled = krippendorff_alpha(
        np.tile(labels, 2).astype(float),
        np.concatenate([units, units + 40]),
        np.concatenate([units, units + 40]),
        "interval",
        clusters=np.tile(units, 2),
    )
    assert doubled.n == 80
    assert doubled.se == pytest.approx(alone.se, rel=0.02)


def test_blocks_of_clusters_do_not_matter(monkeypatch):
    """Few clusters are worked on at a time; the figures are the same."""
    rng = np.random.default_rng(6)
    prompts = np.repeat(np.arange(50), 6)
    units = np.repeat(np.arange(150), 2)
    labels = rng.integers(1, 8, size=300).astype(float)
    whole = krippendorff_alpha(labels, units, prompts, "ordinal")
    monkeypatch.setattr("bonwise.auditing.annotators._MOST_NUMBERS", 20)
    assert krippendorff_alpha(labels, units, prompts, "ordinal").se == pytest.approx(whole.se, rel=1e-12)


def test_parts_of_the_labels_do_not_matter(monkeypatch):
    """Few labels at a time are set against those of the others; the figures are the same."""
    frame = labelled(n=20, annotators=3)
    whole = found_of(frame)
    monkeypatch.setattr("bonwise.auditing.annotators._AT_A_TIME", 50)
    assert found_of(frame) == whole


def test_an_alpha_that_cannot_be_told_has_a_reason():
    """No interval and no estimate without the reason."""
    units = np.array([0, 1, 2])
    assert krippendorff_alpha(np.array([1.0, 2, 3]), units, units, "nominal").reason == "no candidate has two labels"
    same = krippendorff_alpha(np.ones(4), np.array([0, 0, 1, 1]), np.array([0, 0, 1, 1]), "interval")
    assert same.estimate is None
    assert "all labels are the same" in same.reason
    alone = krippendorff_alpha(np.array([1.0, 2, 2, 2]), np.array([0, 0, 1, 1]), np.zeros(4, dtype=int), "nominal")
    assert alone.low is None
    assert "a single prompt" in alone.reason


def drawn(rng, prompts, law):
    """Draw labels of three annotators for three candidates of each prompt, and the alpha of their population."""
    units = np.repeat(np.arange(prompts * 3), 3)
    of = units // 3
    if law == "interval":
        # The variance of labels is 0.5 between prompts, 1 between candidates and 0.8 of annotators.
        labels = rng.normal(0, 0.5**0.5, prompts)[of] + rng.normal(0, 1, prompts * 3)[units]
        return labels + rng.normal(0, 0.8**0.5, len(units)), units, of, 1 - 0.8 / 2.3
    # A prompt is of one of two kinds, each with its own chances of the categories.
    chances = np.array([[0.2, 0.8], [0.7, 0.3]]) if law == "nominal" else np.array([[0.6, 0.3, 0.1], [0.1, 0.3, 0.6]])
    kind = rng.integers(0, 2, prompts)[of]
    labels = (rng.random(len(units))[:, None] > chances.cumsum(axis=1)[kind]).sum(axis=1).astype(float)
    margin = chances.mean(axis=0)
    place = margin.cumsum() - margin / 2
    differ = (place[:, None] - place) ** 2 if law == "ordinal" else 1 - np.eye(len(margin))
    met = np.mean([np.outer(one, one) for one in chances], axis=0)
    return labels, units, of, 1 - (met * differ).sum() / (np.outer(margin, margin) * differ).sum()


@pytest.mark.slow
@pytest.mark.parametrize("prompts", [40, 150])
@pytest.mark.parametrize("level", LEVELS)
def test_coverage_of_alpha(level, prompts):
    """Intervals hold the alpha of the population about as often as they say."""
    rng = np.random.default_rng(20261124)
    held, found = [], []
    for _draw in range(1000):
        labels, units, of, truth = drawn(rng, prompts, level)
        one = krippendorff_alpha(labels, units, of, level)
        held.append(one.low <= truth <= one.high)
        found.append(one.estimate)
    assert np.mean(found) == pytest.approx(truth, abs=0.012)
    assert 0.925 <= np.mean(held) <= 0.98
