"""Which prompts to send to a stronger judge: what each signal captures, why, and which to take."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from bonwise.estimates import EstimateRecord
from bonwise.printable import file_name, printable, shell_flag
from bonwise.report import answers, numbers, samples, table_facts
from bonwise.report.answers import Outcome, State, StatedVerdict, outcome_of
from bonwise.report.blocks import Block, Column, Drawing, Part, Said, Table
from bonwise.report.figures.curves import Curve, Curves, Guide, curves_figure
from bonwise.report.limits import LABELS, OTHER_PROMPTS, limits
from bonwise.routing import result, result_router
from bonwise.table.reading_options import ReadingKeywords

_NEVER_ERRS = "What a real stronger judge is worth: the study takes the reference as a judge that never errs."

_PANELS = 3
"""Signals whose values are drawn, the one to take and the best of the others; the table holds them all."""

_ACROSS = "share of the prompts sent on"

_NO_FIGURE = "no figure"


def captured_curves(judge: result.JudgeRoute, share: float, key: str) -> list[Drawing[Curves]]:
    """Draw the part of the possible lift that each signal captures."""
    names = _ranked(judge, share)
    captured = ", ".join(f"{name} {_captured_on_curve(judge.studied[name].at(share))}" for name in reversed(names))
    return curves_figure(
        [_captured_by(name, judge.studied[name], foremost=name == names[-1]) for name in names],
        key,
        "Captured by share sent on",
        "Part of the possible lift over random routing that each signal captures; a perfect order captures 100%, a "
        f"random one 0%. With {numbers.percent(share)} sent on: {captured}.",
        across=_ACROSS,
        up="part of the possible lift",
        guides=[Guide(numbers.percent(share), x=share), Guide("random", y=0.0)],
        units=("share", "share"),
        at_ends=True,
    )


def value_curves(judge: result.JudgeRoute, share: float, key: str) -> Iterator[Drawing[Curves]]:
    """Draw the mean label by share sent on, for the signal to take and the best of the others."""
    for at, name in enumerate(_ranked(judge, share)[: -_PANELS - 1 : -1], start=1):
        yield from _value(name, judge, share, f"{key}-{at}")


def _ranked(judge: result.JudgeRoute, share: float) -> list[result_router.SignalName]:
    """Return the signals with figures; the one to take comes last and is drawn on top, before it the better ones."""
    studied, taken = judge.studied, judge.recommendation.signal
    return sorted(studied, key=lambda name: (name == taken, studied[name].at(share).captured or 0.0))


def _value(name: result_router.SignalName, judge: result.JudgeRoute, share: float, key: str) -> list[Drawing[Curves]]:
    shares = judge.studied[name].shares
    across = [sent.share for sent in shares]
    at, best = judge.studied[name].at(share), judge.perfect_at(share)
    value = numbers.Ends(at.value, at.value_low, at.value_high)
    chance = "" if at.at_random is None else f", {numbers.number(at.at_random, like=value)} at random"
    ends = "" if value.low is None else f" {numbers.interval(value)}"
    return curves_figure(
        [
            Curve("random order", across, [sent.at_random for sent in shares], role="random", dashed=True),
            Curve(
                "perfect order",
                [sent.share for sent in judge.perfect],
                [sent.value for sent in judge.perfect],
                role="oracle",
            ),
            Curve(
                name,
                across,
                [sent.value for sent in shares],
                [sent.value_low for sent in shares],
                [sent.value_high for sent in shares],
            ),
        ],
        key,
        f"Value by share sent on: {name}",
        f"Mean label with {numbers.percent(share)} sent on by {name}: {_mean(at.value, value)}{ends}, "
        f"{_mean(best.value, value)} in the perfect order{chance}.",
        across=_ACROSS,
        up="mean label",
        guides=[Guide(numbers.percent(share), x=share)],
        units=("share", "number"),
    )


def _captured_by(name: result_router.SignalName, signal: result.SignalRecord, *, foremost: bool) -> Curve:
    across, captured = [share.share for share in signal.shares], [share.captured for share in signal.shares]
    if not foremost:
        return Curve(name, across, captured, role="other", points=True)
    return Curve(
        name, across, captured, [share.low for share in signal.shares], [share.high for share in signal.shares]
    )


def _captured_on_curve(sent: result.RoutedShareRecord) -> str:
    if sent.captured is None:
        return _NO_FIGURE
    captured = numbers.Ends(sent.captured, sent.low, sent.high)
    return numbers.with_any_interval(captured, "share")


def _mean(value: float | None, like: numbers.Ends) -> str:
    return _NO_FIGURE if value is None else numbers.number(value, like=like)


_MARGINS = ("0 (tie)", "to 0.05", "to 0.10", "above")
_LEVELS = ("below 0.7", "to 0.8", "to 0.9", "from 0.9")

_TELLING = ("10%", "25%", "50%")
"""Shares that stay on a narrow terminal, beside the one asked for."""


def signal_table(judge: result.JudgeRoute, share: float) -> Table:
    """Return what each signal is worth at the share asked for."""
    columns = (
        Column("signal", "name"),
        Column("value", spare=3),
        Column("lift"),
        Column("captured"),
        Column("interval"),
        Column("corr(signal, gain)"),
        Column("its interval", spare=2),
        Column("n", spare=1),
    )
    rows: list[Sequence[str]] = []
    like: numbers.Ends | None = None
    for name, signal in judge.studied.items():
        at = signal.at(share)
        value = numbers.Ends(at.value, at.value_low, at.value_high)
        like = like or value
        rows.append(
            (
                name,
                numbers.estimate(value),
                numbers.number(at.lift, like=value, sign=True),
                numbers.estimate(numbers.Ends(at.captured, at.low, at.high), "share"),
                numbers.interval(numbers.Ends(at.captured, at.low, at.high), "share") if at.low is not None else "",
                numbers.estimate(signal.corr_gain),
                numbers.interval(signal.corr_gain),
                numbers.count(at.n),
            )
        )
    best = judge.perfect_at(share)
    last = (
        "perfect order",
        numbers.number(best.value, like=like),
        numbers.number(best.lift, like=like, sign=True),
        numbers.percent(1.0),
        "",
        "",
        "",
        numbers.count(best.n),
    )
    title = f"Sending {numbers.percent(share)} of the prompts on, over sending as many at random"
    return Table.of(columns, [*rows, last], title)


def worth_table(
    worth: result.RouteWorth, rows: Iterable[tuple[str, result.RoutedValue]], title: str, names: str = "picks by"
) -> Table:
    """Return what shares bring and take; differences are in the unit of the labels, or points of agreement."""
    agreement = worth.found_by == "reference"
    unit: numbers.Unit = "share" if agreement else "number"
    points = numbers.unit_of_difference(unit)
    listed = list(rows)
    columns: list[tuple[Column, Callable[[str, result.RoutedValue], str]]] = [
        (Column(names, "name"), lambda name, _: name),
        (Column("agreement" if agreement else "value"), lambda _, at: numbers.with_any_interval(at.value, unit)),
        (Column("recovery"), lambda _, at: "" if at.recovery is None else _kept(at)),
        (Column("above first judge", spare=2), lambda _, at: _difference(at, at.over_cheap, 0, points)),
        (
            Column(f"below {printable(worth.strong)}", spare=1),
            lambda _, at: _difference(at, at.under_strong, 1, points),
        ),
        (Column("calls"), lambda _, at: numbers.count(round(at.calls))),
        (Column("tokens"), lambda _, at: "" if at.tokens is None else numbers.count(round(at.tokens))),
        (Column("cost"), lambda _, at: "" if at.cost is None else f"${numbers.price(at.cost)}"),
    ]
    filled = [(column, cell) for column, cell in columns if any(cell(*row) for row in listed)]
    return Table.listing(filled, listed, f"{title}; calls, tokens and cost per 1,000 prompts")


def _difference(at: result.RoutedValue, figure: EstimateRecord, none_at: int, unit: numbers.Unit) -> str:
    return numbers.NOTHING if at.share == none_at else numbers.with_any_interval(figure, unit, sign=True)


def _alone_and_routed(worth: result.RouteWorth, share: float) -> Iterator[tuple[str, result.RoutedValue]]:
    yield "first judge alone", worth.frontier[0]
    if worth.routes:
        yield f"{numbers.percent(share)} sent on", worth.at(share)
    yield f"{printable(worth.strong)} alone", worth.frontier[-1]


def _kept(routed: result.RoutedValue) -> str:
    return numbers.with_any_interval(routed.main, "share")


def curve_table(judge: result.JudgeRoute, share: float) -> Table:
    """Return what each signal captures at every share."""
    shares = [sent.share for sent in judge.perfect if sent.share < 1]
    kept = (numbers.percent(share), *_TELLING)
    titles = [numbers.percent(share) for share in shares]
    spare = [title for title in titles if title not in kept]
    columns = [Column(title, spare=spare.index(title) + 1 if title in spare else 0) for title in titles]
    rows = [
        (name, *(_captured_in_table(signal.at(share)) for share in shares)) for name, signal in judge.studied.items()
    ]
    title = "Part of the possible lift captured, by share sent on"
    return Table.of((Column("signal", "name"), *columns), rows, title)


def factor_tables(judge: result.JudgeRoute) -> list[Table]:
    """Return how each signal goes with the two factors of the mean gain: over prompts, and over equal groups."""
    over_prompts = (
        Column("signal", "name"),
        Column("with wrong"),
        Column("interval", spare=4),
        Column("with gap"),
        Column("interval", spare=3),
        Column("with gain", spare=2),
        Column("interval", spare=1),
    )
    over_groups = (Column("signal", "name"), Column("with wrong"), Column("with gap"), Column("with gain"))
    of_best = (Column("signal", "name"), Column("with best label"), Column("interval"))
    prompts, groups, best = [], [], []
    for name, signal in judge.studied.items():
        parts = signal.decomposition
        if parts is not None:
            pairs = (_pair(figure) for figure in (parts.corr_wrong, parts.corr_gap, parts.corr_gain))
            prompts.append((name, *(cell for pair in pairs for cell in pair)))
            best.append((name, *_pair(parts.corr_best)))
            across = parts.across_bins
            groups.append((name, *(numbers.number(figure) for figure in (across.wrong, across.gap, across.gain))))
    return [
        Table.of(over_prompts, prompts, "Mean gain = P(wrong) x mean gap if wrong: correlations with each"),
        Table.of(of_best, best, "Correlations with the label of the best candidate"),
        Table.of(over_groups, groups, "The same correlations over 5 equal groups of prompts"),
    ]


def grid_table(grid: Sequence[Sequence[EstimateRecord]]) -> Table:
    """Return the mean gain by margin and mean score."""
    rows = [(margin, *map(_cell, row)) for margin, row in zip(_MARGINS, grid, strict=True)]
    columns = (Column("margin", "name"), *map(Column, _LEVELS))
    return Table.of(columns, rows, "Mean gain (and prompts) by margin and mean score")


def _captured_in_table(at: result.RoutedShareRecord) -> str:
    return numbers.estimate(numbers.Ends(at.captured, at.low, at.high), "share")


def _pair(figure: EstimateRecord | None) -> tuple[str, str]:
    return numbers.estimate(figure), numbers.interval(figure)


def _cell(figure: EstimateRecord) -> str:
    return numbers.NOTHING if figure.estimate is None else f"{numbers.estimate(figure)} ({numbers.count(figure.n)})"


_LIVE = "Save the rule, then pick by it with bonwise select --strong KIND:MODEL --route router.json:"
_NOT_YET = (
    "Do not route by this signal yet. Label more prompts, or score each candidate again or by another judge, so that "
    "more signals can be studied."
)
_KEPT = {
    "share": "--share",
    "mean_calls": "--mean-calls",
    "strong_cost": "--strong-cost",
    "judge": "--judge",
    "strong": "--strong",
    "target": "--target",
    "budget": "--budget",
    "prices": "--price",
    "confidence": "--confidence",
    "seed": "--seed",
}
"""Flags of what a router is made with."""

_MOST_REASONS = 3
"""Reasons for which prompts were dropped that are told."""

_NO_INTERVAL = "no interval: "

_ONE_ENOUGH = "one judge is enough"

_SAMPLED = (
    "Of the picks of {}, the largest gains and losses of labels by the stronger judge; those sent on come first."
)
_FIGURES = ("gain", "label of first judge", "label of stronger judge", "part sent on")

_QUESTIONS = ("Is a pick with a larger margin right more often?", "Does a larger margin mean less to gain?")


def describe(document: result.RouteStudy) -> Part:
    """Describe a study of routing: one part per judge, which ends with what to do."""
    settings, several = document.settings, len(document.judges) > 1
    against = printable(settings.strong or settings.reference or "a perfect judge")
    untold = () if settings.strong else (_NEVER_ERRS,)
    sampled = _SAMPLED.format(next(map(printable, document.judges), ""))
    return Part(
        f"Routing of {file_name(settings.source)} to {against}",
        [
            Table.facts(_facts(document)),
            *_verdict(document),
            *table_facts.labels_left_out(settings.labels_left_out, settings.unlabelled),
            *table_facts.values_read_as(settings),
            *(
                Part(
                    _title(name, judge.data),
                    list(_judge(judge, f"route-{at}", several=several)),
                    anchor=f"route-{at}",
                )
                for at, (name, judge) in enumerate(document.judges.items(), start=1)
            ),
            *(
                Said("caveat", f"not studied: {printable(name)}: {printable(reason)}")
                for name, reason in document.not_studied.items()
            ),
            *samples.part("Where the stronger judge gains or loses most", sampled, _FIGURES, document.samples),
            limits((*untold, OTHER_PROMPTS, LABELS)),
        ],
    )


def answer(document: result.RouteStudy) -> StatedVerdict | None:
    """Return which prompts a stronger judge should decide, or that none is shown to gain by it."""
    by_judge = {name: _answer(judge) for name, judge in document.judges.items()}
    helped = [name for name, stated in by_judge.items() if stated.word.startswith("route by")]
    alone = all(stated.word == _ONE_ENOUGH for stated in by_judge.values())
    then = [] if alone else answers.steps(_NOT_YET)
    if helped:
        whose = [shell_flag("--judge", helped[0])] if len(by_judge) > 1 else []
        flags = " ".join([*whose, "--save router.json"])
        then = answers.steps(_LIVE, document.then("route", flags, takes=ReadingKeywords, keep=_KEPT))
    return answers.of_judges(by_judge, "Which prompts should a stronger judge decide?", then)


def _verdict(document: result.RouteStudy) -> Iterator[Part]:
    stated = answer(document)
    if stated is not None:
        yield answers.verdict(stated)


def _facts(document: result.RouteStudy) -> Iterator[tuple[str, str]]:
    settings = document.settings
    yield "scores", settings.source
    yield "judges", numbers.count(len(document.judges))
    yield from table_facts.table_facts(settings.shape, settings.exclude, settings.columns, None)
    yield "intervals", f"{numbers.percent(settings.confidence)}, clustered by prompt"
    yield "seed", str(settings.seed)
    yield "bonwise", settings.version


def _title(name: str, data: result.RoutedData) -> str:
    weighted = ", weighted by 1 / propensity" if data.method == "weighted" else ""
    return (
        f"{printable(name)}: {numbers.count(data.labelled_prompts)} of {numbers.count(data.prompts)} prompts "
        f"labelled{weighted}"
    )


def _judge(judge: result.JudgeRoute, key: str, *, several: bool) -> Iterator[Block]:
    yield from _left_out(judge.data)
    yield Part("", list(_figures(judge, key)), anchor=f"{key}-figures")
    # Of one judge the verdict says what its signal captures.
    lead = [Said("lead", _answer(judge).says)] if several else []
    todo = [*lead, *_budget(judge.budget), *_recommendation(judge)]
    yield Part("", todo, "outcomes", anchor=f"{key}-what-to-do")


def _title_of(worth: result.RouteWorth) -> str:
    return {
        "named": f"Sending prompts on to {printable(worth.strong)}",
        "price": f"Sending prompts on to {printable(worth.strong)}, the most expensive judge",
        "reference": f"Agreement kept: {printable(worth.strong)} is the reference, not people",
    }[worth.found_by]


def _figures(judge: result.JudgeRoute, key: str) -> Iterator[Block]:
    share, worth = judge.recommendation.share, judge.worth
    yield from captured_curves(judge, share, f"{key}-captured")
    yield from value_curves(judge, share, f"{key}-value")
    if worth is not None:
        yield worth_table(worth, _alone_and_routed(worth, share), _title_of(worth))
        frontier = ((numbers.percent(routed.share), routed) for routed in worth.frontier)
        yield worth_table(worth, frontier, f"Every share sent on by {judge.recommendation.signal}", "sent on")
    yield signal_table(judge, share)
    for name, signal in judge.signals.items():
        if signal.reason is not None or signal.note is not None:
            yield Said("note", f"{name}: {signal.reason or signal.note}")
    yield from _without_interval(judge, share)
    yield curve_table(judge, share)
    yield from factor_tables(judge)
    if judge.gain_by_margin_and_level is not None:
        yield grid_table(judge.gain_by_margin_and_level)
    yield from _bound(judge, share)
    for question, check in zip(_QUESTIONS, (judge.confidence_calibrated, judge.voi_calibrated), strict=True):
        yield _check(question, check)


def _left_out(data: result.RoutedData) -> Iterator[Said]:
    if data.method == "labelled_only":
        yield Said("caveat", "Figures describe the labelled prompts; why the others lack labels is unknown.")
    if data.unscored:
        why = numbers.listed_counts((printable(reason), times) for reason, times in data.unscored.items())
        yield Said(
            "caveat", f"{numbers.counted(sum(data.unscored.values()), 'candidate')} without a first score: {why}"
        )
    if data.unscored_by_strong:
        yield Said(
            "caveat",
            f"left out, without a score of the stronger judge: {numbers.counted(data.unscored_by_strong, 'prompt')}",
        )
    if data.dropped:
        reasons = sorted({printable(prompt.reason) for prompt in data.dropped})
        more = ", ..." if len(reasons) > _MOST_REASONS else ""
        named = ", ".join(reasons[:_MOST_REASONS])
        yield Said("caveat", f"dropped {numbers.counted(len(data.dropped), 'prompt')}: {named}{more}")


def _without_interval(judge: result.JudgeRoute, share: float) -> Iterator[Said]:
    """Say why figures at the share asked for have no interval, each reason once."""
    names_by_reason: dict[str, list[str]] = {}
    for name, signal in judge.studied.items():
        corr = None if signal.corr_gain is None else signal.corr_gain.reason
        for figure, reason in (("captured", signal.at(share).reason), ("corr", corr)):
            if reason is not None and reason.startswith(_NO_INTERVAL):
                names_by_reason.setdefault(f"{figure} has {reason}", []).append(name)
    for reason, names in names_by_reason.items():
        yield Said("note", f"{', '.join(names)}: {reason}")


def _bound(judge: result.JudgeRoute, share: float) -> Iterator[Said]:
    for bounded in judge.bound:
        bound, achieved = bounded.bound, bounded.achieved
        if bounded.share != share or bound.estimate is None or achieved.estimate is None:
            continue
        reached = _with_ends(numbers.estimate(achieved, "share"), numbers.interval(achieved, "share"))
        yield Said(
            "note",
            "What these features predict here would lift the value by at most "
            f"{_with_ends(numbers.estimate(bound), numbers.interval(bound))}. A router that predicts more from them "
            f"may lift it further. expected_gain reaches {reached} of that bound; if expected gains were normally "
            f"distributed it would reach {numbers.number(bounded.gaussian, 'share')}.",
        )


def _check(question: str, check: result.CalibrationCheck) -> Said:
    evidence = check.correlation
    known = (
        "" if evidence.estimate is None else f": {_with_ends(numbers.estimate(evidence), numbers.interval(evidence))}"
    )
    return Said("note", f"{question} {check.answer}: {check.reason}{known}")


def _answer(judge: result.JudgeRoute) -> StatedVerdict:
    """Return whether the signal to take is shown to be better than a random choice, and what the route is worth."""
    route, worth = judge.recommendation, judge.worth
    captured, outcome = route.captured, outcome_of(route.captured)
    kept = "" if worth is None else f" {_worth(worth, route.share)}"
    if worth is not None and not worth.routes:
        who = printable(worth.strong) if worth.share else "the first judge"
        if worth.share is None:
            return StatedVerdict("no share fits", "bad", f"{(worth.reason or '').capitalize()}.{kept}")
        return StatedVerdict(_ONE_ENOUGH, "good", f"Let {who} decide every prompt.{kept}")
    figure = _with_ends(numbers.estimate(captured, "share"), numbers.interval(captured, "share"))
    what = (
        f"{numbers.percent(route.share)} of the prompts sent on by {route.signal} capture {figure} of the "
        f"possible lift.{kept}"
    )
    word, state, opening = _WORDS[outcome]
    if captured.estimate is None:
        word, opening, what = "undefined", "", f"What routing by {route.signal} captures is undefined.{kept}"
    elif worth is not None and outcome_of(worth.frontier[-1].over_cheap) == "below":
        word, state, opening = "do not send on", "bad", f"{printable(worth.strong)} picks worse: "
    elif worth is not None and outcome == "above" != outcome_of(worth.at(route.share).over_cheap):
        word, state, opening = "no gain shown", "open", "Routing is not shown to beat the first judge: "
    return StatedVerdict(word.format(route.signal), state, f"{opening.format(route.signal)}{what}", captured)


_WORDS: Mapping[Outcome, tuple[str, State, str]] = {
    "above": ("route by {}", "good", "Routing helps: "),
    "below": ("worse than random", "bad", "Routing by {} does harm: "),
    "open": ("no help shown", "open", "Routing is not shown to be better than random: "),
}
"""Word, state and first words by where the interval of what is captured lies."""


def _worth(worth: result.RouteWorth, share: float) -> str:
    """Say what the judges keep alone and, where a part is sent, what the route keeps and saves."""
    first, last = worth.frontier[0], worth.frontier[-1]
    strong, agrees = printable(worth.strong), worth.found_by == "reference"
    measure = f"Agreement with {strong}" if agrees else "Recovery"
    alone = f"{_kept(first)} by the first judge alone, {_kept(last)} by {strong} alone."
    if not worth.routes:
        return f"{measure}: {alone}"
    routed = worth.at(share)
    if routed.cost is not None and last.cost is not None:
        took, instead = (f"${numbers.price(amount)}" for amount in (routed.cost, last.cost))
        change = f" ({'saves' if routed.cost < last.cost else 'costs'} ${numbers.price(abs(last.cost - routed.cost))}"
        change += ")" if routed.cost < last.cost else " more)"
    else:
        took, instead, change = f"{numbers.count(round(routed.calls))} calls", numbers.count(round(last.calls)), ""
        change = f", about {numbers.count(round(share * last.calls))} of them of {strong}"
    return (
        f"{measure} is {_kept(routed)}: {alone} Per 1,000 prompts it takes {took}{change}; {strong} alone {instead}."
    )


_SENT: Mapping[str, tuple[str, Callable[[float], float]]] = {
    "margin": ("with the smallest margin between the two highest scores, up to", lambda signal: -signal),
    "interval_width": ("with the widest intervals, from a mean width of", lambda signal: signal),
    "draw_sd": ("whose repeated scores scatter most, from a mean standard deviation of", lambda signal: signal),
    "disagreement": (
        "on which other judges most often pick another candidate, from a chance of",
        lambda signal: signal,
    ),
    "p_best": ("whose pick is least likely to be the best, up to a chance of", lambda signal: 1 - signal),
}
"""Which prompts each signal that is not learnt sends, in words, and its threshold in their terms."""


def _recommendation(judge: result.JudgeRoute) -> Iterator[Said]:
    route = judge.recommendation
    if judge.worth is not None and judge.worth.shown_share is not None:
        yield Said(
            "finding", f"The target is shown to be reached from {numbers.percent(judge.worth.shown_share)} on."
        )
    if judge.worth is not None and not judge.worth.routes:
        return
    sent = "to send on" if _answer(judge).state == "good" else "that it would send on"
    which, turned = _SENT.get(route.signal, (f"with the highest {route.signal}, from", lambda signal: signal))
    # Adding 0 turns a negative zero into a plain 0.
    edge = numbers.brief(turned(route.threshold) + 0.0)
    yield Said("finding", f"The {numbers.percent(route.share)} of the prompts {sent} are those {which} {edge}.")
    for sentence in route.sentences:
        yield Said("finding", sentence)


def _budget(split: result.BudgetSplit | None) -> Iterator[Said]:
    if split is None:
        return
    gain = split.gain
    yield Said(
        "lead",
        f"Of {numbers.setting(split.mean_calls)} calls per prompt, a routed prompt costing "
        f"{numbers.setting(split.strong_cost)}: {split.sentence}",
    )
    yield Said(
        "finding",
        f"Expected gain in the mean label {_with_ends(numbers.estimate(gain), numbers.interval(gain))}; routing "
        f"alone {numbers.number(split.route_only, like=gain)}, further draws alone "
        f"{numbers.number(split.redraw_only, like=gain)}.",
    )


def _with_ends(figure: str, ends: str) -> str:
    """Return a figure with its interval, where it has one."""
    return figure if ends == numbers.NOTHING else f"{figure} {ends}"
