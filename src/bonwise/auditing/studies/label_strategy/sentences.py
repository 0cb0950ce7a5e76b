"""The findings on ways of asking in plain words with their figures, the most important first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from bonwise.auditing.same_picks import SAME_PICKS
from bonwise.auditing.studies.label_strategy.phrases import brought, points, share, share_with_ends
from bonwise.auditing.studies.label_strategy.verdict_sentences import order_sentence
from bonwise.documents.estimate import EstimateRecord
from bonwise.documents.label_strategy.pairs import GapGroup, MatchedPairs, WayMetrics, WhereTied
from bonwise.documents.label_strategy.strategies import PromptGroup, PromptsWithVerdicts, StrategyCounts, Way
from bonwise.report.amounts import brief
from bonwise.report.numbers import counted, number

__all__ = ["NAMES", "strategy_sentences"]

NAMES: Mapping[Way, str] = {
    "pointwise": "scoring",
    "pairwise": "comparing every pair",
    "sparse": "comparing some pairs",
    "tie_break": "breaking ties at the top by comparisons",
    "partial": "counting whatever comparisons there are",
}
"""What a way of asking is called in a sentence."""

_TOLD: Sequence[Way] = ("pairwise", "partial", "tie_break", "sparse")
"""The ways whose recovery is told, in this order."""

_ROUNDING = 1e-9
"""A difference below this is none."""


def strategy_sentences(
    data: StrategyCounts,
    groups: Mapping[PromptsWithVerdicts, PromptGroup],
    pairs: MatchedPairs,
    reference: str | None = None,
) -> list[str]:
    """Say what was found of a judge; a judge that stands in for the oracle is the reference."""
    oracle, labels = ("oracle", "labels") if reference is None else ("reference", "reference scores")
    out = [line for group in groups.values() for line in _of_group(group)]
    return [*out, *_of_pairs(pairs, oracle), *_unlabelled(data, labels)]


def _of_group(group: PromptGroup) -> Iterator[str]:
    ways = group.strategies
    for name in _TOLD:
        if name in ways:
            yield from _recovery(group, name)
    if "pairwise" in ways:
        yield from _efficiency(ways["pairwise"], ways["pointwise"].metrics)
    yield from _unchanged(ways["quantised"].less["recovery"], group.prompts)


def _recovery(group: PromptGroup, name: Way) -> Iterator[str]:
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


def _efficiency(way: WayMetrics, base: Mapping[str, EstimateRecord]) -> Iterator[str]:
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


def _of_pairs(found: MatchedPairs, oracle: str) -> Iterator[str]:
    yield _ties(found, oracle)
    where = found.where_pointwise_tied
    if where.decided.estimate is not None:
        yield _where_tied(where, oracle, weighted=found.weighted)
    if found.order is not None:
        yield order_sentence(found.order)


def _ties(found: MatchedPairs, oracle: str) -> str:
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


def _where_tied(where: WhereTied, oracle: str, *, weighted: bool) -> str:
    plain = " (the count is plain, shares are weighted)," if weighted else ","
    start = f"Of {counted(where.pairs, 'pair')} that scores tie and the {oracle} does not{plain} comparisons decided"
    if where.accuracy.estimate is None:
        return f"{start} none."
    return (
        f"{start} {share(where.decided)} and were right in {share_with_ends(where.accuracy)} of those"
        f"{_by_gap(where.by_gap)}."
    )


def _by_gap(rows: Sequence[GapGroup]) -> str:
    """Name the first and the last group where their intervals lie apart: then they differ, however they depend."""
    if len(rows) < 2 or not _apart(rows[0].accuracy, rows[-1].accuracy):
        return ""
    first, last = (share_with_ends(row.accuracy) for row in (rows[0], rows[-1]))
    return f", from {first} at the smallest gaps to {last} at the largest"


def _apart(one: EstimateRecord, other: EstimateRecord) -> bool:
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return False
    return one.high < other.low or other.high < one.low


def _unlabelled(data: StrategyCounts, labels: str) -> Iterator[str]:
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
