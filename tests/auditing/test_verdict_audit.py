from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest

import bonwise as bw
from bonwise.errors import ColumnError, InputError, RowError, UsageError
from bonwise.report.numbers import estimate

SHARES = ("agreement", "judge_tie_rate", "order_agreement")
LLMBAR = {
    "verdict_col": ["winner_order1", "winner_order2"],
    "label_col": "gold",
    "prompt_col": ["dataset", "item"],
    "judge_col": ["llm", "strategy"],
    "context_col": ["dataset"],
}


def audited(rows, columns="item set v gold", **settings):
    """Audit rows given as tuples."""
    frame = pd.DataFrame(rows, columns=columns.split())
    asked = {"verdict_col": ["v"], "label_col": "gold", "prompt_col": ["item"], "context_col": ["set"], **settings}
    return bw.audit_preferences(frame, **asked)


def metrics_of(audit):
    """Return the metrics of each judge."""
    return {name: judge.metrics for name, judge in audit.judges.items()}


@pytest.fixture(scope="module")
def raw(shared):
    """Read the LLMBar verdicts."""
    return pd.read_csv(shared / "data" / "llmbar_verdicts.csv.gz")


@pytest.fixture(scope="module")
def llmbar(shared):
    """Audit the LLMBar verdicts, both orders averaged, split by data set."""
    return bw.audit_preferences(shared / "data" / "llmbar_verdicts.csv.gz", **LLMBAR)


def test_every_llmbar_judge_is_audited(llmbar, raw):
    """The 44 judges each have all metrics, and their prompts and dropped rows add up to their rows in the file."""
    assert len(llmbar.judges) == 44
    rows = (raw["llm"] + " / " + raw["strategy"]).value_counts()
    for name, judge in llmbar.judges.items():
        assert "order_agreement" in judge.metrics
        dropped = judge.data.dropped
        assert set(dropped) <= {"no verdict", "no label"}
        assert judge.data.prompts + sum(dropped.values()) == rows[name]
    blank = raw[["winner_order1", "winner_order2"]].isna().any(axis=1)
    assert sum(sum(judge.data.dropped.values()) for judge in llmbar.judges.values()) == blank.sum() > 0


def test_llmbar_agreement_is_that_of_plain_counting(llmbar, raw):
    """Each judge's agreement is the mean over both orders, so that verdicts which contradict each other count 1/2."""
    whole = raw.dropna(subset=["winner_order1", "winner_order2"])
    right = ((whole["winner_order1"] == whole["gold"]).astype(float) + (whole["winner_order2"] == whole["gold"])) / 2
    same = (whole["winner_order1"] == whole["winner_order2"]).astype(float)
    by = whole["llm"] + " / " + whole["strategy"]
    for name, metrics in metrics_of(llmbar).items():
        assert metrics["agreement"].estimate == pytest.approx(right[by == name].mean(), abs=1e-12), name
        assert metrics["order_agreement"].estimate == pytest.approx(same[by == name].mean(), abs=1e-12), name
        assert metrics["judge_tie_rate"].estimate == pytest.approx(1 - same[by == name].mean(), abs=1e-12), name


@pytest.mark.parametrize(("strategy", "agreement"), [("Vanilla", 0.845), ("Rating", 0.839), ("Swap", 0.808)])
def test_gpt4_agrees_with_the_human_label(llmbar, strategy, agreement):
    """GPT-4 agrees with the human label in about .81 to .84 of the pairs, within an interval narrower than .1."""
    found = llmbar.judges[f"GPT-4 / {strategy}"].metrics["agreement"]
    assert found.estimate == pytest.approx(agreement, abs=5e-4)
    assert found.low < agreement < found.high
    assert found.high - found.low < 0.1


def test_llmbar_parts_add_up(llmbar):
    """Between and within add up for every judge, and an interval holds its estimate."""
    for metrics in metrics_of(llmbar).values():
        for name in ("covariance", "oracle_variance"):
            parts = [metrics[f"{name}_{part}"].estimate for part in ("between", "within")]
            assert metrics[name].estimate == pytest.approx(sum(parts), abs=1e-12)
        for name, found in dict(metrics).items():
            if found.low is not None:
                assert found.low <= found.estimate <= found.high, name
                if name in SHARES:
                    assert found.low >= 0, name
                    assert found.high <= 1, name


def test_the_document_is_strict_json(llmbar):
    """The document holds no NaN, repeats what was asked, and counts prompts and dropped rows."""
    document = json.loads(json.dumps(llmbar.to_dict(), allow_nan=False))
    assert document["schema"] == "bonwise.preferences/1"
    roles = ["verdicts", "oracle", "prompt", "judge", "context"]
    assert [document["settings"][role] for role in roles] == list(LLMBAR.values())
    assert document["settings"]["version"] == bw.__version__
    for judge in document["judges"].values():
        for found in judge["metrics"].values():
            assert found["estimate"] is not None or found["reason"]


def test_the_page_has_a_row_a_judge(llmbar):
    """Printed, each judge has one row with its prompts and agreement."""
    text = llmbar.to_text(full=True)
    for name, metrics in metrics_of(llmbar).items():
        (row,) = (line for line in text.splitlines() if line.startswith(f"{name} "))
        assert estimate(metrics["agreement"], "share") in row


WORDS = [("1", "2"), ("a", "b"), ("A", " B "), ("model_a", "model_b"), ("first", "second"), (1, 2), (1.0, 2.0)]


@pytest.mark.parametrize(("first", "second"), WORDS, ids=repr)
def test_verdicts_may_be_written_in_many_ways(first, second):
    """Numbers, letters and model_a, in any case, say the same."""
    said = [first, second, first, second]
    found = audited([(x, "s", v, g) for x, (v, g) in enumerate(zip(said, [1, 2, 2, 2], strict=True))])
    assert found.judges["judge"].metrics["agreement"].estimate == 0.75


def test_two_orders_are_averaged():
    """Verdicts that contradict each other are a tie and count 1/2; the share of consistent ones is reported."""
    rows = [(0, "s", 1, 1, 1), (1, "s", 1, 2, 1), (2, "s", 2, 1, 2), (3, "s", 2, 2, 1)]
    found = audited(rows, "item set v w gold", verdict_col=["v", "w"]).judges["judge"].metrics
    assert found["agreement"].estimate == pytest.approx((1 + 0.5 + 0.5 + 0) / 4)
    assert found["judge_tie_rate"].estimate == 0.5
    assert found["order_agreement"].estimate == 0.5
    assert "order_agreement" not in audited([row[:3] + row[4:] for row in rows]).judges["judge"].metrics


@pytest.mark.parametrize(
    ("verdict", "gold", "reason"), [(None, 1, "no verdict"), (1, None, "no label"), ("", 1, "no verdict")]
)
def test_rows_without_a_verdict_are_counted(verdict, gold, reason):
    """A row without a verdict in every order, or without a label, is left out, and counted by its reason."""
    rows = [(0, "s", 1, 1), (1, "s", 2, 2), (2, "s", 2, 1), (3, "s", verdict, gold)]
    found = audited(rows)
    assert found.judges["judge"].data.dropped == {reason: 1}
    assert found.judges["judge"].data.prompts == 3
    assert found.judges["judge"].metrics["agreement"].estimate == pytest.approx(2 / 3)


def test_a_verdict_in_one_order_only_is_none():
    """Where one of two orders is blank the row is left out rather than taken for the other."""
    rows = [(0, "s", 1, 1, 1), (1, "s", 2, 2, 2), (2, "s", 1, None, 1)]
    assert audited(rows, "item set v w gold", verdict_col=["v", "w"]).judges["judge"].data.dropped == {
        "no verdict": 1
    }


@pytest.mark.parametrize("bad", ["3", "yes", "0", "c", "2.5", "tied?"])
def test_a_verdict_that_is_none_is_refused_with_its_row(tmp_path, bad):
    """Text that names neither candidate is refused with file, row and what it says, and never counted."""
    path = tmp_path / "v.csv"
    path.write_text(f"item,v,gold\na,1,1\nb,{bad},2\n", encoding="utf-8")
    with pytest.raises(RowError, match="row 3") as caught:
        bw.audit_preferences(path, verdict_col=["v"], label_col="gold", prompt_col=["item"])
    assert repr(bad) in str(caught.value)
    with pytest.raises(RowError, match="row 1"):
        audited([(0, "s", 1, 1), (1, "s", 2, bad)])


@pytest.mark.parametrize(
    "asked",
    [
        {"verdict_col": ["x"]},
        {"label_col": "x"},
        {"prompt_col": ["x"]},
        {"judge_col": ["x"]},
        {"context_col": ["x"]},
        {"verdict_col": []},
    ],
    ids=str,
)
def test_columns_that_are_absent_are_refused(asked):
    """A column that is not there is named, with those that are; no verdict column at all is refused too."""
    with pytest.raises(ColumnError) as caught:
        audited([(0, "s", 1, 1), (1, "s", 2, 2)], **asked)
    assert "'x'" in str(caught.value) or not asked.get("verdict_col", True)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"verdict_col": ["v", "v"]}, "'v' is named twice"),
        ({"verdict_col": ["v", "gold"]}, "'gold' is a label column too"),
        ({"verdict_col": ["set"]}, "'set' is a context column too"),
    ],
    ids=str,
)
def test_a_verdict_column_is_nothing_else(asked, said):
    """One order taken for two would agree with itself, and labels taken for verdicts with themselves."""
    with pytest.raises(UsageError, match=said):
        audited([(0, "s", 1, 1), (1, "s", 2, 2)], "item set v gold", **asked)


def test_a_prompt_in_two_contexts_is_refused():
    """A prompt that is in two contexts cannot be left out of one, so it is refused by name."""
    with pytest.raises(InputError, match=r"'7'.*two contexts"):
        audited([(7, "s", 1, 1), (8, "s", 2, 2), (7, "t", 2, 2)], "item set v gold")


def test_a_pair_judged_twice_is_refused_with_its_row():
    """A second verdict of one judge on one prompt is refused with its row, and judge and prompt by name."""
    rows = [(0, "s", "j", 1, 1), (0, "s", "k", 1, 1), (1, "s", "j", 2, 2), (1, "s", "k", 2, 2), (0, "s", "j", 2, 1)]
    with pytest.raises(RowError, match=r"row 4: 'j'.*'0'"):
        audited(rows, "item set who v gold", judge_col=["who"])
    assert set(audited(rows[:4], "item set who v gold", judge_col=["who"]).judges) == {"j", "k"}


def test_nothing_to_audit_is_refused():
    """Without any row that has both a verdict and a label there is no audit."""
    with pytest.raises(InputError, match="no row"):
        audited([(0, "s", None, 1), (1, "s", 1, None)])


def test_several_columns_make_one_name():
    """Columns named together tell prompts apart, whatever is in them."""
    rows = [("x / y", "z", 1, 1), ("x", "y / z", 2, 2), ("x", "z", 2, 2)]
    found = audited(rows, "a b v gold", prompt_col=["a", "b"], context_col=[])
    assert found.judges["judge"].data.prompts == 3


def test_a_judge_that_always_says_the_same_has_no_correlation():
    """Where judge or oracle never varies, phi is undefined with its reason and agreement stands."""
    found = audited([(x, "s", 1, 1 + x % 2) for x in range(8)]).judges["judge"].metrics
    assert found["agreement"].estimate == 0.5
    for name in ("phi", "phi_within"):
        assert found[name].estimate is None
        assert "always says the same" in found[name].reason


def test_a_share_of_a_covariance_that_may_be_zero_is_undefined():
    """The between share divides by the covariance, so it is undefined while that cannot be told from zero."""
    rng = np.random.default_rng(4)
    rows = [(x, "st"[x % 2], rng.integers(1, 3), rng.integers(1, 3)) for x in range(40)]
    found = audited(rows).judges["judge"].metrics
    assert found["covariance"].low < 0 < found["covariance"].high
    assert found["covariance_between_share"].estimate is None
    assert found["covariance_between_share"].reason


def test_contexts_of_one_pair_are_counted_and_lent_the_part_within():
    """Two single pairs count in the totals; their number is in the document and in the text."""
    rows = [(x, "aaabbbcd"[x], 1 + x % 2, 1 + x % 3 % 2) for x in range(8)]
    found = audited(rows)
    assert found.judges["judge"].data.contexts_of_one_pair == 2
    assert found.to_dict()["judges"]["judge"]["data"]["contexts_of_one_pair"] == 2
    assert "Contexts with a single pair, per judge: 2. They count in the totals" in " ".join(str(found).split())
    metrics = found.judges["judge"].metrics
    assert metrics["oracle_variance"].n == 8
    without = audited(rows[:6])
    assert "contexts_of_one_pair" not in without.to_dict()["judges"]["judge"]["data"]
    assert (
        metrics["oracle_variance_within"].estimate
        == without.judges["judge"].metrics["oracle_variance_within"].estimate
    )


def test_contexts_of_single_pairs_alone_cannot_be_split():
    """Where no context has two pairs nothing tells chance from a difference: parts are undefined, totals stand."""
    metrics = audited([(x, x, 1 + x % 2, 1 + x % 3 % 2) for x in range(12)]).judges["judge"].metrics
    for name, found in dict(metrics).items():
        split = "between" in name or "within" in name
        assert (found.reason == "undefined: no context has two pairs") == split, name
        assert (found.estimate is None) == split, name


def test_a_negative_share_is_printed():
    """Contexts that differ less than by chance have a share below 0, in the table and in the document."""
    found = audited([(x, x // 2, 1 + x % 2, 1 + x % 2) for x in range(40)])
    share = found.judges["judge"].metrics["oracle_between_share"]
    # Within 1/2; the total 1/4 + 20 (2/40)^2 (1/2) / 2 = .2625.
    assert share.estimate == pytest.approx(-0.2375 / 0.2625)
    assert estimate(share, "share") in str(found)
    assert estimate(share, "share").startswith("-90")


def test_one_prompt_has_no_interval():
    """A single prompt has an agreement and no interval, with the reason."""
    found = audited([(0, "s", 1, 1)]).judges["judge"].metrics["agreement"]
    assert (found.estimate, found.low, found.high) == (1.0, None, None)
    assert found.reason


def test_agreement_of_all_is_no_certainty():
    """Ten pairs that all agree leave room for disagreement: the interval does not collapse to a point."""
    found = audited([(x, "s", 1 + x % 2, 1 + x % 2) for x in range(10)]).judges["judge"].metrics["agreement"]
    assert found.estimate == 1.0
    assert found.low < 1.0


def test_confidence_widens_intervals():
    """An interval at .99 holds the one at .8, and the settings say which was asked."""
    rows = [(x, "st"[x % 2], 1 + x % 2, 1 + x % 3 % 2) for x in range(40)]
    narrow, wide = (audited(rows, confidence=confidence) for confidence in (0.8, 0.99))
    first, second = (found.judges["judge"].metrics["agreement"] for found in (narrow, wide))
    assert second.low < first.low < first.high < second.high
    assert wide.to_dict()["settings"]["confidence"] == 0.99


@pytest.mark.parametrize("confidence", [95, 0, 1, -0.5, math.nan])
def test_a_confidence_that_is_none_is_refused(confidence):
    """A confidence outside the range that the audit of scores accepts is a usage error here too."""
    with pytest.raises(InputError):
        audited([(x, "s", 1 + x % 2, 1) for x in range(10)], confidence=confidence)


# Contexts and their rates: P(O = 1), and P(J = O), apart so that between and within parts both matter.
RATES = np.array([[0.2, 0.7], [0.5, 0.85], [0.8, 0.6], [0.65, 0.9]])


def simulated(rng, prompts=120):
    """Draw binary verdicts: a context a prompt, the oracle by its rate, the judge right by another."""
    context = rng.integers(0, len(RATES), prompts)
    oracle = rng.random(prompts) < RATES[context, 0]
    right = rng.random(prompts) < RATES[context, 1]
    judge = np.where(right, oracle, ~oracle)
    return pd.DataFrame({"item": np.arange(prompts), "set": context, "v": 2 - judge, "gold": 2 - oracle})


def truth():
    """Return the population's agreement and within-context covariance."""
    p, right = RATES.T
    says = p * right + (1 - p) * (1 - right)
    return {"agreement": right.mean(), "covariance_within": (p * right - p * says).mean()}


@pytest.mark.parametrize("metric", ["agreement", "covariance_within"])
def test_intervals_cover_the_truth(metric):
    """Over 300 simulated tables the 95 % interval holds the population's value at least 90 times in a hundred."""
    rng, value, held, estimates = np.random.default_rng(20261121), truth()[metric], 0, []
    asked = {"verdict_col": ["v"], "label_col": "gold", "prompt_col": ["item"], "context_col": ["set"]}
    for _ in range(300):
        found = bw.audit_preferences(simulated(rng), **asked).judges["judge"].metrics[metric]
        held += found.low <= value <= found.high
        estimates.append(found.estimate)
    assert held >= 270
    assert held <= 298
    assert np.mean(estimates) == pytest.approx(value, abs=0.01)
