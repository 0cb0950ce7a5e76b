"""A judge of pairs against preferences of people: figures, coverage, document, words, command."""

from __future__ import annotations

import itertools
import json
import math
from statistics import fmean

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import bonwise as bw
from bonwise.errors import FileError
from bonwise.report.numbers import estimate
from bonwise.report.show import page, text
from bonwise.votes.front import study_preferences
from bonwise.votes.preferences import PREFERENCE_METRICS, preference_jackknife
from cli.commands import CONTROL, strict, typed, written
from report.readers import HOSTILE, harmless, lost, words
from results.round_trips import read_back, refusal
from votes.preference_laws import SHARES, published, tried, uneven, with_ties

VALUES = st.sampled_from([0.0, 0.5, 1.0])
BINARY = st.sampled_from([0.0, 1.0])


@st.composite
def verdicts(draw, values=VALUES, most=14):
    """Draw pairs as (J, O, prompt, context), several pairs a prompt, two prompts or more, each in one context."""
    home = draw(st.lists(st.integers(0, 3), min_size=2, max_size=7))
    prompts = [0, 1, *draw(st.lists(st.integers(0, len(home) - 1), max_size=most))]
    return [(draw(values), draw(values), prompt, home[prompt]) for prompt in prompts]


def arrays(pairs):
    """Lay pairs out as the arrays that the estimator takes."""
    return tuple(np.array(column) for column in zip(*pairs, strict=True))


def estimated(pairs):
    """Return the estimates by name."""
    return dict(zip(PREFERENCE_METRICS, preference_jackknife(*arrays(pairs)).estimate, strict=True))


def over(numerator, denominator):
    """Divide, or say that it cannot be done."""
    return numerator / denominator if abs(denominator) > 1e-12 else math.nan


def reach(*variances):
    """Return the most that a covariance can be, nothing where a variance is but rounding."""
    return math.sqrt(math.prod(variances)) if min(variances) > 1e-12 else 0.0


def twin(pairs):
    """Work the metrics out once more in plain loops, from the definitions, one context after the other."""
    n = len(pairs)
    groups = [[pair for pair in pairs if pair[3] == x] for x in {pair[3] for pair in pairs}]

    def inside(first, second, group):
        means = [fmean(pair[at] for pair in group) for at in (first, second)]
        return sum((pair[first] - means[0]) * (pair[second] - means[1]) for pair in group)

    def split(first, second):
        some = [group for group in groups if len(group) > 1]
        total = inside(first, second, pairs) / n
        for group in some:
            total += (len(group) / n) ** 2 * inside(first, second, group) / (len(group) - 1) / len(group)
        if not some:
            return total, math.nan, math.nan
        lent = sum(inside(first, second, group) / (len(group) - 1) * len(group) for group in some)
        lent /= sum(len(group) for group in some)
        within = 0.0
        for group in groups:
            within += len(group) / n * lent
        return total, total - within, within

    def correlation(*parts):
        cov, var_J, var_O = (sum(inside(*at, part) for part in parts) / n for at in ((0, 1), (0, 0), (1, 1)))
        return over(cov, reach(var_J, var_O))

    cov, var_O = split(0, 1), split(1, 1)
    return {
        "agreement": fmean(1 - abs(pair[0] - pair[1]) for pair in pairs),
        "judge_tie_rate": fmean(pair[0] == 0.5 for pair in pairs),
        "phi": correlation(pairs),
        "phi_within": correlation(*groups),
        "covariance": cov[0],
        "covariance_between": cov[1],
        "covariance_within": cov[2],
        "covariance_between_share": over(cov[1], cov[0]),
        "oracle_variance": var_O[0],
        "oracle_variance_between": var_O[1],
        "oracle_variance_within": var_O[2],
        "oracle_between_share": over(var_O[1], var_O[0]),
    }


@given(verdicts())
@settings(max_examples=150)
def test_estimates_are_those_of_plain_loops(pairs):
    """Every metric is the definition, worked out context by context."""
    found, expected = estimated(pairs), twin(pairs)
    assert list(found) == list(expected)
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, abs=1e-9, nan_ok=True), name


@given(verdicts())
@example([(0.0, 0.0, 0, 0), (0.0, 0.5, 1, 1), (0.0, 0.0, 0, 0), (0.5, 1.0, 0, 0), (0.5, 0.5, 1, 1)])
@settings(max_examples=80)
def test_errors_are_those_of_leaving_prompts_out(pairs):
    """A standard error is that of the estimates with each prompt's pairs deleted in turn."""
    found = preference_jackknife(*arrays(pairs))
    prompts = sorted({pair[2] for pair in pairs})
    n = len(prompts)
    left = [twin([pair for pair in pairs if pair[2] != prompt]) for prompt in prompts]
    for name, se in zip(PREFERENCE_METRICS, found.se, strict=True):
        values = [one[name] for one in left]
        expected = math.sqrt((n - 1) / n * sum((v - fmean(values)) ** 2 for v in values))
        assert se == pytest.approx(expected, abs=1e-7, nan_ok=True), name


def test_one_prompt_has_no_error():
    """A single prompt has estimates and no standard error, and no warning on the way."""
    found = preference_jackknife(*arrays([(1.0, 1.0, 0, 0), (0.0, 1.0, 0, 0)]))
    assert found.estimate[0] == 0.5
    assert np.isnan(found.se).all()


@given(verdicts(most=40))
@settings(max_examples=150)
def test_totals_are_between_plus_within(pairs):
    """Covariance and oracle variance are the sum of their parts, undefined where no context has two pairs."""
    found = estimated(pairs)
    single = all([pair[3] for pair in pairs].count(x) == 1 for x in {pair[3] for pair in pairs})
    for name in ("covariance", "oracle_variance"):
        parts = [found[f"{name}_{part}"] for part in ("between", "within")]
        assert np.isnan(parts).all() if single else found[name] == pytest.approx(sum(parts), abs=1e-12)
    assert single or found["oracle_variance_within"] >= -1e-12


RATES = ((0.2, 0.7, 3), (0.9, 0.8, 2), (0.5, 0.6, 4))  # P(O = 1), P(J = O) and pairs of each context


@pytest.mark.parametrize("singles", [0, 1])
def test_the_parts_are_those_of_the_rates_over_every_outcome(singles):
    """The mean over all outcomes is exact: between is the spread of the rates, within the mean of what is inside."""
    contexts = RATES + ((0.5, 0.5, 1),) * singles
    homes = [x for x, (_, _, n) in enumerate(contexts) for _ in range(n)]
    weight = np.array([n for _, _, n in contexts]) / len(homes)
    rates, right = np.array([one[:2] for one in contexts]).T
    says = rates * right + (1 - rates) * (1 - right)
    expected = np.zeros(len(PREFERENCE_METRICS))
    for outcome in itertools.product((0.0, 1.0), repeat=len(homes)):
        chance = math.prod(rates[x] if one else 1 - rates[x] for one, x in zip(outcome, homes, strict=True))
        agree = [right[x] if one else 1 - right[x] for one, x in zip(outcome, homes, strict=True)]
        # The covariance is linear in the verdicts of the judge, so their means stand for them.
        pairs = [(p, o, at, x) for at, (p, o, x) in enumerate(zip(agree, outcome, homes, strict=True))]
        expected += chance * preference_jackknife(*arrays(pairs)).estimate
    found = dict(zip(PREFERENCE_METRICS, expected, strict=True))
    several = weight[:3] / weight[:3].sum()
    inside = {"covariance": rates * right - rates * says, "oracle_variance": rates * (1 - rates)}
    means = {"covariance": says, "oracle_variance": rates}
    for name, own in inside.items():
        assert found[f"{name}_within"] == pytest.approx(several @ own[:3])
        if not singles:
            about = (rates - weight @ rates) * (means[name] - weight @ means[name])
            assert found[f"{name}_between"] == pytest.approx(weight @ about)


def test_a_table_worked_by_hand():
    """Two contexts of four pairs: all of the judge's covariance lies between, and it chooses at random within."""
    # Context 0: O = 1 1 1 0, J = 1 1 1 1, so rates 3/4 and 1. Context 1: O = 0 0 0 1, J = 0 0 0 0: 1/4 and 0.
    oracle, judge = [1, 1, 1, 0, 0, 0, 0, 1], [1, 1, 1, 1, 0, 0, 0, 0]
    found = estimated([(float(j), float(o), x, x // 4) for x, (j, o) in enumerate(zip(judge, oracle, strict=True))])
    assert found["agreement"] == 0.75
    assert found["phi"] == pytest.approx(0.5)  # (3/8 - 1/4) / (1/2 * 1/2)
    assert found["covariance"] == pytest.approx(1 / 8)
    assert found["covariance_between"] == pytest.approx(1 / 8)  # deviations of rates: +-1/4 times +-1/2
    assert found["covariance_within"] == pytest.approx(0)
    assert found["covariance_between_share"] == pytest.approx(1)
    # Squares within a context add to 3/4. Within: 3/4 / 3 in both. Total: 2/8 + 2 (4/8)^2 (3/4) / (3 * 4).
    assert found["oracle_variance"] == pytest.approx(9 / 32)
    assert found["oracle_variance_between"] == pytest.approx(1 / 32)
    assert found["oracle_variance_within"] == pytest.approx(1 / 4)
    assert found["oracle_between_share"] == pytest.approx(1 / 9)
    assert math.isnan(found["phi_within"])  # the judge never varies within a context


def test_a_context_of_one_pair_is_lent_what_the_others_have_within():
    """Labels 1 1 0, then 0 0, then 1 alone: the single pair counts in the total, and has the others' part within."""
    homes, labels = (0, 0, 0, 1, 1, 2), (1.0, 1.0, 0.0, 0.0, 0.0, 1.0)
    found = estimated([(1.0, labels[at], at, home) for at, home in enumerate(homes)])
    # Within: (3 (2/3) / 2 + 0) / 5. Total: 1.5 / 6 + (3/6)^2 (2/3) / (2 * 3).
    assert found["oracle_variance_within"] == pytest.approx(1 / 5)
    assert found["oracle_variance"] == pytest.approx(10 / 36)
    assert found["oracle_between_share"] == pytest.approx(0.28)


def test_a_share_may_be_negative():
    """Two contexts with the labels 1 and 0 differ less than by chance: within 1/2, total 1/4 + 2 (1/4) (1/2) / 2."""
    found = estimated([(1.0, float(at % 2), at, at // 2) for at in range(4)])
    assert found["oracle_variance"] == pytest.approx(3 / 8)
    assert found["oracle_variance_between"] == pytest.approx(-1 / 8)
    assert found["oracle_between_share"] == pytest.approx(-1 / 3)


def test_one_context_has_nothing_between():
    """Where all pairs belong to one context the whole lies within, with the divisor of an unbiased variance."""
    labels = [1.0, 1.0, 0.0, 1.0, 0.0]
    found = estimated([(1 - o, o, at, 0) for at, o in enumerate(labels)])
    assert found["oracle_variance"] == pytest.approx(np.var(labels, ddof=1))
    assert found["covariance"] == pytest.approx(-np.var(labels, ddof=1))
    assert found["oracle_between_share"] == pytest.approx(0, abs=1e-12)


def test_a_tie_counts_half():
    """A tied verdict agrees by half with either oracle, and is counted as a tie."""
    found = estimated([(0.5, 1.0, 0, 0), (0.5, 0.0, 1, 0), (1.0, 1.0, 2, 0), (0.0, 0.5, 3, 0)])
    assert found["agreement"] == pytest.approx((0.5 + 0.5 + 1 + 0.5) / 4)
    assert found["judge_tie_rate"] == 0.5


@given(verdicts(values=BINARY, most=30))
@settings(max_examples=60)
def test_phi_within_is_the_correlation_of_deviations(pairs):
    """phi_within is the correlation once each context's own rates were taken off; with one context it is phi."""
    judge, oracle, _, context = arrays(pairs)
    for x in np.unique(context):
        judge[context == x] -= judge[context == x].mean()
        oracle[context == x] -= oracle[context == x].mean()
    expected = over(judge @ oracle, math.sqrt((judge @ judge) * (oracle @ oracle)))
    assert estimated(pairs)["phi_within"] == pytest.approx(expected, abs=1e-9, nan_ok=True)
    one = estimated([(j, o, at, 0) for j, o, at, _ in pairs])
    assert one["phi_within"] == pytest.approx(one["phi"], abs=1e-9, nan_ok=True)


@given(verdicts())
@settings(max_examples=60)
def test_turning_every_pair_round_changes_nothing(pairs):
    """Which candidate comes first is a convention: 1 - J and 1 - O have the same figures."""
    turned = [(1 - j, 1 - o, prompt, context) for j, o, prompt, context in pairs]
    for name, value in estimated(pairs).items():
        assert estimated(turned)[name] == pytest.approx(value, abs=1e-9, nan_ok=True), name


@given(verdicts(), st.randoms(use_true_random=False))
@settings(max_examples=40)
def test_order_and_names_say_nothing(pairs, rng):
    """Shuffled pairs under other numbers for prompts and contexts have the same estimates and errors."""
    renamed = [(j, o, 10 + 7 * prompt, 9 - context) for j, o, prompt, context in pairs]
    rng.shuffle(renamed)
    plain, other = preference_jackknife(*arrays(pairs)), preference_jackknife(*arrays(renamed))
    assert other.estimate == pytest.approx(plain.estimate, abs=1e-9, nan_ok=True)
    assert other.se == pytest.approx(plain.se, abs=1e-7, nan_ok=True)


def test_perfect_and_contrary_judges():
    """A judge that says what the oracle says has phi 1, one that says the contrary -1, within contexts too."""
    pairs = [(float(x % 3 == 0), float(x % 3 == 0), x, x % 2) for x in range(24)]
    perfect, contrary = estimated(pairs), estimated([(1 - j, o, p, x) for j, o, p, x in pairs])
    for name in ("phi", "phi_within"):
        assert perfect[name] == pytest.approx(1)
        assert contrary[name] == pytest.approx(-1)
    assert (perfect["agreement"], contrary["agreement"]) == (1, 0)


# The shares between contexts, with known truth: their mean and how often their intervals hold them.


# Contexts and pairs of each (0: one to ten), then without and with rates that differ between contexts: the truth, and
# how often the interval of the oracle's share held it in 400 published samples.
PUBLISHED = {
    (40, 3): ((0, 1.000), (0.085, 0.985)),
    (40, 8): ((0, 0.993), (0.085, 0.990)),
    (20, 20): ((0, 0.990), (0.092, 0.973)),
    (6, 50): ((0, 0.970), (0.071, 0.940)),
    (40, 0): ((0, 0.993), (0.083, 0.988)),
}
CASES = [(*case, at == 0, *row) for case, rows in PUBLISHED.items() for at, row in enumerate(rows)]
FEWEST = 0.93


def held(found, truth):
    """Return how often the interval of each share holds its truth."""
    return np.array(
        [
            np.mean((found[:, at, 1] <= truth[name]) & (truth[name] <= found[:, at, 2]))
            for at, name in enumerate(SHARES)
        ]
    )


def check(law, samples):
    """Check the means of both shares and the coverage of their intervals; return the samples."""
    found, truth = tried(law, samples, [3, 17]), law.truth()
    noise = found[:, :, 0].std(axis=0) / np.sqrt(samples)
    # Ratios of few pairs lean a little towards 0.
    assert found[:, :, 0].mean(axis=0) == pytest.approx(list(truth.values()), abs=4 * noise.max() + 0.012)
    assert (held(found, truth) > FEWEST - 3 * np.sqrt(FEWEST * (1 - FEWEST) / samples)).all()
    return found


@pytest.mark.parametrize(("contexts", "pairs", "nothing", "truth", "_"), CASES)
def test_the_published_shares_are_unbiased_and_held(contexts, pairs, nothing, truth, _):
    """Where nothing lies between, the share is 0 on average and seldom found above it: 100 samples."""
    law = published(contexts, pairs, nothing_between=nothing)
    assert list(law.truth().values()) == pytest.approx([truth, truth], abs=5e-4)
    found = check(law, 100)
    assert not nothing or np.mean(found[:, :, 1] > 0) <= 0.02


@pytest.mark.slow
@pytest.mark.parametrize(("contexts", "pairs", "nothing", "_", "cover"), CASES)
def test_the_published_coverage_in_full(contexts, pairs, nothing, _, cover):
    """The same with 2,000 samples: the coverage published, and 0 excluded from below in at most 1 % of them."""
    law = published(contexts, pairs, nothing_between=nothing)
    found = check(law, 2000)
    error = 3 * np.sqrt(cover * (1 - cover) * (1 / 400 + 1 / 2000)) + 0.005
    assert held(found, law.truth())[0] == pytest.approx(cover, abs=error)
    assert not nothing or np.mean(found[:, :, 1] > 0, axis=0).max() <= 0.01


OWN = {"uneven": uneven, "ties": with_ties}


@pytest.mark.parametrize("law", OWN)
def test_the_shares_hold_on_laws_that_nobody_tuned_them_to(law):
    """Contexts of 1 to 60 pairs with a judge that depends on them, and verdicts with ties: 100 samples."""
    check(OWN[law](), 100)


@pytest.mark.slow
@pytest.mark.parametrize("law", OWN)
def test_the_shares_hold_on_laws_that_nobody_tuned_them_to_in_full(law):
    """The same with 2,000 samples."""
    check(OWN[law](), 2000)


def audited(verdicts=("v",), **settings):
    """Return the document of an audit of forty verdicts, one of them without a label."""
    gold = np.random.default_rng(6).integers(1, 3, 40).astype(float)
    columns = {"item": range(40), "set": list("ab") * 20, "v": np.roll(gold, 1), "w": np.roll(gold, 2)}
    frame = pd.DataFrame({**columns, "gold": np.where(np.arange(40) == 3, np.nan, gold)})
    given = {"verdict_col": verdicts, "label_col": "gold", "prompt_col": ["item"], "context_col": ["set"], **settings}
    return bw.audit_preferences(frame, **given)


@pytest.mark.parametrize("verdicts", [("v",), ("v", "w")], ids=len)
def test_what_is_written_is_read_back(tmp_path, verdicts):
    """A document of one order and one of two are read back; their frames are those of the results."""
    document = audited(verdicts)
    loaded = read_back(document, tmp_path)
    pd.testing.assert_frame_equal(loaded.to_frame(), document.to_frame())
    assert loaded.judges["judge"].data.dropped == {"no label": 1}


def test_a_key_that_says_nothing_is_absent():
    """Agreement of orders is a key where there are two orders, and no key where there is one."""
    assert "order_agreement" not in audited().to_dict()["judges"]["judge"]["metrics"]
    assert list(audited(("v", "w")).to_dict()["judges"]["judge"]["metrics"])[-1] == "order_agreement"


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        ("judges.judge.metrics.agreement.estimate", "0.5"),
        ("judges.judge.metrics.phi", ...),
        ("judges.judge.data.pairs", -1),
        ("judges.judge.data.dropped", {"lost": 1}),
        ("judges", {}),
        ("settings.confidence", 95.0),
        ("settings.verdicts", []),
        ("settings.more", 1),
        ("data.contexts", 1.5),
    ],
)
def test_what_cannot_be_is_refused(tmp_path, keys, value):
    """A value of another kind, a missing key and an unknown one are refused by their name."""
    assert keys in refusal(audited(), tmp_path, keys, value)


def test_orders_that_do_not_agree_with_the_settings_are_refused(tmp_path):
    """Agreement of orders cannot stand beside one column of verdicts."""
    assert "order_agreement of 'judge'" in refusal(audited(("v", "w")), tmp_path, "settings.verdicts", ["v"])


BETWEEN = "cov between: the share of Cov(J, O) that lies between contexts"


def test_one_row_per_judge():
    """The text names source, oracle and orders, and has a row of figures; what was left out is counted."""
    document = audited(("v", "w"))
    found = document.judges["judge"].metrics
    said = text(document, full=True)
    assert "\n\nPairwise verdicts of table, against gold\n2 contexts; both presentation orders averaged" in said
    (row,) = (line.split() for line in said.splitlines() if line.startswith("judge") and " 39 " in line)
    assert row[:4] == ["judge", "39", "39", estimate(found.agreement, "share")]
    assert estimate(found.order_agreement, "share") in row
    assert "1 row left out: no verdict in every order, or no label" in said
    assert "orders: how often" in said
    assert BETWEEN in said


def test_one_order_has_no_column_of_orders():
    """Where verdicts were asked for in one order nothing is said of their agreement."""
    said = text(audited(), full=True)
    assert "one presentation order; intervals at 95%" in said
    assert "orders" not in said


def test_the_page_holds_what_the_text_holds():
    """Every word of the text is on the page, with the settings."""
    document = audited(("v", "w"))
    assert not lost(document)
    assert "95%, clustered by prompt" in words(page(document))


def test_names_stay_text():
    """Judges, columns and sources are text wherever they are shown; a long name is shortened in the table."""
    frame = pd.DataFrame({"item": range(8), HOSTILE: [1, 2] * 4, "v": [1, 2, 2, 2] * 2, "j": HOSTILE + "n" * 50})
    found = bw.audit_preferences(frame, verdict_col=["v"], label_col=HOSTILE, prompt_col=["item"], judge_col=["j"])
    shown = harmless(found)
    assert "n" * 40 not in shown[0]


ROWS = [
    {
        "one": "x",
        "two": "y",
        "won": ("model_a", "model_b", "model_b", "tie")[at % 4],
        "q": at % 7,
        "gold": 1,
        "who": "j",
    }
    for at in range(48)
]
VOTES = ("--verdict-col", "won", "--pair-col", "one,two")


@pytest.fixture
def source(tmp_path):
    """Write votes with ties."""
    return written(tmp_path / "votes.csv", ROWS)


def test_votes_are_studied_without_labels(capsys, source):
    """Without labels the command gives the document of the call in Python, strict JSON, words on standard error."""
    done = typed(capsys, "preferences", source, *VOTES, "--prompt-col", "q", "--ties", "drop", "--json", "-")
    called = study_preferences(
        source, verdict_col="won", pair_col=["one", "two"], prompt_col="q", ties="drop"
    ).to_dict()
    assert done.code == 0
    assert strict(done.out) == json.loads(json.dumps(called))
    assert strict(done.out)["schema"] == "bonwise.votes/1"
    assert "ties: drop. 12 votes are ties" in done.err


def test_the_page_is_readable(capsys, source):
    """The page names the encoding of ties and which model is first, and holds no control character."""
    done = typed(capsys, "preferences", source, *VOTES, "--prompt-col", "q", "--ties", "pessimistic", "--full")
    assert done.code == 0
    assert "a tie counts for the second model, against the first" in done.out
    assert "alphabetical order" in done.out
    assert not CONTROL.search(done.out)


def test_ties_count_half_unless_something_else_is_said(capsys, source):
    """The first command works, and says how ties count."""
    done = typed(capsys, "preferences", source, *VOTES)
    assert done.code == 0
    assert "ties: half." in done.out
    assert done.out == typed(capsys, "preferences", source, *VOTES, "--ties", "half").out


@pytest.mark.parametrize(
    ("flags", "word"),
    [
        (("--verdict-col", "won", "--pair-col", "one"), "--pair-col"),
        ((*VOTES, "--ties", "drop", "--judge-col", "who"), "--judge-col"),
        ((*VOTES, "--ties", "drop", "--context-col", "who"), "--context-col"),
        ((*VOTES, "--ties", "drop", "--verdict-col", "gold"), "several columns"),
        ((*VOTES, "--ties", "other"), "pessimistic"),
        ((*VOTES, "--ties", "drop", "--fewest-votes", "900"), "--fewest-votes"),
        ((*VOTES, "--label-col", "gold", "--prompt-col", "x"), "no column named 'x'"),
        ((*VOTES, "--label-col", "gold", "--prompt-col", "q", "--ties", "drop"), "--ties"),
        ((*VOTES, "--label-col", "gold", "--prompt-col", "q", "--near-tie", "0.1"), "--near-tie"),
    ],
)
def test_no_flag_is_passed_over(capsys, source, flags, word):
    """A flag of the other mode, or one that is missing, is refused by name."""
    done = typed(capsys, "preferences", source, *flags)
    assert done.code == 2
    assert word in done.err


def test_with_labels_verdicts_are_audited_as_before(capsys, tmp_path):
    """With --label-col the command audits verdicts against the oracle."""
    rows = [{"i": x, "v": x % 2 + 1, "gold": 1 + x % 3 % 2} for x in range(12)]
    source = written(tmp_path / "v.csv", rows)
    flags = ("--verdict-col", "v", "--label-col", "gold", "--prompt-col", "i", "--json", "-")
    assert strict(typed(capsys, "preferences", source, *flags).out)["schema"] == "bonwise.preferences/1"


def test_a_last_row_that_was_cut_off_is_left_out_and_named(tmp_path):
    """Of votes, and of verdicts with labels beside them or in a second file; a file of labels has to be whole."""
    rows = [f"{at},a,b,{'ab'[at % 2]},{'aab'[at % 3]}" for at in range(30)]
    cut = tmp_path / "v.csv"
    cut.write_text("\n".join(["question_id,model_a,model_b,winner,human", *rows, "9,a"]), "utf-8")
    whole = pd.read_csv(cut).iloc[:-1].astype({"question_id": str})
    beside = {"verdict_col": "winner", "label_col": "human", "prompt_col": "question_id"}
    joined = {**beside, "labels": whole.drop(columns="winner")}
    calls = [lambda votes: study_preferences(votes, verdict_col="winner")]
    calls += [lambda votes, flags=flags: bw.audit_preferences(votes, **flags) for flags in (beside, joined)]
    for call in calls:
        read, other = call(cut).to_dict(), call(whole).to_dict()
        left_out = "1 row was left out, because the file ends within it: row 32 (2 of 5 cells)"
        assert read["settings"]["readings"]["columns"].endswith(f"; {left_out}")
        assert {**read, "settings": None} == {**other, "settings": None}
    with pytest.raises(FileError, match="ends within it"):
        bw.audit_preferences(whole, **{**joined, "labels": cut})


def test_names_of_models_are_printed_literally(capsys, tmp_path):
    """Markup, escapes and line breaks in names of models reach no terminal as such."""
    rows = [{**row, "one": "x[bold]\x1b[31m\n"} for row in ROWS]
    source = written(tmp_path / "votes.csv", rows)
    done = typed(capsys, "preferences", source, *VOTES, "--ties", "drop")
    assert done.code == 0
    assert "x[bold]" in done.out
    assert not CONTROL.search(done.out)


@pytest.mark.shared
def test_the_mt_bench_command(capsys, shared):
    """The votes of MT-Bench are studied as they lie."""
    source = shared / "data" / "mt_bench_human.csv"
    flags = (
        "--verdict-col",
        "winner",
        "--pair-col",
        "model_a,model_b",
        "--prompt-col",
        "question_id",
        "--ties",
        "drop",
    )
    done = typed(capsys, "preferences", source, *flags)
    assert done.code == 0
    assert "2,575 votes on 15 pairs of 6 models for 80 prompts" in done.out
    assert "left out: tie (780)" in done.out
