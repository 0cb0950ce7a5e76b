"""Models of a fit as a person reads them: ranked, compared, gaps explained, averages predicted, strengths."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from bonwise.factors import figures, human_view, result_models, view_answers
from bonwise.printable import printable
from bonwise.report.answers import verdict
from bonwise.report.blocks import Block, Column, Part, Said, Table
from bonwise.report.figures.forest import forest_figure
from bonwise.report.limits import limits
from bonwise.report.numbers import Ends, count, counted, estimate, interval, number, percent, setting, with_interval

if TYPE_CHECKING:
    from bonwise.factors import replacement

_LONGEST = 32
_PROMPTS_AT_A_GLANCE = 12
"""Prompts that a terminal shows."""


def _facts(document: Any, prompts: int | None = None) -> Table:
    """Return where a result comes from, and on how many prompts it rests."""
    rows = [("ratings", document.source), ("human rater", document.human)]
    rows += [] if prompts is None else [("prompts", count(prompts))]
    return Table.facts([*rows, ("intervals", percent(document.confidence)), ("bonwise", document.version)])


def _end(document: Any) -> Iterator[Block]:
    for note in document.notes:
        yield Said("caveat", printable(note))
    yield limits(view_answers.LIMITS)


def describe_draws(document: human_view.HumanView) -> Part:
    """Describe what a saved fit knows about whom."""
    return Part("Saved factor fit", list(_blocks_of_draws(document)))


def _blocks_of_draws(document: human_view.HumanView) -> Iterator[Block]:
    human, rates = printable(document.human, longest=_LONGEST), "compare" if document.side_by_side else "rate"
    yield Table.facts(
        [
            ("ratings", document.source),
            ("human rater", document.human),
            ("intervals", percent(document.confidence)),
            ("seed", str(document.seed)),
            ("bonwise", document.version),
        ]
    )
    yield Said(
        "lead",
        f"{counted(document.of_models.shape[0], 'draw')} of how {human} would {rates} "
        f"{counted(len(document.models), 'model')} on {counted(len(document.prompts), 'prompt')}, "
        f"from {counted(sum(document.human_ratings), 'human rating')}.",
    )
    names = zip(document.categories, document.points, strict=True)
    categories = [f"{printable(name, longest=_LONGEST)} ({setting(points)})" for name, points in names]
    yield Said("finding", f"Ratings and the points they count, lowest first: {', '.join(categories)}.")
    models = zip(document.models, document.human_ratings, strict=True)
    rows = [(printable(model, longest=_LONGEST), count(ratings)) for model, ratings in models]
    yield Table.of((Column("model", "name"), Column("human ratings")), rows, "Models")
    if any(document.prompt_categories):
        groups = Counter(document.prompt_categories).items()
        rows = [(printable(name, longest=_LONGEST) or "none", count(prompts)) for name, prompts in groups]
        yield Table.of((Column("category", "name"), Column("prompts")), rows, "Prompts by category")
    yield Part("Next", list(view_answers.next_steps(document)), "next", anchor="next")
    yield limits(view_answers.LIMITS)


def describe_comparison(document: result_models.FactorComparison) -> Part:
    """Describe where each of two models is better."""
    first, second = (printable(one, longest=_LONGEST) for one in (document.model, document.other))
    return Part(f"{first} against {second}", list(_blocks_of_comparison(document, first, second)))


def _blocks_of_comparison(document: result_models.FactorComparison, first: str, second: str) -> Iterator[Block]:
    yield _facts(document)
    yield verdict(view_answers.answer(document))
    better, worse = (sum(prompt.verdict == word for prompt in document.prompts) for word in ("better", "worse"))
    total = len(document.prompts)
    yield Said(
        "finding",
        f"Of {counted(total, 'prompt')} {first} is better on {count(better)} and {second} "
        f"on {count(worse)}; {count(total - better - worse)} are open. These verdicts hold together.",
    )
    if document.replacement is not None:
        yield from _replacement(document.replacement, first, second)
    if len(document.gaps) > 1:
        yield from forest_figure(
            [(_category_name(gap), gap.estimate, gap.low, gap.high) for gap in document.gaps],
            "factor-gaps",
            "Differences by category",
            f"Mean difference, {first} less {second}.",
            across="difference of capabilities",
        )
    yield _gaps(document.gaps)
    explained = document.gaps[0].explained
    if explained is not None:
        share = number(explained, "share")
        yield Said("note", f"Categories explain {share} of the variance of the differences between prompts.")
    columns = (
        Column("prompt", "name"),
        Column("category", "words", spare=2),
        Column("difference", sorted=True),
        Column("interval", spare=1),
        Column("simultaneous"),
        Column("verdict", "words"),
    )
    rows = Table.of(columns, map(_prompt_row, document.prompts), f"{first} less {second}").rows
    table = Table(columns, rows, f"{first} less {second}", at_a_glance=_PROMPTS_AT_A_GLANCE)
    for note in document.notes:
        yield Said("caveat", printable(note))
    yield Part("Every prompt", [table], anchor="prompts", folded=f"A table of {counted(total, 'prompt')}")
    yield limits(view_answers.LIMITS)


def _replacement(found: result_models.ReplacementRecord, first: str, second: str) -> Iterator[Block]:
    share = Ends(found.share, found.low, found.high)
    odds = number(math.exp(found.margin))
    facts = [
        ("margin", f"{setting(found.margin)} logits: the odds of the better rating times {odds}"),
        ("loses less", f"on {with_interval(share, 'share')} of the prompts"),
        ("shown for all together", f"on {count(found.shown)}, {number(found.shown_share, 'share')}"),
        ("shown to lose more", f"on {count(found.worse)}"),
    ]
    if found.routed is not None and found.routed_of is not None:
        facts.append(
            ("router sends", f"{count(found.routed)} of {count(found.routed_of)}, which lose less on average")
        )
    if found.routed_share is not None and found.routed_low is not None:
        low, each = (number(value, "share") for value in (found.routed_low, found.routed_share))
        facts.append(("of these", f"{each} lose less each, at least {low}"))
    if found.cost is not None and found.cost_of_other is not None:
        cost, alone = (setting(round(value, 6)) for value in (found.cost, found.cost_of_other))
        facts.append(("price of an answer", f"{cost} by the router, {alone} by {second} alone"))
    yield Table.of((Column(first, "name"), Column("", "words")), facts, f"Can {first} replace {second}?")
    if found.ties_not_shown:
        yield Said(
            "caveat",
            f"A tie is not equivalence: {counted(found.ties, 'prompt')} have an interval that holds 0, and on "
            f"{count(found.ties_not_shown)} of these {first} may be more than the margin worse.",
        )
    if found.routed is None:
        yield Said("caveat", "Give a table of prompts with tags (--prompts) for a router of new prompts.")


def describe_router(document: replacement.ModelRouter) -> Part:
    """Describe the rule."""
    first, second = (printable(one, longest=_LONGEST) for one in (document.model, document.other))
    figures_of = zip(document.columns, document.coefficients[1:], strict=True)
    rows = [(_column_name(one), one.kind, number(value)) for one, value in figures_of]
    says = (
        f"A prompt goes to {first} instead of {second} if prompts like it are shown to lose less than "
        f"{setting(document.margin)} logits on average. The rule rests on {counted(document.prompts, 'prompt')}; "
        f"without tags the difference is {number(document.coefficients[0])}."
    )
    table = Table.of((Column("prompts with", "name"), Column("read as", "words"), Column("adds")), rows)
    return Part("Router between two models", [Said("lead", says), table, limits(view_answers.LIMITS)])


def _category_name(one: result_models.GapRecord) -> str:
    return printable(one.category, longest=_LONGEST) or "all prompts"


def _gaps(gaps: list[result_models.GapRecord]) -> Table:
    columns = (Column("category", "name"), Column("prompts"), Column("mean difference"), Column("interval"))
    rows = []
    for gap in gaps:
        ends = Ends(gap.estimate, gap.low, gap.high)
        rows.append((_category_name(gap), count(gap.prompts), estimate(ends, sign=True), interval(ends)))
    return Table.of(columns, rows)


def _prompt_row(one: result_models.PromptDifference) -> tuple[str, ...]:
    ends = Ends(one.estimate, one.band_low, one.band_high)
    return (
        printable(one.prompt_id, longest=_LONGEST),
        printable(one.category, longest=_LONGEST),
        estimate(ends, sign=True),
        interval(Ends(one.estimate, one.low, one.high)),
        interval(ends),
        one.verdict,
    )


def describe_explanation(document: result_models.FactorExplanation) -> Part:
    """Describe what goes with the gaps between two models."""
    first, second = (printable(one, longest=_LONGEST) for one in (document.model, document.other))
    return Part(
        f"What explains the gap between {first} and {second}", list(_blocks_of_explanation(document, first, second))
    )


def _blocks_of_explanation(document: result_models.FactorExplanation, first: str, second: str) -> Iterator[Block]:
    yield _facts(document, document.prompts)
    yield verdict(view_answers.answer(document))
    clear = view_answers.clear_coefficients(document)
    if clear:
        largest = max(clear, key=lambda one: abs(one.estimate))
        better = first if largest.estimate > 0 else second
        yield Said("finding", f"Largest: {_column_name(largest)} favours {better}, {_coefficient_words(largest)}.")
    columns = (
        Column("prompts with", "name"),
        Column("read as", "meaning", spare=2),
        Column("prompts", spare=3),
        Column("adds to the gap"),
        Column("interval", spare=1),
        Column("simultaneous"),
    )
    yield from forest_figure(
        [
            (_column_name(coefficient), coefficient.estimate, coefficient.band_low, coefficient.band_high)
            for coefficient in document.coefficients
        ],
        "factor-explanation",
        "What adds to the gap",
        f"What each property of a prompt adds to the gap, {first} less {second}, with simultaneous intervals.",
        across="change of the gap between capabilities",
    )
    rows = [_coefficient_row(one) for one in (document.constant, *document.coefficients)]
    yield Table.of(columns, rows, f"Gap: {first} less {second}")
    yield Said("note", "Simultaneous intervals of all coefficients hold together with the stated confidence.")
    if document.left_out:
        left_out = ", ".join(f"{count(rows)} ({printable(why)})" for why, rows in document.left_out.items())
        yield Said("caveat", f"Prompts left out: {left_out}.")
    yield from _end(document)


def _column_name(one: result_models.GapCoefficient | replacement.RouterColumn) -> str:
    if one.kind == "constant":
        return "none of these"
    column = printable(one.column, longest=_LONGEST)
    return f"{column} = {printable(one.level, longest=_LONGEST)}" if one.level else column


def _coefficient_words(one: result_models.GapCoefficient) -> str:
    return with_interval(Ends(one.estimate, one.band_low, one.band_high), sign=True)


def _coefficient_row(one: result_models.GapCoefficient) -> tuple[str, ...]:
    ends = Ends(one.estimate, one.band_low, one.band_high)
    return (
        _column_name(one),
        printable(one.unit, longest=60),
        count(one.prompts),
        estimate(ends, sign=True),
        interval(Ends(one.estimate, one.low, one.high)),
        interval(ends),
    )


def describe_leaderboard(document: result_models.FactorLeaderboard) -> Part:
    """Describe the ranking."""
    scope = {"all": "all prompts", "category": "category", "prompt": "prompt"}[document.scope]
    name = "" if document.name is None else f" {printable(document.name, longest=60)}"
    return Part(f"Leaderboard on {scope}{name}", list(_blocks_of_leaderboard(document)))


def _blocks_of_leaderboard(document: result_models.FactorLeaderboard) -> Iterator[Block]:
    yield _facts(document, document.prompts)
    yield verdict(view_answers.answer(document))
    yield Said("finding", f"Capability on {counted(document.prompts, 'prompt')}, less the mean of all models.")
    columns = (
        Column("model", "name"),
        Column("capability", sorted=True),
        Column("interval", spare=2),
        Column("simultaneous"),
        Column("human ratings", spare=1),
    )
    rows = [
        (
            printable(model.model, longest=_LONGEST),
            estimate(Ends(model.estimate, model.band_low, model.band_high), sign=True),
            interval(Ends(model.estimate, model.low, model.high)),
            interval(Ends(model.estimate, model.band_low, model.band_high)),
            count(model.human_ratings),
        )
        for model in document.models
    ]
    yield from forest_figure(
        [(model.model, model.estimate, model.band_low, model.band_high) for model in document.models],
        "factor-leaderboard",
        "Models",
        "Capability less the mean of all models, with simultaneous intervals.",
        across="capability, less the mean",
    )
    yield Table.of(columns, rows, "Models, the best first")
    yield Said("note", "Simultaneous intervals of all models hold together with the stated confidence.")
    if document.cohesion is not None:
        yield Said("finding", _cohesion(document.cohesion))
    yield from _end(document)


def _cohesion(found: result_models.CohesionRecord) -> str:
    ends, adjusted = Ends(found.share, found.low, found.high), ""
    if found.p_adjusted is not None and found.categories is not None:
        adjusted = f"; adjusted for {count(found.categories)} categories, p = {number(found.p_adjusted)}"
    return (
        f"One skill carries {with_interval(ends, 'share')} of what the prompts of the category ask for; "
        f"p = {number(found.p)} against {counted(found.permutations, 'random set')} of as many prompts{adjusted}."
    )


def describe_prediction(document: result_models.FactorPrediction) -> Part:
    """Describe the averages."""
    return Part("Predicted averages", list(_blocks_of_prediction(document)))


def _blocks_of_prediction(document: result_models.FactorPrediction) -> Iterator[Block]:
    words = view_answers.WORDS_OF_PREDICTION[document.quantity]
    yield _facts(document)
    yield verdict(view_answers.answer(document))
    columns = (Column("model", "name"), Column(words, sorted=True), Column("interval"), Column("human ratings"))
    rows = []
    for model in document.models:
        ends = Ends(model.estimate, model.low, model.high)
        name = printable(model.model, longest=_LONGEST)
        rows.append((name, estimate(ends), interval(ends), count(model.human_ratings)))
    yield from forest_figure(
        [(model.model, model.estimate, model.low, model.high) for model in document.models],
        "factor-averages",
        "Predicted averages",
        f"Predicted {words} of each model.",
        None,
        across=words,
    )
    yield Table.of(columns, rows, "Models, the best first")
    if document.left_out is not None:
        yield from _left_out_part(document.left_out, words, "model")
    if document.left_out_categories is not None:
        yield Part("By category", list(_left_out_part(document.left_out_categories, words, "category")), "detail")
    yield from _end(document)


def _left_out_part(part: result_models.LeftOutPart, words: str, what: str) -> Iterator[Block]:
    middle, near = "the mean" if words == "mean rating" else "0", count(part.inside)
    slope = "" if part.slope is None else f" The slope of the truth on the prediction is {number(part.slope)}."
    yield Said(
        "finding",
        f"Without human ratings of the {what}, {near} of {counted(len(part.rows), 'prediction')} agree with the "
        f"truth within both margins of error (95 %), and {count(part.same_side)} are on the right side of {middle}. "
        f"The root mean squared difference is {number(part.rmse)}.{slope}",
    )
    if (trait := part.trait) is not None:
        seen = "People see a trait that no judge sees" if trait.p <= 0.05 else "No trait is shown that judges miss"
        sd = with_interval(Ends(trait.sd, trait.sd_low, trait.sd_high))
        p = "p < 0.001" if trait.p < 0.001 else f"p = {number(trait.p)}"
        least = "more than 5" if trait.detectable is None else number(trait.detectable)
        yield Said(
            "finding",
            f"{seen}: {p}, standard deviation {sd} logits. The test finds one of "
            f"{least} logits with a power of 80%. Intervals here count {number(trait.added_sd)} logits on top.",
        )
    named = [filter(None, (row.model, row.category)) for row in part.rows]
    names = [", ".join(printable(name, longest=_LONGEST) for name in pair) for pair in named]
    yield figures.truth_figure(dict(zip(names, part.rows, strict=True)), what, words)
    columns = (
        *(Column("model", "name"), Column("truth", sorted=True), Column("predicted"), Column("interval")),
        *(Column("off by (errors)", spare=1), Column("human ratings", spare=2)),
    )
    rows = []
    for name, row in zip(names, part.rows, strict=True):
        ends, errors = Ends(row.predicted, row.low, row.high), math.hypot(row.se, row.truth_se, 1e-12)
        off = number(abs(row.truth - row.predicted) / errors)
        rows.append((name, number(row.truth), estimate(ends), interval(ends), off, count(row.ratings)))
    yield Table.of(columns, rows, f"Truth and prediction, each {what} left out")


_ENDS = 10
"""Prompts shown at each end of the order; a page lists all of them too."""

_ENDS_AT_A_GLANCE = 5


def describe_strengths(document: result_models.FactorStrengths) -> Part:
    """Describe where the advantage of a model is largest and smallest."""
    return Part(
        f"Strengths and weaknesses of {printable(document.model, longest=_LONGEST)}",
        list(_blocks_of_strengths(document)),
    )


def _blocks_of_strengths(document: result_models.FactorStrengths) -> Iterator[Block]:
    yield _facts(document, document.advantage.prompts)
    whole = document.advantage
    yield verdict(view_answers.answer(document))
    yield Said(
        "finding",
        f"On {counted(whole.prompts, 'prompt')} the advantage over the mean of the other "
        f"{counted(document.models - 1, 'model')} is "
        f"{with_interval(Ends(whole.estimate, whole.low, whole.high), sign=True)} on average.",
    )
    if document.groups:
        yield Said("finding", _verdicts(document.groups, "group"))
        yield from forest_figure(
            [(_group_name(group), group.difference, group.band_low, group.band_high) for group in document.groups],
            "factor-strengths",
            "Strengths and weaknesses",
            "Advantage in each group less the model's mean advantage, with simultaneous intervals.",
            across="advantage, less the mean of all prompts",
        )
        yield _groups(document.groups)
    if document.numbers:
        yield _numbers_by_rank(document)
    yield Said("finding", _verdicts(document.prompts, "prompt"))
    top = document.prompts[:_ENDS]
    yield _table_of_prompts(top, "Prompts with the largest advantage", glance=_ENDS_AT_A_GLANCE)
    bottom = [prompt for prompt in reversed(document.prompts[-_ENDS:]) if prompt not in top]
    if bottom:
        yield _table_of_prompts(bottom, "Prompts with the smallest advantage", glance=_ENDS_AT_A_GLANCE)
    yield Said(
        "note",
        "A strength is an advantage above the model's own mean, a weakness one below it. The verdicts on all groups "
        "hold together with the stated confidence, and so do those on all prompts.",
    )
    for note in document.notes:
        yield Said("caveat", printable(note))
    folded = f"A table of {counted(len(document.prompts), 'prompt')}"
    yield Part("Every prompt", [_table_of_prompts(document.prompts, "")], "detail", folded=folded)
    yield limits(view_answers.LIMITS)


def _verdicts(rows: Sequence[result_models.GroupAdvantage | result_models.PromptAdvantage], what: str) -> str:
    strong, weak = (sum(row.verdict == word for row in rows) for word in ("strength", "weakness"))
    rest = len(rows) - strong - weak
    return f"Of {counted(len(rows), what)}: {count(strong)} strong, {count(weak)} weak, {count(rest)} open."


def _group_name(one: result_models.GroupAdvantage) -> str:
    column = printable(one.column, longest=_LONGEST)
    return f"{column} = {printable(one.level, longest=_LONGEST)}" if one.level else column


def _groups(groups: Sequence[result_models.GroupAdvantage]) -> Table:
    columns = (
        Column("group", "name"),
        Column("prompts", spare=3),
        Column("advantage", spare=2),
        Column("interval", spare=1),
        Column("less the mean", sorted=True),
        Column("simultaneous"),
        Column("verdict", "words"),
    )
    rows = []
    for group in groups:
        level, apart = (
            Ends(group.estimate, group.low, group.high),
            Ends(group.difference, group.band_low, group.band_high),
        )
        figures = (estimate(level, sign=True), interval(level), estimate(apart, sign=True), interval(apart))
        rows.append((_group_name(group), count(group.prompts), *figures, group.verdict))
    return Table.of(columns, rows, "Advantage by group of prompts")


def _numbers_by_rank(document: result_models.FactorStrengths) -> Table:
    on = [Column(words, spare=spare) for words, spare in 2 * (("prompts", 2), ("median", 1))]
    rows = []
    for one in document.numbers or ():
        sides = [text for side in (one.first, one.last) for text in (count(round(side.prompts)), with_interval(side))]
        rows.append((printable(one.column, longest=_LONGEST), *sides, with_interval(one, sign=True)))
    title = f"Median of each number where {printable(document.model, longest=_LONGEST)} is the first, then the last"
    return Table.of((Column("number", "name"), *on, Column("first less last")), rows, title)


def _table_of_prompts(prompts: Sequence[result_models.PromptAdvantage], title: str, glance: int = 0) -> Table:
    columns = (
        Column("prompt", "name"),
        Column("category", "words", spare=2),
        Column("advantage", spare=1),
        Column("less the mean"),
        Column("simultaneous"),
        Column("verdict", "words"),
    )
    rows = []
    for prompt in prompts:
        level, apart = (
            Ends(prompt.estimate, prompt.low, prompt.high),
            Ends(prompt.difference, prompt.band_low, prompt.band_high),
        )
        figures = (estimate(level, sign=True), estimate(apart, sign=True), interval(apart))
        names = (printable(prompt.prompt_id, longest=_LONGEST), printable(prompt.category, longest=_LONGEST))
        rows.append((*names, *figures, prompt.verdict))
    return Table(columns, Table.of(columns, rows).rows, title, at_a_glance=glance)
