"""The findings on ways of asking, and on verdicts alone, in plain words with their figures."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from bonwise.auditing.comparison import SAME_PICKS
from bonwise.estimates import EstimateRecord
from bonwise.report.numbers import Bounded, Unit, brief, counted, estimate, interval, number, with_interval
from bonwise.studies.label_strategy import result


def share(found: Bounded) -> str:
    """Write a share in percent."""
    return "an unknown share" if found.estimate is None else estimate(found, "share")


def share_with_ends(found: Bounded) -> str:
    """Write a share with its interval, where it has one."""
    return share(found) if found.estimate is None or found.low is None else with_interval(found, "share")


def points(less: Bounded) -> str:
    """Write a difference of shares in points, and whether it may be none."""
    return "a difference without a figure" if less.estimate is None else _judged(less, "points")


def moved(less: Bounded) -> str:
    """Write a difference of mean verdicts, and whether it may be none."""
    return _judged(less, "number")


def brought(less: Bounded) -> str:
    """Write a difference of gains, in labels, and whether it may be none."""
    return _judged(less, "number")


def _judged(less: Bounded, unit: Unit) -> str:
    size = estimate(less, unit, sign=True)
    if less.low is None or less.high is None:
        return f"{size}, without an interval"
    doubt = "" if less.low > 0 or less.high < 0 else ", which may be 0"
    return f"{size} {interval(less, unit, sign=True)}{doubt}"


def verdict_sentences(
    ways: Mapping[result.VerdictsWay, result.VerdictMetrics],
    order: result.OrderEffects | None,
    data: result.VerdictCounts,
) -> list[str]:
    """Say what was found of a judge's verdicts alone."""
    said = [] if order is None else [order_sentence(order)]
    if data.pairs == data.oracle_ties:
        return [*said, f"The labels decide none of {counted(data.pairs, 'pair')}: agreement is unknown."]
    decides = f"Of the {counted(data.pairs - data.oracle_ties, 'pair')} that the labels decide,"
    return [*said, f"{decides} {_one_order(ways['first_order'], data) if order is None else _two_orders(ways, data)}"]


def pairs_sentence(asked: Collection[frozenset[int]]) -> list[str]:
    """Warn where judges were not asked about the same pairs; `asked` holds the pairs of each judge."""
    if len(set(asked)) < 2:
        return []
    fewest, most = min(map(len, asked)), max(map(len, asked))
    reach = f"{counted(most, 'pair')} each" if fewest == most else f"{fewest:,} to {counted(most, 'pair')}"
    return [f"Judges were asked about {reach}, not all about the same: compare only those with the same pairs."]


def order_sentence(found: result.OrderEffects) -> str:
    """Say what the order of presentation did."""
    return (
        f"The position effect is {moved(found.first_shown_advantage)}; the verdict on "
        f"{share_with_ends(found.flips)} of the pairs changes with the order."
    )


def _one_order(one: result.VerdictMetrics, data: result.VerdictCounts) -> str:
    return f"it agrees in {share_with_ends(one.agreement)}, {_tied_verdicts(one, data)}."


def _two_orders(ways: Mapping[result.VerdictsWay, result.VerdictMetrics], data: result.VerdictCounts) -> str:
    first, second, both = ways["first_order"], ways["second_order"], ways["both_orders"]
    right = both.accuracy_decided
    decided = (
        "both together decide none of them"
        if right.estimate is None
        else f"those that both together decide are right in {share_with_ends(right)}"
    )
    return (
        f"one order agrees in {share(first.agreement)}, the other in {share(second.agreement)} and both "
        f"together in {share_with_ends(both.agreement)}, {_tied_verdicts(both, data)}; {decided}."
    )


def _tied_verdicts(way: result.VerdictMetrics, data: result.VerdictCounts) -> str:
    return f"ties ({share(way.tie_rate)} of all {counted(data.pairs, 'pair')}) counting one half"


NAMES: Mapping[result.Way, str] = {
    "pointwise": "scoring",
    "pairwise": "comparing every pair",
    "sparse": "comparing some pairs",
    "tie_break": "breaking ties at the top by comparisons",
    "partial": "counting whatever comparisons there are",
}
"""What a way of asking is called in a sentence."""

_TOLD: Sequence[result.Way] = ("pairwise", "partial", "tie_break", "sparse")
"""The ways whose recovery is told, in this order."""

_ROUNDING = 1e-9
"""A difference below this is none."""


def strategy_sentences(
    data: result.StrategyCounts,
    groups: Mapping[result.PromptsWithVerdicts, result.PromptGroup],
    pairs: result.MatchedPairs,
    reference: str | None = None,
) -> list[str]:
    """Say what was found of a judge; a judge that stands in for the oracle is the reference."""
    oracle, labels = ("oracle", "labels") if reference is None else ("reference", "reference scores")
    out = [line for group in groups.values() for line in _of_group(group)]
    return [*out, *_of_pairs(pairs, oracle), *_unlabelled(data, labels)]


def _of_group(group: result.PromptGroup) -> Iterator[str]:
    ways = group.strategies
    for name in _TOLD:
        if name in ways:
            yield from _recovery(group, name)
    if "pairwise" in ways:
        yield from _efficiency(ways["pairwise"], ways["pointwise"].metrics)
    yield from _unchanged(ways["quantised"].less["recovery"], group.prompts)


def _recovery(group: result.PromptGroup, name: result.Way) -> Iterator[str]:
    way, base = group.strategies[name], group.strategies["pointwise"].metrics
    found, less = way.metrics, way.less["recovery"]
    if found["recovery"].estimate is None or base["recovery"].estimate is None:
        return
    yield (
        f"On {counted(group.prompts, 'prompt')} {NAMES[name]} recovers {share(found['recovery'])} of the possible "
        f"gain at {_calls(found)} a prompt, scoring {share(base['recovery'])} at {_calls(base)}: "
        f"{_less(less, group.prompts)}."
    )


def _calls(found: Mapping[str, EstimateRecord]) -> str:
    count = found["calls_per_prompt"].estimate or 0.0
    written = brief(count) if count < 100 else number(count)
    return f"{written} call{'' if written == '1' else 's'}"


def _efficiency(way: result.WayMetrics, base: Mapping[str, EstimateRecord]) -> Iterator[str]:
    for key, spent in (
        ("gain_per_call", "A call that compares a pair brings a gain of {}, a call for a score {}: {}."),
        ("gain_per_1000_tokens", "1,000 tokens of comparing every pair bring a gain of {}, of scoring {}: {}."),
    ):
        mine, theirs, less = way.metrics[key].estimate, base[key].estimate, way.less[key]
        if mine is not None and theirs is not None and less.estimate is not None:
            yield spent.format(number(mine), number(theirs), brought(less))


def _nothing(less: EstimateRecord) -> bool:
    """Tell whether no prompt differs, of which the interval would still say that unseen ones may."""
    return less.interval == "exact" and less.estimate is not None and abs(less.estimate) < _ROUNDING


def _less(less: EstimateRecord, prompts: int) -> str:
    """Say by how much recovery differs from that of scoring."""
    if less.reason == SAME_PICKS:
        return f"it picks the same {_on_all(prompts, 'prompt')}"
    return "no pick changes its worth" if _nothing(less) else points(less)


def _on_all(count: int, what: str) -> str:
    return f"on the one {what}" if count == 1 else f"on all {counted(count, what)}"


def _unchanged(less: EstimateRecord, prompts: int) -> Iterator[str]:
    if less.reason == SAME_PICKS:
        yield f"Cutting the scores into bins picks the same {_on_all(prompts, 'prompt')}."
    elif _nothing(less):
        yield "Cutting the scores into bins changes the worth of no prompt's pick."
    elif less.estimate is not None:
        yield f"Cutting the scores into bins changes recovery by {points(less)}."


def _of_pairs(found: result.MatchedPairs, oracle: str) -> Iterator[str]:
    yield _ties(found, oracle)
    where = found.where_pointwise_tied
    if where.decided.estimate is not None:
        yield _where_tied(where, oracle, weighted=found.weighted)
    if found.order is not None:
        yield order_sentence(found.order)


def _ties(found: result.MatchedPairs, oracle: str) -> str:
    one, other = found.ways["pointwise"].metrics, found.ways["pairwise"].metrics
    drawn = ", which were drawn (shares are weighted, counts are plain)," if found.weighted else ""
    start = (
        f"On {counted(found.pairs, 'pair')} judged both ways{drawn} scores tie {share(one['tie_rate'])} of all "
        f"and comparisons {share(other['tie_rate'])}; "
    )
    if not found.oracle_decided_pairs:
        return f"{start}the {oracle} decides none of them."
    less = found.ways["pairwise"].less["effective_agreement_decided"]
    same = f"they pick the same {_on_all(found.pairs, 'pair')}"
    return (
        f"{start}in the {found.oracle_decided_pairs:,} that the {oracle} decides scores agree with it in "
        f"{share(one['effective_agreement_decided'])}, ties counting one half, and comparisons in "
        f"{share(other['effective_agreement_decided'])}: "
        f"{same if less.reason == SAME_PICKS else points(less)}."
    )


def _where_tied(where: result.WhereTied, oracle: str, *, weighted: bool) -> str:
    plain = " (the count is plain, shares are weighted)," if weighted else ","
    start = f"Of {counted(where.pairs, 'pair')} that scores tie and the {oracle} does not{plain} comparisons decided"
    if where.accuracy.estimate is None:
        return f"{start} none."
    return (
        f"{start} {share(where.decided)} and were right in {share_with_ends(where.accuracy)} of those"
        f"{_by_gap(where.by_gap)}."
    )


def _by_gap(rows: Sequence[result.GapGroup]) -> str:
    """Name the first and the last group where their intervals lie apart: then they differ, however they depend."""
    if len(rows) < 2 or not _apart(rows[0].accuracy, rows[-1].accuracy):
        return ""
    first, last = (share_with_ends(row.accuracy) for row in (rows[0], rows[-1]))
    return f", from {first} at the smallest gaps to {last} at the largest"


def _apart(one: EstimateRecord, other: EstimateRecord) -> bool:
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return False
    return one.high < other.low or other.high < one.low


def _unlabelled(data: result.StrategyCounts, labels: str) -> Iterator[str]:
    lacking = data.unlabelled_prompts
    if data.method == "labelled_only":
        whole = data.prompts + lacking
        yield (
            f"Only {data.prompts:,} of {counted(whole, 'completely scored prompt')} "
            f"{'has' if data.prompts == 1 else 'have'} all {labels}: every figure describes these alone."
        )
    elif lacking:
        verb = "lacks" if lacking == 1 else "lack"
        yield f"{counted(lacking, 'completely scored prompt')} {verb} {labels}, and no figure describes them."
