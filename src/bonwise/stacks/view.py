"""A stack of judges: what it is worth beside its judges and other rules, and what each judge adds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from bonwise.auditing.view_judges import best_of
from bonwise.estimates import EstimateRecord
from bonwise.printable import file_name, printable
from bonwise.report import answers, numbers, table_facts
from bonwise.report.blocks import Block, Column, Drawing, Part, Role, Row, Said, Table
from bonwise.report.figures.forest import Forest, forest_figure
from bonwise.report.limits import LABELS, OTHER_CANDIDATES, OTHER_PROMPTS, limits
from bonwise.stacks.result import SmallerStack, StackFit
from bonwise.table.reading_options import ReadingKeywords

_LIMITS = (OTHER_PROMPTS, OTHER_CANDIDATES, LABELS, "That the weights stay right when a judge changes.")

_RECOVERY = "recovery"
_STACK, _BEST = "stack", "best judge of the other folds"
_MOST = 40
"""Judges that a table shows."""

_LONGEST = 60

_TOO_FAR = 0.05
"""A gap between P(best) and what was observed that is worth a caveat."""


def describe(document: StackFit) -> Part:
    """Describe a fitted stack."""
    return Part(f"Stack of the judges of {file_name(document.source)}", list(_blocks(document)))


def _blocks(document: StackFit) -> Iterator[Block]:
    settings = document.settings
    yield answers.verdict(answer(document))
    yield Table.facts(
        [
            (
                "fitted to",
                (
                    f"{numbers.count(document.fitted_labels)} labels of "
                    f"{numbers.counted(document.fitted_prompts, 'prompt')}"
                ),
            ),
            ("figures", f"{numbers.counted(document.prompts, 'prompt')}, out of fold"),
            ("table", settings.shape),
            ("intervals", f"{numbers.percent(settings.confidence)}, clustered by prompt"),
            ("ridge", numbers.number(settings.ridge)),
            ("bonwise", settings.version),
        ]
    )
    yield from table_facts.labels_left_out(None, settings.unlabelled)
    yield from table_facts.values_read_as(settings)
    yield from _caveats(document)
    yield Part("Picks of the stack, of each judge and of other rules", list(_compared(document)), anchor="picks")
    yield Part("What each judge adds", list(_added(document)), anchor="judges")
    yield Part("P(best)", list(_calibrated(document)), "detail", anchor="calibration")
    yield limits(_LIMITS)


def answer(document: StackFit) -> answers.StatedVerdict:
    """Return whether the stack is shown to pick better than the best judge alone."""
    word, state = _word(document)
    asks = "Do the judges together pick better than the best one alone?"
    apart = document.difference[_RECOVERY]
    return answers.StatedVerdict(word, state, _lead(document), apart, question=asks, then=_next(document))


def _word(document: StackFit) -> tuple[str, answers.State]:
    if document.metrics[_RECOVERY].estimate is None:
        return "undefined", "open"
    if document.fallback is not None:
        return "one judge", "open"
    words: Mapping[answers.Outcome, tuple[str, answers.State]] = {
        "above": ("the stack is better", "good"),
        "below": ("the stack is worse", "bad"),
        "open": ("no difference shown", "open"),
    }
    return words[answers.outcome_of(document.difference[_RECOVERY])]


def is_better(document: StackFit) -> bool:
    """Tell whether the stack is shown to recover more than the best judge alone."""
    return document.fallback is None and answers.outcome_of(document.difference[_RECOVERY]) == "above"


def _next(document: StackFit) -> Sequence[Said]:
    if document.metrics[_RECOVERY].estimate is None:
        return answers.steps("Label more prompts completely, then fit the stack again.")
    if not is_better(document):
        why = (
            "Pick by the best judge alone: it takes fewer calls, and no gain of the stack is shown. Audit the judges:"
        )
        return answers.steps(why, document.then("audit", takes=ReadingKeywords))
    why = "Save the stack, then pick by it with bonwise select --judge stack:stack.json:"
    return answers.steps(why, document.then("stack fit", "--save stack.json", takes=ReadingKeywords, keep=_KEPT))


_KEPT = {
    "features": "--feature",
    "prices": "--price",
    "specs": "--spec",
    "confidence": "--confidence",
    "seed": "--seed",
}
"""Flags of what a stack is fitted with."""


def _lead(document: StackFit) -> str:
    stack, apart = document.metrics[_RECOVERY], document.difference[_RECOVERY]
    if stack.estimate is None:
        return f"Nothing can be said of the stack's picks: {printable(stack.reason, longest=300)}."
    best = document.best_out_of_fold[_RECOVERY]
    figures = f"Recovery out of fold: stack {numbers.with_interval(stack, 'share')}"
    if best.estimate is not None:
        figures += f", best judge {numbers.with_interval(best, 'share')}"
    if document.fallback is not None:
        judge = printable(document.fallback, longest=_LONGEST)
        return (
            f"The stack falls back to {judge}: cross-validation shows no gain of weighing several judges. {figures}."
        )
    return f"{figures}; {_difference(apart)}."


def _difference(apart: EstimateRecord) -> str:
    if apart.estimate is None:
        return "no difference can be computed"
    size = numbers.estimate(apart, "points").removeprefix("-")
    words = f"the stack recovers {size} {'less' if apart.estimate < 0 else 'more'}"
    if apart.low is None or apart.high is None:
        return f"{words} (no interval)"
    outside = apart.low > 0 or apart.high < 0
    return f"{words}, and the interval {numbers.interval(apart, 'points')} {'excludes' if outside else 'includes'} 0"


def _caveats(document: StackFit) -> Iterator[Said]:
    if document.dropped:
        prompts = numbers.counted(len(document.dropped), "prompt")
        yield Said("caveat", f"dropped {prompts}: {printable(document.dropped[0].reason, longest=200)}")
    if document.unscored:
        yield Said(
            "caveat",
            f"{numbers.counted(document.unscored, 'candidate')} that no judge scored: not filled, not picked",
        )
    for judge, reason in document.left_out.items():
        yield Said(
            "caveat", f"{printable(judge, longest=_LONGEST)} is no part of it: {printable(reason, longest=200)}"
        )
    lacking = {judge: times for judge, times in document.missing.items() if times}
    if lacking:
        some = ", ".join(
            f"{printable(judge, longest=_LONGEST)} ({numbers.count(times)})" for judge, times in lacking.items()
        )
        yield Said("caveat", f"candidates without a score, filled by what the other judges let expect: {some}")


def _compared(document: StackFit) -> Iterator[Block]:
    everyone = _everyone(document)
    rows = [
        Row(
            (
                printable(who, longest=_LONGEST),
                *(
                    cell
                    for name, unit in _SHOWN
                    for cell in (numbers.estimate(of[name], unit), numbers.interval(of[name], unit))
                ),
            ),
            strong=who == _STACK,
            values=_values(of),
        )
        for who, of in list(everyone.items())[:_MOST]
    ]
    ends = numbers.interval_title(document.settings.confidence)
    columns = (
        Column("picks by", "name"),
        Column("recovery", sorted=True),
        Column(ends),
        Column("gain"),
        Column(f"{ends} ", spare=1),
    )
    # The drawing cannot be broken: on paper it stands where the sheet begins, and the table fills the rest.
    yield from _forest(everyone)
    yield Table(columns, rows, "Recovery and gain, the highest first")
    if len(everyone) > _MOST:
        yield Said("note", f"{numbers.count(len(everyone) - _MOST)} more are in the JSON")
    yield from best_of(document.choice, "judges")


_SHOWN: tuple[tuple[str, numbers.Unit], ...] = ((_RECOVERY, "share"), ("gain", "number"))


def _values(of: Mapping[str, EstimateRecord]) -> tuple[float | None, ...]:
    values: list[float | None] = [None]
    for name, _ in _SHOWN:
        values += [of[name].estimate, None]
    return tuple(values)


def _everyone(document: StackFit) -> dict[str, Mapping[str, EstimateRecord]]:
    """Return the figures of all rules, the highest recovery first."""
    everyone: dict[str, Mapping[str, EstimateRecord]] = {_STACK: document.metrics, _BEST: document.best_out_of_fold}
    everyone |= {name: baseline.metrics for name, baseline in document.baselines.items()}
    everyone |= {f"judge {name}": metrics for name, metrics in document.judges.items()}
    order = sorted(everyone, key=lambda who: _height(everyone[who][_RECOVERY]), reverse=True)
    return {who: everyone[who] for who in order}


def _height(figure: EstimateRecord) -> float:
    return float("-inf") if figure.estimate is None else float(figure.estimate)


def _forest(everyone: Mapping[str, Mapping[str, EstimateRecord]]) -> list[Drawing[Forest]]:
    shown = {who: of[_RECOVERY] for who, of in everyone.items() if of[_RECOVERY].estimate is not None}
    return forest_figure(
        [
            (printable(who, longest=_LONGEST), figure.estimate, figure.low, figure.high)
            for who, figure in shown.items()
        ],
        "stack-recovery",
        "Recovery",
        "Share of the possible gain that picks recover; those of the stack out of fold.",
        across="recovery",
        unit="share",
        roles=["judge" if who == _STACK else "other" for who in shown],
        said=[numbers.with_any_interval(figure, "share") for figure in shown.values()],
    )


def _added(document: StackFit) -> Iterator[Block]:
    weights = {feature.judge: feature.coefficient for feature in document.model.features if feature.kind == "score"}
    priced = any(worth.cost is not None for worth in document.worth.values())
    ends = numbers.interval_title(document.settings.confidence)
    columns = [Column("judge", "name"), Column("weight"), Column("recovery lost without it"), Column(ends)]
    columns += [Column("calls saved"), *([Column("cost saved")] if priced else [])]
    rows = []
    for judge, worth in list(document.worth.items())[:_MOST]:
        cost = numbers.NOTHING if worth.cost is None else numbers.number(worth.cost, "share")
        saved = [numbers.number(worth.calls, "share"), *([cost] if priced else [])]
        lost = (numbers.estimate(worth.loss, "points"), numbers.interval(worth.loss, "points"))
        rows.append((printable(judge, longest=_LONGEST), numbers.number(weights[judge]), *lost, *saved))
    if rows:
        yield Table.of(tuple(columns), rows, "Weights, and recovery without each judge")
        yield Said("note", "Weights are on one scale: of a difference in score that is usual for the judge.")
    if document.smallest is not None and len(document.smallest.judges) < len(weights):
        yield Said("finding", _smallest(document.smallest))
    for feature in document.model.features:
        if feature.kind != "score":
            whose = f" of {printable(feature.judge, longest=_LONGEST)}" if feature.judge else ""
            yield Said("finding", f"Weight of the {feature.kind}{whose}: {numbers.number(feature.coefficient)}.")
    if not rows:
        yield Said(
            "note", "Judges are not left out one by one: the stack takes one judge, or too few labels are whole."
        )


def _smallest(smaller: SmallerStack) -> str:
    names = ", ".join(printable(name, longest=_LONGEST) for name in smaller.judges)
    saved = f"{numbers.number(1 - smaller.calls, 'share')} of the calls"
    if smaller.cost is not None:
        saved += f" and {numbers.number(1 - smaller.cost, 'share')} of the cost"
    recovery = numbers.NOTHING if smaller.recovery is None else numbers.number(smaller.recovery, "share")
    return f"The fewest judges that keep 95% of the recovery: {names} (recovery {recovery}); they save {saved}."


def _calibrated(document: StackFit) -> Iterator[Block]:
    calibration = document.calibration
    if calibration.largest_gap is not None:
        role: Role = "caveat" if calibration.largest_gap > _TOO_FAR else "finding"
        gap = numbers.number(calibration.largest_gap, "points")
        yield Said(role, f"P(best) and the share of candidates that are the best differ by at most {gap}.")
    columns = (Column("P(best)", "name"), Column("mean P(best)"), Column("are the best"), Column("candidates"))
    rows = [
        (
            f"{numbers.percent(tenth.low)} to {numbers.percent(tenth.high)}",
            numbers.number(tenth.predicted, "share"),
            numbers.number(tenth.observed, "share"),
            numbers.count(tenth.candidates),
        )
        for tenth in calibration.tenths
    ]
    yield Table.of(columns, rows, "P(best) out of fold, by tenths")
