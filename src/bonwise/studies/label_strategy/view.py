"""The study of ways of asking: the ways in one table, the pairs judged both ways, and a draw of pairs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

from bonwise.estimates import EstimateRecord
from bonwise.metric_groups import unit_of
from bonwise.printable import file_name, printable
from bonwise.report import answers, numbers
from bonwise.report.blocks import Block, Column, Drawing, Part, Said, Table
from bonwise.report.figures.forest import Forest, Row, forest_figure
from bonwise.report.table_facts import table_facts
from bonwise.studies.description import DescribedStudy, change_words
from bonwise.studies.label_strategy import result, verdicts_view
from bonwise.table.reading_options import ReadingKeywords

Ways = Mapping[str, result.WayMetrics]

RECOVERY = "recovery"

_NAMES: Mapping[str, str] = {
    "pointwise": "scores",
    "quantised": "scores in {bins} bins",
    "pairwise": "every pair",
    "pairwise_one_order": "every pair, one order",
    "sparse": "some pairs",
    "sparse_one_order": "some pairs, one order",
    "tie_break": "scores, top ties compared",
    "partial": "the pairs there are",
}

_SMALL = ("gain_per_call", "gain_per_1000_tokens")
"""Figures that have the same decimals all down their column."""

_CALLS, _WHOLE = "calls_per_prompt", "tokens_per_prompt"

_SPARE: Mapping[str, int] = {"gain_per_1000_tokens": 1, "tokens_per_prompt": 2, "top1_accuracy": 3, "within_r": 4}
"""When the column of a metric is left out on a narrow terminal."""

_SPARE_INTERVAL = 5


def way_name(name: str, settings: result.StrategiesSettings) -> str:
    """Return what a way is called."""
    return _NAMES[name].format(bins=settings.bins)


def asking_table(
    title: str,
    ways: Ways,
    judge: result.StrategiesJudge,
    settings: result.StrategiesSettings,
    titles: Mapping[str, str],
) -> Table:
    """Return one row per way: its metrics, of those that any way has, and what it recovers beyond scores."""
    known = [key for key in titles if any(_decimals_of(way, key) is not None for way in ways.values())]
    columns = (
        Column("way", "name"),
        *(Column(titles[key], spare=_SPARE.get(key, 0)) for key in known),
        Column("interval", spare=_SPARE_INTERVAL),
        Column("minus scores"),
        Column("interval"),
    )
    cells = [_column(key, ways.values()) for key in known]
    star = " *" if judge.data.method == "labelled_only" else ""
    rows = [
        (f"{way_name(name, settings)}{star}", *(column[at] for column in cells), *_against_scores(way))
        for at, (name, way) in enumerate(ways.items())
    ]
    return Table.of(columns, rows, title)


def _column(key: str, ways: Iterable[result.WayMetrics]) -> Sequence[str]:
    found = [_decimals_of(way, key) for way in ways]
    if key in _SMALL:
        return [numbers.number(value) for value in found]
    if key == _CALLS:
        return [numbers.NOTHING if value is None else numbers.brief(value) for value in found]
    if key == _WHOLE:
        return [numbers.NOTHING if value is None else numbers.count(round(value)) for value in found]
    return [numbers.estimate(_record(way, key), unit_of(key)) for way in ways]


def _against_scores(way: result.WayMetrics) -> tuple[str, str, str]:
    ends = numbers.interval(_record(way, RECOVERY), "share")
    if RECOVERY not in way.less:
        return ends, "", ""
    less = way.less[RECOVERY]
    return ends, numbers.estimate(less, "points", sign=True), numbers.interval(less, "points", sign=True)


def missing_figures(ways: Ways, settings: result.StrategiesSettings, titles: Mapping[str, str]) -> Iterator[str]:
    """Yield why figures are missing: those that one reason explains for the same ways share a line."""
    shared: dict[tuple[str, str], list[str]] = {}
    for key, title in titles.items():
        named_by: dict[str, list[str]] = {}
        for name, way in ways.items():
            found = _record(way, key)
            if found is not None and found.estimate is None:
                named_by.setdefault(found.reason or "", []).append(way_name(name, settings))
        for reason, names in named_by.items():
            shared.setdefault((reason, "; ".join(names)), []).append(title)
    for (reason, whose), found_titles in shared.items():
        yield printable(f"{'; '.join(found_titles)}: no figure for {whose}: {reason}", longest=400)


def missing_intervals(ways: Ways, settings: result.StrategiesSettings) -> Iterator[str]:
    """Yield why differences of recovery lack an interval, each reason once with the ways it holds for."""
    reasons: dict[str, list[str]] = {}
    for name, way in ways.items():
        less = way.less.get(RECOVERY)
        if less is not None and less.estimate is not None and less.low is None:
            reason = (less.reason or "").removeprefix("no interval: ")
            reasons.setdefault(reason, []).append(way_name(name, settings))
    for reason, names in reasons.items():
        told = f"recovery: no interval of the difference for {'; '.join(names)}: {reason}"
        yield printable(told, longest=400)


def partly_labelled(judge: result.StrategiesJudge, settings: result.StrategiesSettings) -> Iterator[str]:
    """Yield what a star says: that figures rest on the labelled prompts alone, and on how many."""
    data = judge.data
    if data.method == "labelled_only":
        scored = numbers.counted(data.prompts + data.unlabelled_prompts, "prompt")
        words = f"* from {numbers.count(data.prompts)} of {scored} scored completely: the others lack labels"
        yield numbers.named(words, settings.reference)


def _record(way: result.WayMetrics, key: str) -> EstimateRecord | None:
    return way.metrics.get(key)


def _decimals_of(way: result.WayMetrics, key: str) -> float | None:
    found = _record(way, key)
    return None if found is None else found.estimate


def pair_draw(document: result.PairDraw) -> DescribedStudy:
    """Describe pairs that were drawn."""
    settings = document.settings
    return DescribedStudy(
        title=f"Pairs drawn from {file_name(settings.source)}, seed {settings.seed}",
        heading="Pairs drawn to be judged",
        anchor="label-strategy-draw",
        limits=verdicts_view.LIMITS,
        together=list(_blocks(document)),
        facts=[
            ("scores", settings.source),
            ("judge", settings.judge),
            ("pools", settings.pools),
            *table_facts(settings.shape, settings.exclude, {}, None),
            ("seed", str(settings.seed)),
            ("bonwise", settings.version),
        ],
    )


def _blocks(document: result.PairDraw) -> Iterator[Block]:
    yield from (Said("finding", sentence) for sentence in document.sentences)
    for why, prompts in document.prompts_left_out.items():
        yield Said("caveat", f"left out {numbers.counted(prompts, 'prompt')}: {printable(why, longest=120)}")
    columns = (
        Column("gap of", "name"),
        Column("stratum", "name"),
        *(Column(title) for title in ("pairs", "drawn", "weight")),
    )
    rows = [
        (
            f"{one.gap_of} gap",
            one.stratum,
            numbers.count(one.pairs),
            numbers.count(one.drawn),
            numbers.brief(one.pairs / one.drawn),
        )
        for one in document.strata
    ]
    yield Table.of(columns, rows)


_PAIR_COLUMNS: Mapping[str, str] = {
    "tie_rate": "ties",
    "sign_agreement": "agreement, decided",
    "effective_agreement_decided": "agreement, ties 1/2",
    RECOVERY: "recovery",
}


def matched_pairs(judge: result.StrategiesJudge, settings: result.StrategiesSettings, suffix: str) -> Part:
    """Describe the pairs that were judged both ways."""
    found = judge.matched_pairs
    title = f"{numbers.counted(found.pairs, 'pair')} judged both ways"
    blocks: list[Block] = [
        *_pairs_figure(found, settings, suffix),
        asking_table(title, found.by_name, judge, settings, _PAIR_COLUMNS),
        *_by_gap(found, settings),
        *(Said("note", line) for line in dict.fromkeys(_missing_of_pairs(found, settings))),
    ]
    if found.weighted:
        blocks.append(Said("note", "Shares are weighted by how the pairs were drawn, counts are plain."))
    return Part("Best of two", blocks, anchor=f"label-strategy-pairs-{suffix}")


def _missing_of_pairs(found: result.MatchedPairs, settings: result.StrategiesSettings) -> Iterator[str]:
    yield from missing_figures(found.by_name, settings, _PAIR_COLUMNS)
    yield from missing_intervals(found.by_name, settings)


def _by_gap(found: result.MatchedPairs, settings: result.StrategiesSettings) -> Iterator[Block]:
    groups = found.where_pointwise_tied.by_gap
    if not groups:
        return
    gap = numbers.named("oracle gap", settings.reference)
    columns = (Column(gap, "name"), *(Column(title) for title in ("pairs", "decided", "accuracy", "interval")))
    rows = [
        (
            _gap_words(at, row),
            numbers.count(row.pairs),
            numbers.count(row.decided_pairs),
            numbers.estimate(row.accuracy, "share"),
            numbers.interval(row.accuracy, "share"),
        )
        for at, row in enumerate(groups)
    ]
    yield Table.of(columns, rows, f"Where scores tie, by {gap}")
    yield Said("note", f"Verdicts {_decided_words(found)}; accuracy is over those.")


def _gap_words(at: int, row: result.GapGroup) -> str:
    """Write the ends of a group of gaps, the first of which holds its lower end."""
    if at == 0 and row.low == row.high:
        return numbers.setting(row.low)
    return f"{'above ' if at else ''}{numbers.setting(row.low)} to {numbers.setting(row.high)}"


def _decided_words(found: result.MatchedPairs) -> str:
    """Say how many pairs that scores tie the verdicts decide: a plain count, and a share that may be weighted."""
    where = found.where_pointwise_tied
    share, weighted = where.decided.estimate, " weighted" if found.weighted else ""
    part = "" if share is None else f" ({numbers.number(share, 'share')}{weighted})"
    return f"decide {numbers.count(where.decided_pairs)} of {numbers.count(where.pairs)}{part}"


def _pairs_figure(
    found: result.MatchedPairs, settings: result.StrategiesSettings, suffix: str
) -> list[Drawing[Forest]]:
    groups = found.where_pointwise_tied.by_gap
    if not groups:
        return []
    return forest_figure(
        [
            (_gap_words(at, row), row.accuracy.estimate, row.accuracy.low, row.accuracy.high)
            for at, row in enumerate(groups)
        ],
        f"label-strategy-gaps-{suffix}",
        numbers.named("Accuracy where scores tie, by oracle gap", settings.reference),
        f"Of the pairs that scores tie, verdicts {_decided_words(found)}; the line is a coin's accuracy.",
        0.5,
        across="share of decided pairs that are right",
        unit="share",
    )


_SCORING: Literal["pointwise"] = "pointwise"

_COLUMNS: Mapping[str, str] = {
    "calls_per_prompt": "calls",
    "tokens_per_prompt": "tokens",
    "within_r": "within_r",
    "tie_rate": "ties",
    "effective_agreement": "agreement",
    "top1_accuracy": "top-1",
    "gain_per_call": "gain / call",
    "gain_per_1000_tokens": "gain / 1,000 tokens",
    RECOVERY: "recovery",
}

_EACH = {"every_pair": "every", "some_pairs": "some"}

_HOW = (
    "Ties are broken at random, in expectation. Verdicts of both orders are averaged, so that orders which "
    "contradict each other tie. A candidate's score from verdicts is what it earned on average over its pairs."
)


def strategies(document: result.StrategiesStudy) -> DescribedStudy:
    """Describe ways of asking: one part per judge."""
    settings = document.settings
    stated = {
        name: _answer(judge, document) for name, judge in document.judges.items() if _minus_scores(judge, document)
    }
    judges = {
        name: Part(_title(name, judge), list(_judge(judge, settings, str(at))))
        for at, (name, judge) in enumerate(document.judges.items(), start=1)
    }
    return DescribedStudy(
        title=f"Ways of asking a judge: {file_name(settings.source)}",
        heading="Ways of asking the judge",
        anchor="label-strategy",
        limits=verdicts_view.LIMITS,
        judges=judges,
        notes=[
            Said(
                "note",
                f"scores compared with {_verdicts_of(settings)}; in brackets {numbers.percent(settings.confidence)} "
                "intervals, clustered by prompt",
            )
        ],
        answers=stated,
        question="Is it better to ask for verdicts on pairs than for scores?",
        then=_then(document, stated),
    )


def _then(document: result.StrategiesStudy, stated: Mapping[str, answers.StatedVerdict]) -> Sequence[Said]:
    """Return how to ask on: by verdicts where those of a judge are shown to be better, else for scores."""
    if any(answer.word == _BETTER for answer in stated.values()):
        return answers.steps("Ask in the way that is shown to recover more, and audit the picks that it makes.")
    why = "Keep asking for scores: no other way is shown to recover more. What their picks are worth, an audit says:"
    return answers.steps(why, document.then("audit", takes=ReadingKeywords))


def _minus_scores(judge: result.StrategiesJudge, document: result.StrategiesStudy) -> dict[str, EstimateRecord]:
    """Return how ways of asking differ from scores: on the prompts with the most verdicts, else on single pairs."""
    groups = [group.by_name for group in judge.strategies.values()]
    return {
        way_name(name, document.settings): way.less[RECOVERY]
        for ways in [*groups, judge.matched_pairs.by_name][:1]
        for name, way in ways.items()
        if RECOVERY in way.less
    }


def _answer(judge: result.StrategiesJudge, document: result.StrategiesStudy) -> answers.StatedVerdict:
    """Return whether a way of asking recovers more than scores."""
    apart = _minus_scores(judge, document)
    better = [name for name, less in apart.items() if answers.outcome_of(less) == "above"]
    worse = [name for name, less in apart.items() if answers.outcome_of(less) == "below"]
    shown = {name: apart[name] for name in better} or apart
    name, best = max(shown.items(), key=lambda way: float("-inf") if way[1].estimate is None else way[1].estimate)
    pairs = "" if judge.strategies else f", on {numbers.counted(judge.matched_pairs.pairs, 'pair')} judged both ways"
    says = f"The way furthest above scores is {name}: recovery {change_words(best, RECOVERY)}{pairs}."
    if better:
        return answers.StatedVerdict(_BETTER, "good", says, best)
    if len(worse) == len(apart):
        return answers.StatedVerdict("scores are better", "good", f"Every other way recovers less. {says}", best)
    return answers.StatedVerdict("no difference shown", "open", says, best)


_BETTER = "verdicts are better"


def _title(name: str, judge: result.StrategiesJudge) -> str:
    data = judge.data
    lone = data.prompts_without_verdicts
    without = f", {numbers.count(lone)} of them without verdicts" if lone else ""
    prompts, pairs = numbers.counted(data.prompts, "prompt"), numbers.counted(data.pairs, "pair")
    return f"{printable(name, longest=60)}: {prompts}{without}; {pairs}"


def _verdicts_of(settings: result.StrategiesSettings) -> str:
    """Say whose verdicts were compared with scores, and which pairs they are on."""
    whose, file = (printable(one, longest=60) for one in (settings.pairwise, settings.verdicts))
    drawn = "" if settings.drawn is None else f", on the pairs drawn in {printable(settings.drawn, longest=60)}"
    return f"verdicts of {whose} in {file}{drawn}"


def _judge(judge: result.StrategiesJudge, settings: result.StrategiesSettings, suffix: str) -> Iterator[Block]:
    for sentence in judge.sentences:
        yield Said("finding", printable(sentence, longest=1000))
    for part, group in judge.strategies.items():
        title = f"Best of n on {numbers.counted(group.prompts, 'prompt')} with a verdict on {_EACH[part]} pair"
        yield from _ways_figure(title, group, settings, f"label-strategy-{part.replace('_', '-')}-{suffix}")
        yield asking_table(title, group.by_name, judge, settings, _COLUMNS)
        if part == "some_pairs" and group.candidates_in_no_pair:
            alone = numbers.counted(group.candidates_in_no_pair, "candidate")
            yield Said("caveat", f"In no pair, and counted as 1/2: {alone}.")
    for part, why in judge.no_strategies.items():
        yield Said("note", f"No table of {part.replace('_', ' ')}: {why}.")
    yield from (Said("note", line) for line in _missing(judge, settings))
    yield Part("", [Said("note", _HOW)], "detail")
    yield matched_pairs(judge, settings, suffix)
    # What a star says holds of both tables.
    yield from (Said("caveat", line) for line in partly_labelled(judge, settings))


def _missing(judge: result.StrategiesJudge, settings: result.StrategiesSettings) -> Iterator[str]:
    """Yield why figures and intervals are missing, each line once."""
    compared = [group.by_name for group in judge.strategies.values()]
    lines = [line for ways in compared for line in missing_figures(ways, settings, _COLUMNS)]
    lines += [line for ways in compared for line in missing_intervals(ways, settings)]
    yield from dict.fromkeys(lines)


def _ways_figure(
    title: str, group: result.PromptGroup, settings: result.StrategiesSettings, key: str
) -> list[Drawing[Forest]]:
    rows: list[Row] = []
    for name, way in group.strategies.items():
        found = way.metrics[RECOVERY]
        rows.append((way_name(name, settings), found.estimate, found.low, found.high))
    scores = numbers.estimate(group.strategies[_SCORING].metrics[RECOVERY], "share")
    return forest_figure(
        rows,
        key,
        "Recovery by the way of asking",
        f"{title}: scores recover {scores}, the highest is {_highest(rows)}.",
        across="recovery",
        roles=["judge" if name == "pointwise" else "other" for name in group.strategies],
        unit="share",
    )


def _highest(rows: list[Row]) -> str:
    known = [(value, name, numbers.Ends(value, low, high)) for name, value, low, high in rows if value is not None]
    if not known:
        return "unknown"
    _, name, found = max(known, key=lambda one: one[:2])
    return f"{numbers.estimate(found, 'share')} ({name})"


def described(document: result.LabelStrategyStudy) -> DescribedStudy:
    """Describe ways of asking a judge, verdicts alone, or pairs that were drawn."""
    if isinstance(document, result.StrategiesStudy):
        return strategies(document)
    if isinstance(document, result.VerdictsStudy):
        return verdicts_view.verdicts(document)
    if isinstance(document, result.PairDraw):
        return pair_draw(document)
    raise TypeError(f"{type(document).__name__} is no kind of this study")
