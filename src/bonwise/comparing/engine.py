"""Two sets of logged picks, paired by prompt: what each is worth, what it took, and the differences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bonwise.arrays import Floats
from bonwise.auditing import comparison, judge_record, logged_picks, result, suspected
from bonwise.auditing.labelling import label_state
from bonwise.auditing.settings import Settings
from bonwise.comparing import result as compared_result
from bonwise.comparing.result import DECIDING, CompareSettings, PickComparison, PicksSide
from bonwise.errors import InputError, UsageError
from bonwise.estimates import EstimateRecord, estimate_records
from bonwise.release import release
from bonwise.report import samples
from bonwise.report.blocks import Row
from bonwise.results import given
from bonwise.stats import catalog, efficiency, estimand, estimation, laws, support
from bonwise.stats.sums import Sums
from bonwise.table import facts, reading_options
from bonwise.table.panel import LabelsInPart, Panel
from bonwise.table.picks import Pick, Picks
from bonwise.table.words import Words

SAME_POOLS = "the same pools"

_FIRST, _SECOND = "first", "second"

_WHOLE_PROMPTS = (
    "two sets of picks are compared on prompts that are labelled whole. bonwise audit --design cells uses them for "
    "each set, if the labelled candidates are a random sample of all."
)

_OF_POOLS = tuple(e.name for e in catalog.OF_PICKS if not e.on_scores)
"""What does not depend on the picks: its difference is 0 whatever the prompts."""


def compared(
    first: str | Path,
    second: str | Path,
    options: reading_options.ReadingOptions,
    *,
    confidence: float,
    as_picked: bool,
    pools: str | Path | None,
) -> PickComparison:
    """Compare two sets of logged picks against the same oracle labels."""
    settings = Settings(confidence=confidence, shape=options.shape)
    picks = logged_picks.read_picks(first, as_picked=as_picked), logged_picks.read_picks(second, as_picked=as_picked)
    table = logged_picks.logged_table([(_FIRST, picks[0]), (_SECOND, picks[1])], options)
    reasons = _reasons(*picks)
    panels = logged_picks.logged_panels(table, [(_FIRST, reasons), (_SECOND, reasons)], options.shape)
    common, method, in_part = _common(panels, picks)
    rule = settings.rule(common[0].labels, common[0].clusters)
    sides = _Side.of(picks[0], common[0], rule, method), _Side.of(picks[1], common[1], rule, method)
    differences = _differences(*sides, rule, method)
    alone = _alone(*picks), _alone(*reversed(picks))
    dropped = {prompt.prompt_id: prompt.reason for panel in common for prompt in panel.dropped}
    strangers = {*alone[0], *alone[1]}
    made = PickComparison(
        prompts=len(common[0].sizes),
        first=sides[0].record(alone[0]),
        second=sides[1].record(alone[1]),
        differences=estimate_records(differences),
        dropped=[
            facts.DroppedPrompt(prompt_id=prompt, reason=why)
            for prompt, why in sorted(dropped.items())
            if prompt not in strangers
        ],
        settings=CompareSettings(
            confidence=confidence,
            shape=common[0].shape,
            version=release(),
            **reading_options.values_read(table),
            **given(labels_left_out=facts.labels_left_out(table.labels_left_out)),
        ),
        **given(
            unused_labels=facts.unused_labels(in_part.told(_WHOLE_PROMPTS)),
            choice=_choice(*sides, differences, settings) or None,
            unsettled=_unsettled(differences) or None,
        ),
    )
    return made.with_samples(list(_samples(sides, Words(table, pools))))


@dataclass(frozen=True, eq=False)
class _Side:
    """One of two sets of picks, on the prompts that both share."""

    picks: Picks
    panel: Panel
    sums: Floats
    spent: efficiency.Spent
    metrics: Mapping[str, estimand.Estimate]
    """What the picks are worth and what they took."""

    @classmethod
    def of(cls, picks: Picks, panel: Panel, rule: estimation.IntervalRule, method: str) -> _Side:
        sums = panel.sums()
        spent = _spent(picks, panel, sums)
        worth = {**estimation.estimate(catalog.OF_PICKS, sums, rule), **efficiency.efficiency(spent, rule.confidence)}
        worth |= support.of_whole_prompts(worth, Sums(*sums), panel.lowest_labels(), rule)
        metrics = estimand.under_method(worth, method)
        return cls(picks, panel, sums, spent, metrics)

    def record(self, alone: Sequence[str]) -> PicksSide:
        """Return this side of the result, with the prompts that the other set does not hold."""
        return PicksSide(
            source=self.picks.source,
            picks=logged_picks.picks_made(self.picks, tuple(self.panel.prompt_ids)),
            calls=_total(self.spent.answers),
            tokens=_total(self.spent.tokens),
            only_here=list(alone),
            metrics=estimate_records(self.metrics),
        )


def _samples(sides: Sequence[_Side], words: Words) -> Iterator[Row]:
    """Yield the prompts on which the labels of the picks differ most."""
    panel, values = sides[0].panel, [Sums(*side.sums).J for side in sides]
    apart = values[0] - values[1]
    most = [at for at in np.argsort(-np.abs(apart), kind="stable")[: samples.MOST].tolist() if apart[at]]
    by_prompt = words.of(str(panel.prompt_ids[at]) for at in most)
    by_side = [{pick.prompt_id: pick for pick in side.picks.picks} for side in sides]
    for at in most:
        picks = [logged[str(panel.prompt_ids[at])] for logged in by_side]
        texts = {pick.kept[0]: pick.text for pick in picks if pick.text is not None and len(pick.kept) == 1}
        kept = {f"picked by the {name}": pick.kept for name, pick in zip((_FIRST, _SECOND), picks, strict=True)}
        labels, figures = panel.by_candidate(at, panel.labels), [float(column[at]) for column in (apart, *values)]
        yield from samples.sample(picks[0].prompt_id, figures, by_prompt, kept, labels, texts)


def _choice(
    first: _Side, second: _Side, differences: Mapping[str, estimand.Estimate], settings: Settings
) -> dict[str, result.ChoiceRecord]:
    """Choose the better of both by recovery and by gain, with intervals that hold after the choice."""

    def difference(name: str, _: str, metric: str) -> estimand.Estimate | None:
        return differences[metric] if name == _FIRST else comparison.turned(differences[metric])

    compared = {
        name: comparison.Compared(side.metrics, judge_record.panel_influences(side.panel, Sums(*side.sums)))
        for name, side in ((_FIRST, first), (_SECOND, second))
    }
    return comparison.choices(compared, difference, settings.confidence, seed=settings.seed)


def _alone(picks: Picks, other: Picks) -> tuple[str, ...]:
    theirs = {pick.prompt_id for pick in other.picks}
    return tuple(pick.prompt_id for pick in picks.picks if pick.prompt_id not in theirs)


def _reasons(first: Picks, second: Picks) -> dict[str, str]:
    """Say of each prompt that cannot be compared why."""
    pools = {pick.prompt_id: set(pick.ids) for pick in first.picks}
    reasons = {
        pick.prompt_id: "the two files name different candidates"
        for pick in second.picks
        if pick.prompt_id in pools and pools[pick.prompt_id] != set(pick.ids)
    }
    for picks in (first, second):
        reasons |= {prompt: f"{reason} ({picks.source})" for prompt, reason in picks.reasons.items()}
    return reasons


def _common(panels: tuple[Panel, ...], sides: tuple[Picks, Picks]) -> tuple[tuple[Panel, Panel], str, LabelsInPart]:
    """Return both panels on the labelled prompts that they share, and the labels of those that are no such prompt."""
    first, second = panels
    shared = first.keep(first.prompt_ids.isin(second.prompt_ids))
    if not len(shared.sizes):
        raise InputError(
            f"{sides[0].source} and {sides[1].source}: no prompt with a pick in both files",
            hint="both files must name prompts and candidates alike",
        )
    labelling = label_state(shared)
    if not labelling.labelled.any():
        raise InputError(
            f"{sides[0].source} and {sides[1].source}: no prompt of both has labels for all its candidates",
            hint="label all candidates of a prompt",
        )
    left = labelling.panel.keep(labelling.labelled)
    both = left, second.keep(second.prompt_ids.isin(left.prompt_ids))
    return both, labelling.method, LabelsInPart.of_panel(shared)


def _differences(
    first: _Side, second: _Side, rule: estimation.IntervalRule, method: str
) -> dict[str, estimand.Estimate]:
    """Return the metrics of the first set minus those of the second, paired by prompt."""
    less = estimation.difference([e for e in catalog.OF_PICKS if e.on_scores], first.sums, second.sums, rule)
    t = Sums(*first.sums)
    less = support.of_difference(
        less, (first.metrics, second.metrics), (t.J - Sums(*second.sums).J, t, first.panel.lowest_labels())
    )
    if comparison.pick_alike(first.panel.ranked, second.panel.ranked, first.panel.sizes):
        less = comparison.differing_by_nothing(less)
    n = {name: first.metrics[name].n for name in _OF_POOLS}
    differences = {
        **{name: estimand.Estimate(0.0, None, None, None, n[name], None, reason=SAME_POOLS) for name in _OF_POOLS},
        **less,
        **efficiency.efficiency_difference(first.spent, second.spent, rule.confidence),
    }
    return estimand.under_method(differences, method)


def _unsettled(differences: Mapping[str, estimand.Estimate]) -> str:
    """Say why the difference does not tell which picks are better, whatever its interval says; empty where it may."""
    deciding = next((differences[name] for name in DECIDING if differences[name].estimate is not None), None)
    return "" if deciding is None else suspected.words_of_support(deciding, 0.0, "a verdict")


def _spent(picks: Picks, panel: Panel, sums: Floats) -> efficiency.Spent:
    t = Sums(*sums)
    by_prompt = {pick.prompt_id: pick for pick in picks.picks}
    picks_of_panel = [by_prompt[prompt] for prompt in panel.prompt_ids]
    has_tokens = any(pick.tokens is not None for pick in picks_of_panel)
    return efficiency.Spent(
        t.J - t.R,
        t.M - t.R,
        _counts(picks_of_panel, "answers"),
        _counts(picks_of_panel, "tokens"),
        f"{picks.source} does not say how many answers were used",
        f"{picks.source} does not say the tokens of every answer"
        + (", such as of those that came from a ledger" if has_tokens else ""),
    )


def _counts(picks: list[Pick], what: str) -> Floats | None:
    counts = [getattr(pick, what) for pick in picks]
    return None if None in counts else np.array(counts, dtype=np.float64)


def _total(counts: Floats | None) -> int | None:
    return None if counts is None else int(counts.sum())


_OF_REGIMES = ("global_r", "within_r", "inflation", "recovery", "top1_accuracy", "tie_rate")
_SHARES = ("judge_between_share", "oracle_between_share")


def regimes(first: result.Audit, second: result.Audit) -> compared_result.RegimeComparison:
    """Compare the audits of two sets of prompts side by side."""
    if first.settings.confidence != second.settings.confidence:
        raise UsageError("the two audits have intervals of two confidences", hint="audit both with one confidence")
    names = [(name, name) for name in first.judges if name in second.judges]
    if not names and len(first.judges) == len(second.judges) == 1:
        names = [(next(iter(first.judges)), next(iter(second.judges)))]
    if not names:
        raise UsageError(
            f"no judge is in both: {', '.join(first.judges)}; {', '.join(second.judges)}",
            hint="name the judges alike, or audit one judge in each",
        )
    shared = None
    with suppress(UsageError):  # an audit that was loaded, or made in passes, holds no prompts
        shared = int(first.table.prompts.isin(second.table.prompts).sum())
    judges = {left: _regime_pair(_regime(first, left), _regime(second, right)) for left, right in names}
    return compared_result.RegimeComparison(
        judges=judges, confidence=first.settings.confidence, shared_prompts=shared
    )


def _regime(audit: result.Audit, name: str) -> compared_result.RegimeSide:
    judge = audit.judges[name]
    metrics = {metric: judge.metrics[metric] for metric in (*_OF_REGIMES, *_SHARES)}
    return compared_result.RegimeSide(
        source=audit.settings.source, judge=name, prompts=judge.data.prompts, metrics=metrics
    )


def _regime_pair(first: compared_result.RegimeSide, second: compared_result.RegimeSide) -> compared_result.RegimePair:
    sides = ((metric, figure, second.metrics[metric]) for metric, figure in first.metrics.items())
    return compared_result.RegimePair(
        first=first, second=second, differences={name: _apart(*pair) for name, *pair in sides}
    )


def _apart(first: EstimateRecord, second: EstimateRecord) -> EstimateRecord:
    """Return the difference of two independent estimates."""
    method = first.method if first.method == second.method else "labelled_only"
    figures: dict[str, float | None] = dict.fromkeys(("estimate", "low", "high", "se"))
    reason, n = first.reason or second.reason, first.n + second.n
    if first.estimate is not None and second.estimate is not None:
        figures["estimate"] = first.estimate - second.estimate
        if None not in (ends := (first.low, first.high, second.low, second.high)):
            pair, known = (first.estimate, second.estimate), [end for end in ends if end is not None]
            low, high = laws.difference_ends(pair, (known[0], known[1]), (known[2], known[3]))
            figures |= {"low": low, "high": high, "se": float(np.hypot(first.se or 0.0, second.se or 0.0))}
    kind = None if figures["low"] is None else "mover"
    return EstimateRecord(**figures, n=n, interval=kind, method=method, **given(reason=reason))  # type: ignore[arg-type]
