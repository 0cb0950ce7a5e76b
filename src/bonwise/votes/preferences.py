"""Audit pairwise verdicts: agreement with the oracle, split between and within contexts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bonwise.arrays import Floats, Ints, Mask
from bonwise.errors import UsageError
from bonwise.estimates import estimate_records
from bonwise.release import release
from bonwise.results import given
from bonwise.stats import estimand, estimation, laws
from bonwise.stats.jackknife import Jackknife, Scatter, from_left_out, kurtosis_df
from bonwise.table import checks, labelled_verdicts, verdict_words, vote_columns, vote_rows
from bonwise.votes import preferences_result

if TYPE_CHECKING:
    from bonwise.table.reading import RowSource


PREFERENCE_METRICS = (
    "agreement",
    "judge_tie_rate",
    "phi",
    "phi_within",
    "covariance",
    "covariance_between",
    "covariance_within",
    "covariance_between_share",
    "oracle_variance",
    "oracle_variance_between",
    "oracle_variance_within",
    "oracle_between_share",
)


class _PairSums(NamedTuple):
    """Sums over pairs, then over contexts: S_uv within, with n_x / (n_x - 1), and n_x of those with several."""

    pairs: Floats
    J: Floats
    O: Floats
    JJ: Floats
    OO: Floats
    JO: Floats
    agree: Floats
    tied: Floats
    inside_JO: Floats
    inside_OO: Floats
    inside_JJ: Floats
    spread_JO: Floats
    spread_OO: Floats
    several: Floats


def preference_jackknife(J: Floats, O: Floats, prompt: Ints, context: Ints) -> Jackknife:
    """Estimate the decomposition and its standard errors, one prompt left out at a time.

    `J` and `O` are 1 where the first candidate is preferred, 0 where the second, 1/2 for a tie (for J also two
    presentation orders that contradict each other). The pairs of one prompt belong to one context.

    With S_x the sum of products of deviations in context x, ``within = sum n_x S_x / (n_x - 1) / sum n_x`` over the
    contexts of two pairs or more; a context of one pair is lent that. The total adds to the products about the
    overall means what estimating those costs, ``sum (n_x / N)^2 S_x / ((n_x - 1) n_x)``; between is the total minus
    within. Contexts are taken as given, and pairs as drawn one by one within them.
    """
    units, owner = np.unique(prompt, return_inverse=True)
    home = np.zeros(len(units), dtype=np.int64)
    home[owner] = context
    columns = (np.ones(len(J)), J, O, J * J, O * O, J * O, 1 - np.abs(J - O), (J == 0.5).astype(float))
    own = np.array([np.bincount(owner, weights=column) for column in columns])
    if len(units) < 2:
        alone = _pair_metrics(_PairSums(*own[:, 0], *_terms(own)[:, 0]))
        return from_left_out(alone, alone[:, None])
    by_context = np.array([np.bincount(home, weights=row) for row in own])
    terms = _terms(by_context)
    everything = np.concatenate([own.sum(axis=1), terms.sum(axis=1)])
    rest = by_context[:, home] - own
    left = np.concatenate([everything[:8, None] - own, everything[8:, None] - terms[:, home] + _terms(rest)])
    estimate, left_out = _pair_metrics(_PairSums(*everything)), _pair_metrics(_PairSums(*left))
    return from_left_out(estimate, left_out)


def _terms(sums: Floats) -> Floats:
    """Return what each context adds to the sums over contexts; an empty context adds nothing."""
    count, J, O, JJ, OO, JO = sums[:6]
    n = np.maximum(count, 1.0)
    inside = np.array([JO - J * O / n, OO - O * O / n, JJ - J * J / n])
    several = np.where(count > 1.5, count, 0.0)
    freed: Floats = np.divide(several, count - 1, out=np.zeros_like(several), where=several > 0)
    return np.concatenate([inside, inside[:2] * freed, several[None]])


def _pair_metrics(t: _PairSums) -> Floats:
    products = t.JO - t.J * t.O / t.pairs
    squares_O, squares_J = t.OO - t.O**2 / t.pairs, t.JJ - t.J**2 / t.pairs
    cov, var_O = _parts(t, products, t.spread_JO), _parts(t, squares_O, t.spread_OO)
    return np.array(
        [
            t.agree / t.pairs,
            t.tied / t.pairs,
            _over(products / t.pairs, _reach(squares_J / t.pairs, squares_O / t.pairs)),
            _over(t.inside_JO / t.pairs, _reach(t.inside_JJ / t.pairs, t.inside_OO / t.pairs)),
            *cov,
            _over(cov[1], cov[0]),
            *var_O,
            _over(var_O[1], var_O[0]),
        ]
    )


def _parts(t: _PairSums, about_the_mean: Floats, spread: Floats) -> tuple[Floats, Floats, Floats]:
    """Return a covariance and its parts between and within contexts, undefined where no context has two pairs."""
    total = about_the_mean / t.pairs + spread / t.pairs**2
    within = _over(spread, t.several)
    return total, total - within, within


def _reach(var_J: Floats, var_O: Floats) -> Floats:
    """Return the most that a covariance can be; 0 where a variance is nothing but what rounding left."""
    least = np.minimum(var_J, var_O)
    return np.where(least > 1e-12, np.sqrt(np.maximum(var_J * var_O, 0.0)), 0.0)


def _over(numerator: Floats, denominator: Floats) -> Floats:
    usable = np.abs(denominator) > 1e-12
    quotient: Floats = np.divide(numerator, denominator, out=np.full(np.shape(numerator), np.nan), where=usable)
    return quotient


_SHARES = frozenset({"agreement", "judge_tie_rate", "order_agreement"})
_CORRELATIONS = frozenset({"phi", "phi_within"})
_SPLIT = frozenset(name for name in PREFERENCE_METRICS if "between" in name or "within" in name)
_CONSTANT = "undefined: judge or oracle always says the same"
_NOTHING_TO_SPLIT = "undefined: no context has two pairs"


def audited_preferences(
    source: RowSource,
    *,
    oracle: str | None,
    labels: RowSource | None,
    context: Sequence[str],
    verdict_map: Mapping[str, str] | None,
    second_order: checks.SecondOrder | None,
    confidence: float,
    **named: Sequence[str],
) -> preferences_result.PreferenceAudit:
    """Audit pairwise verdicts whose columns are named by role, see `bonwise.votes.front.audit_preferences`."""
    checks.check_confidence(confidence)
    if labels is not None:
        some = {role: tuple(columns) or None for role, columns in named.items()}
        table = labelled_verdicts.LabelledVerdicts.joined_with(
            source,
            labels,
            named=vote_columns.NamedVoteColumns(**some),
            label=oracle,
            context=context,
            verdict_map=verdict_map,
            second_order=second_order,
        )
    elif oracle is None:
        raise UsageError("no labels to compare the verdicts with", hint="give oracle=COLUMN, or labels=FILE")
    else:
        more: dict[str, Any] = {**named, "in_part": True}
        table = labelled_verdicts.LabelledVerdicts.read(
            source, oracle=oracle, context=context, verdict_map=verdict_map, second_order=second_order, **more
        )
    rows = {name: table.judge.are(name) for name in map(str, table.judge.categories)}
    return preferences_result.PreferenceAudit(
        data=preferences_result.ContextCount(contexts=len(np.unique(table.context.codes))),
        settings=_settings(table, context, confidence, vote_rows.check_verdict_map(verdict_map)),
        judges={name: _judge(table, name, of_judge, confidence) for name, of_judge in rows.items() if of_judge.any()},
        **given(labels=None if table.joined is None else table.joined.facts),
    )


def _settings(
    table: labelled_verdicts.LabelledVerdicts,
    context: Sequence[str],
    confidence: float,
    verdict_map: Mapping[str, verdict_words.Side],
) -> preferences_result.PreferenceSettings:
    columns = table.columns
    sides = () if table.joined is None else columns.pair
    return preferences_result.PreferenceSettings(
        confidence=confidence,
        verdicts=list(columns.verdicts),
        oracle=table.label,
        prompt=list(columns.prompt),
        judge=list(columns.judge),
        context=list(context),
        pair=[*sides, *columns.apart],
        source=table.source,
        version=release(),
        readings=dict(table.readings),
        **given(verdict_map=dict(verdict_map) or None),
    )


def _sizes(table: labelled_verdicts.LabelledVerdicts, of_judge: Mask) -> Ints:
    """Return how many pairs of one judge each context has."""
    return np.unique(table.context.codes[of_judge], return_counts=True)[1]


def _judge(
    table: labelled_verdicts.LabelledVerdicts, name: str, of_judge: Mask, confidence: float
) -> preferences_result.JudgePreferences:
    data = preferences_result.PreferenceCounts.model_validate(
        {
            "prompts": len(np.unique(table.prompt.codes[of_judge])),
            "pairs": int(of_judge.sum()),
            "dropped": table.dropped.get(name, {}),
            **given(
                contexts_of_one_pair=int((_sizes(table, of_judge) == 1).sum()) or None,
                pairs_in_both_orders=int(table.both_orders[of_judge].sum()) or None,
            ),
        }
    )
    metrics = preferences_result.PreferenceMetrics(**estimate_records(_metrics(table, of_judge, confidence)))
    return preferences_result.JudgePreferences(data=data, metrics=metrics)


def _metrics(
    table: labelled_verdicts.LabelledVerdicts, of_judge: Mask, confidence: float
) -> dict[str, estimand.Estimate]:
    verdicts, oracle = table.verdicts[of_judge], table.oracle[of_judge]
    prompt, context = table.prompt.codes[of_judge].astype(np.int64), table.context.codes[of_judge].astype(np.int64)
    n = len(np.unique(prompt))
    jackknife = preference_jackknife(verdicts.mean(axis=1), oracle, prompt, context)
    out = {
        name: _estimate(name, float(value), Scatter(float(se), float(df)), n, confidence)
        for name, value, se, df in zip(PREFERENCE_METRICS, *jackknife[:3], strict=True)
    }
    if _sizes(table, of_judge).max() < 2:
        out |= {name: estimand.Estimate.undefined(_NOTHING_TO_SPLIT, n) for name in _SPLIT}
    if out["covariance_between_share"].estimate is not None and estimation.may_be_0(out["covariance"]):
        out["covariance_between_share"] = estimand.Estimate.undefined(estimand.NOT_DISTINGUISHABLE, n)
    if verdicts.shape[1] > 1:
        out["order_agreement"] = _mean((verdicts == verdicts[:, :1]).all(axis=1).astype(float), prompt, confidence)
    return out


def _mean(values: Floats, prompt: Ints, confidence: float) -> estimand.Estimate:
    """Estimate a mean over pairs, clustered by prompt."""
    _, owner = np.unique(prompt, return_inverse=True)
    off = np.bincount(owner, weights=values - values.mean()).astype(np.float64)
    n = len(off)
    scatter = Scatter(np.nan, np.nan)
    if n > 1:
        scatter = Scatter(float(np.sqrt(n / (n - 1) * (off**2).sum()) / len(values)), kurtosis_df(off))
    return _estimate("order_agreement", float(values.mean()), scatter, n, confidence)


def _estimate(name: str, value: float, scatter: Scatter, n: int, confidence: float) -> estimand.Estimate:
    if not np.isfinite(value):
        return estimand.Estimate.undefined(_CONSTANT, n)
    limits = (0.0, 1.0) if name in _SHARES else (-1.0, 1.0) if name in _CORRELATIONS else (-np.inf, np.inf)
    exact = (lambda: laws.Exact(value, n, limits)) if name in _SHARES else None
    return estimation.from_jackknife(value, scatter, n, limits, confidence, exact=exact)
