"""Two sets of picks: what each is worth, what it took, and the differences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

from bonwise.auditing.view_judges import best_of
from bonwise.comparing.result import DECIDING, PickComparison, PicksSide, RegimeComparison, RegimePair
from bonwise.estimates import EstimateRecord
from bonwise.metric_groups import unit_of
from bonwise.printable import file_name, printable
from bonwise.report import answers, numbers, samples, table_facts
from bonwise.report.blocks import Block, Column, Drawing, Part, Said, Table
from bonwise.report.figures import forest, names
from bonwise.report.limits import LABELS, OTHER_CANDIDATES, OTHER_PROMPTS, limits
from bonwise.table.reading_options import ReadingKeywords

_LIMITS = (
    OTHER_PROMPTS,
    OTHER_CANDIDATES,
    LABELS,
    "That two sets of picks are equal: a difference that is not shown can be there.",
)

_GAIN = "gain"
_BY_CHANCE, _OF_PICKS, _OF_BEST = "value_random", "value_judge", "value_oracle"

_SHARES = (("recovery", "recovery"), ("top1_accuracy", "top-1 accuracy"), ("hit_rate", "hit rate"))

_Figures = Mapping[str, EstimateRecord]

_MOST_NAMES, _MOST_REASONS = 5, 5
"""Prompts of one set alone, and reasons for which prompts were dropped, that are named."""

_SAMPLED = "The prompts on which the labels of the two picks differ most, ties in expectation."
_FIGURES = ("first - second", "label of first", "label of second")

_MORE = answers.steps("To tell them apart label more prompts; bonwise plan says how many.")

_PATH = 100
"""Letters of a path in a sentence."""

_SUMMED_UP = (
    ("recovery", "Recovery"),
    ("gain", "Gain"),
    ("calls_per_prompt", "Calls per prompt"),
    ("tokens_per_prompt", "Tokens per prompt"),
)


def describe(document: PickComparison) -> Part:
    """Describe two sets of picks on the same prompts."""
    title = f"Picks of {file_name(document.first.source)} against {file_name(document.second.source)}"
    return Part(title, list(_blocks(document)))


def _blocks(document: PickComparison) -> Iterator[Block]:
    settings = document.settings
    confidence = numbers.percent(settings.confidence)
    yield Table.facts(
        [
            ("table", settings.shape),
            ("intervals", f"{confidence}, clustered by prompt"),
            ("bonwise", settings.version),
        ]
    )
    yield Said(
        "note",
        f"{numbers.counted(document.prompts, 'prompt')} in both; in brackets {confidence} intervals, paired by "
        "prompt",
    )
    yield answers.verdict(answer(document))
    yield from _left_out(document)
    differences: list[Block] = [*_findings(document), *compare_forests(document)]
    yield Part("First minus second", differences, "detail", anchor="differences")
    chosen = best_of(document.choice, "sets of picks")
    yield Part("", [_table(document), *chosen, *_notes(document)], anchor="sides")
    yield from samples.part("Where the picks differ most", _SAMPLED, _FIGURES, document.samples)
    yield limits(_LIMITS)


def answer(document: PickComparison) -> answers.StatedVerdict:
    """Return which picks are better by recovery, or by gain where recovery is undefined."""
    first, second = (file_name(side.source) for side in (document.first, document.second))
    return replace(_verdict(document), question=f"Which picks are better, those of {first} or those of {second}?")


def _verdict(document: PickComparison) -> answers.StatedVerdict:
    metric = next((name for name in DECIDING if document.differences[name].estimate is not None), None)
    if metric is None:
        lead = "Neither recovery nor gain is defined for both sets of picks."
        return answers.StatedVerdict("undefined", "open", lead)
    difference, unit = document.differences[metric], unit_of(metric)
    sides = [numbers.with_any_interval(side.metrics[metric], unit) for side in (document.first, document.second)]
    points = numbers.unit_of_difference(unit)
    size = numbers.estimate(difference, points, sign=True)
    figures = f"{metric} is {sides[0]} for the first and {sides[1]} for the second"
    if difference.low is None or difference.high is None:
        lead = f"The difference has no interval: {figures}, {size} apart."
        return answers.StatedVerdict("no interval", "open", lead, difference)
    figures += f", a difference of {size} {numbers.interval(difference, points, sign=True)}"
    spans = difference.low <= 0 <= difference.high
    if document.unsettled is not None and (difference.moved or not spans):
        lead = f"It is not settled which set of picks is better: {figures}, but {document.unsettled}."
        return answers.StatedVerdict("not settled", "open", lead, difference, then=_MORE)
    if spans:
        lead = f"Neither set of picks is shown to be better: {figures}."
        return answers.StatedVerdict("no difference shown", "open", lead, difference, then=_MORE)
    which = "first" if difference.low > 0 else "second"
    lead = f"The {which} set of picks is better: {figures}."
    why = f"Take the {which} set, and audit its picks on prompts of every kind that users ask:"
    then = answers.steps(why, document.then("audit", of=(which,), takes=ReadingKeywords, keep={"labels": "--labels"}))
    return answers.StatedVerdict(f"the {which} is better", "good", lead, difference, then=then)


def _left_out(document: PickComparison) -> Iterator[Said]:
    for side in (document.first, document.second):
        if side.only_here:
            names = ", ".join(printable(name, longest=40) for name in side.only_here[:_MOST_NAMES])
            more = ", ..." if len(side.only_here) > _MOST_NAMES else ""
            yield Said(
                "caveat", f"{numbers.count(len(side.only_here))} only in {file_name(side.source)}: {names}{more}"
            )
    for reason, times in Counter(prompt.reason for prompt in document.dropped).most_common(_MOST_REASONS):
        yield Said("caveat", f"dropped {numbers.counted(times, 'prompt')}: {printable(reason, longest=120)}")
    yield from table_facts.labels_left_out(document.settings.labels_left_out)
    yield from table_facts.values_read_as(document.settings)
    if document.unused_labels is not None:
        yield Said("caveat", document.unused_labels.sentence)


def _findings(document: PickComparison) -> Iterator[Said]:
    first, second = document.first, document.second
    yield Said("finding", f"First: {names.short(first.source, _PATH)}. Second: {names.short(second.source, _PATH)}.")
    for metric, words in _SUMMED_UP:
        own, other = first.metrics[metric], second.metrics[metric]
        if own.estimate is not None and other.estimate is not None:
            unit = unit_of(metric)
            apart = _difference(document.differences[metric], numbers.unit_of_difference(unit))
            yield Said(
                "finding",
                f"{words}: first {numbers.with_any_interval(own, unit)}, second "
                f"{numbers.with_any_interval(other, unit)}; {apart}.",
            )


def _difference(difference: EstimateRecord, unit: numbers.Unit) -> str:
    if difference.estimate is None:
        return "no difference can be computed"
    size, ends = numbers.estimate(difference, unit), numbers.interval(difference, unit, sign=True)
    figure = f"the first has {size.removeprefix('-')} {'less' if difference.estimate < 0 else 'more'}"
    if difference.estimate == 0:
        figure = "they do not differ"
    if difference.low is None or difference.high is None:
        return f"{figure} (no interval)"
    apart = difference.low > 0 or difference.high < 0
    return f"{figure}, and the interval of the difference {ends} {'excludes' if apart else 'holds'} 0"


def _table(
    document: PickComparison | RegimePair, title: str = "Worth and cost of both, and their differences"
) -> Table:
    columns = (
        Column("metric", "metric"),
        Column("first"),
        Column("[first]", spare=1),
        Column("second"),
        Column("[second]", spare=2),
        Column("first - second"),
        Column("[first - second]"),
    )
    rows = []
    for metric in document.metrics:
        difference = document.differences[metric]
        unit = unit_of(metric)
        apart = numbers.unit_of_difference(unit)
        both = (document.first.metrics[metric], document.second.metrics[metric])
        star = " *" if difference.method == "labelled_only" else ""
        sides = [cell for figure in both for cell in (numbers.estimate(figure, unit), numbers.interval(figure, unit))]
        rows.append(
            (
                metric + star,
                *sides,
                numbers.estimate(difference, apart, sign=True),
                numbers.interval(difference, apart, sign=True),
            )
        )
    return Table.of(columns, rows, title)


def _notes(document: PickComparison) -> Iterator[Said]:
    """Say why a figure is missing, each reason once, and what partial labels leave out."""
    reasons: dict[str, list[str]] = {}
    for metric in document.metrics:
        for reason in dict.fromkeys(_reasons(metric, document.first, document.second)):
            reasons.setdefault(reason, []).append(metric)
    for metric in document.metrics:
        difference = document.differences[metric]
        if difference.estimate is not None and difference.reason is not None:
            why = difference.reason.removeprefix("no interval: ")
            reasons.setdefault(f"no interval of the difference: {why}", []).append(metric)
    for reason, metrics in reasons.items():
        yield Said("note", f"{', '.join(metrics)}: {printable(reason, longest=200)}")
    if document.differences[_GAIN].method == "labelled_only":
        yield Said("caveat", "* from the completely labelled prompts alone")


def _reasons(metric: str, *sides: PicksSide) -> Iterator[str]:
    for side in sides:
        reason = side.metrics[metric].reason
        if reason:
            yield reason


def compare_forests(document: PickComparison) -> list[Drawing[forest.Forest]]:
    """Draw what the picks differ by, and their values."""
    differences = document.differences
    shares = {word: differences[key] for key, word in _SHARES}
    gain = {_GAIN: differences[_GAIN]}
    return [
        *forest.forest_figure(
            _rows(shares),
            "compare-shares",
            "Differences of the picks",
            f"First minus second, paired by prompt: {_in_words(shares, 'points', sign=True)}. Right of 0 the first "
            "is better.",
            across="first - second",
            unit="points",
        ),
        *forest.forest_figure(
            _rows(gain),
            "compare-gain",
            "Difference of the gain",
            f"First minus second, in the unit of the labels: {_in_words(gain, sign=True)}.",
            across="first - second, in units of the label",
            sign=True,
        ),
        *_values(document),
    ]


def _values(document: PickComparison) -> list[Drawing[forest.Forest]]:
    first, second = document.first.metrics, document.second.metrics
    values = [first[_BY_CHANCE], first[_OF_PICKS], second[_OF_PICKS], first[_OF_BEST]]
    words = _in_words(dict(zip(("random pick", "first", "second", "best candidate"), values, strict=True)))
    files = (f"first: {file_name(document.first.source)}", f"second: {file_name(document.second.source)}")
    shown = dict(zip(("random pick", *files, "best candidate"), values, strict=True))
    return forest.forest_figure(
        _rows(shown),
        "compare-values",
        "Value of the picks",
        f"Mean label: {words}. How sure the difference is, the paired drawings say, not these two intervals.",
        None,
        across="mean label",
        roles=("random", "judge", "other", "oracle"),
    )


def _rows(figures: _Figures) -> list[forest.Row]:
    return [(word, figure.estimate, figure.low, figure.high) for word, figure in figures.items()]


def _in_words(figures: _Figures, unit: numbers.Unit = "number", *, sign: bool = False) -> str:
    return "; ".join(
        f"{word} {numbers.with_any_interval(figure, unit, sign=sign)}"
        for word, figure in figures.items()
        if figure.estimate is not None
    )


def answer_of_regimes(document: RegimeComparison) -> answers.StatedVerdict | None:
    """Return for each judge whether its recovery differs between the two."""
    stated = {}
    for name, pair in document.judges.items():
        apart = pair.differences["recovery"]
        sides = " and ".join(
            numbers.with_any_interval(side.metrics["recovery"], "share") for side in (pair.first, pair.second)
        )
        outcome = answers.outcome_of(apart)
        word = {"above": "the first recovers more", "below": "the second recovers more"}.get(
            outcome, "no difference shown"
        )
        says = f"Recovery is {sides}: first less second {numbers.with_any_interval(apart, 'points', sign=True)}."
        stated[name] = answers.StatedVerdict(word, "open" if outcome == "open" else "neutral", says, apart)
    return answers.of_judges(stated, "Does the judge recover more on one set of prompts?", _REGIMES_NEXT)


_REGIMES_NEXT = answers.steps("Quote the figures of the prompts and candidates that your users choose from.")


def describe_regimes(document: RegimeComparison) -> Part:
    """Describe two audits side by side."""
    pairs, stated = list(document.judges.items()), answer_of_regimes(document)
    sources = [side.source for side in (pairs[0][1].first, pairs[0][1].second)]
    files = [file_name(source) for source in sources]
    if files[0] == files[1]:
        files = [printable(source, longest=200) for source in sources]
    confidence = numbers.percent(document.confidence)
    blocks: list[Block] = [] if stated is None else [answers.verdict(stated)]
    blocks.append(Said("note", f"{confidence} intervals by prompt; differences are of independent samples"))
    if document.shared_prompts:
        many = numbers.counted(document.shared_prompts, "prompt")
        blocks.append(Said("caveat", f"{many} of one name in both: these intervals are of prompts that differ"))
    for at, (name, pair) in enumerate(pairs, start=1):
        who = " and ".join(dict.fromkeys(printable(side.judge, longest=60) for side in (pair.first, pair.second)))
        counts = [numbers.counted(side.prompts, "prompt") for side in (pair.first, pair.second)]
        table = _table(pair, f"Both sets of prompts, and their differences for {printable(name, longest=60)}")
        blocks.append(Part(f"{who}: {' and '.join(counts)}", [table], anchor=f"regimes-{at}"))
    return Part(f"{files[0]} against {files[1]}", [*blocks, limits(_LIMITS)])
