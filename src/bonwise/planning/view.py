"""A plan: the study, what it takes, what it shows, and what to type next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bonwise.planning import result
from bonwise.printable import printable
from bonwise.report import answers, numbers
from bonwise.report.blocks import Block, Column, Drawing, Part, Said, Table, finding
from bonwise.report.figures.curves import Curve, Curves, Guide, curves_figure
from bonwise.report.limits import LABELS, limits
from bonwise.report.numbers import Ends, Unit, count, count_range, counted, number, percent, setting, with_interval
from bonwise.votes.result import ScreeningPower

_LIMITS = (
    "That the effect is there: the plan says what a study needs if the effect is as large as assumed.",
    "That the prompts to be labelled vary as the pilot or the assumptions say.",
    LABELS,
)

_STATES: dict[result.PlanVerdict, answers.State] = {"feasible": "good", "underpowered": "open", "infeasible": "bad"}

_LONGEST = 600
"""Characters of a sentence that names what the user named."""


def describe(document: result.Plan) -> Part:
    """Describe how many labels answer a question."""
    return Part(f"Plan for {document.question}: {_word(document)}", list(_blocks(document)))


def answer(document: result.Plan) -> answers.StatedVerdict:
    """Return whether the labels there are are enough; without a budget, how many prompts are needed."""
    says = " ".join(_deciding(document)) or f"The plan is {document.verdict}."
    state = "neutral" if _without_budget(document) else _STATES[document.verdict]
    says = says.replace("Feasible as far as known: it", "It")
    figure = None if document.labels is None else Ends(document.labels, *(document.interval or (None, None)))
    asks = f"How many labels answer the question {document.question}?"
    return answers.StatedVerdict(_word(document), state, says, figure, question=asks, then=list(_next(document)))


def _without_budget(document: result.Plan) -> bool:
    return document.labels is not None and document.settings.labels is document.settings.prompts is None


def _word(document: result.Plan) -> str:
    if document.allocation is not None:
        return f"{counted(document.labels or 0, 'further vote')}"
    if _without_budget(document):
        return f"{counted(document.prompts or 0, 'prompt')} {'is' if document.prompts == 1 else 'are'} needed"
    return document.verdict


def _deciding(document: result.Plan) -> Sequence[str]:
    """Return the sentence of the verdict, which says what it takes; the others say what that means."""
    return [sentence for sentence in document.sentences if sentence.startswith(document.verdict.capitalize())]


def _next(document: result.Plan) -> Iterator[Said]:
    """Yield the commands that draw, read and watch the labels, where there are enough of them as far as known."""
    if document.verdict == "underpowered":
        effect = "" if document.mde is None else f", or plan for {numbers.brief(document.mde)} ({document.mde_of})"
        yield Said("finding", f"Get more labels{effect}.")
    elif document.commands:
        scored = any("scores.csv" in line for line in document.commands)
        what = "Write your table of scores without labels to scores.csv" if scored else "Collect votes in votes.csv"
        yield Said("finding", f"{what}, then type:")
        yield from (Said("command", line) for line in document.commands)


def _blocks(document: result.Plan) -> Iterator[Block]:
    yield Table.facts(_facts(document.settings))
    asked = (
        []
        if document.labels is None or document.allocation is not None
        else [Part("", [Said("finding", _lead(document))], "detail")]
    )
    yield answers.verdict(answer(document), asked)
    if document.allocation is None:
        yield _study(document)
    yield from plan_curve(document)
    if document.power_table:
        yield _powers(document)
    yield from _of_votes(document)
    for sentence in document.sentences:
        if sentence not in _deciding(document):
            yield finding(printable(sentence, longest=_LONGEST))
    given = ", ".join(f"{name} {value}" for name, value in _given(document.settings))
    yield Said("note", f"Planned with {printable(given, longest=_LONGEST)}.")
    yield limits(_LIMITS)


def _facts(settings: result.PlanSettings) -> Iterator[tuple[str, str]]:
    if settings.exclude:
        yield "without", ", ".join(settings.exclude)
    if settings.columns:
        yield "columns", ", ".join(f"{role} from {column}" for role, column in settings.columns.items())
    yield "confidence", percent(settings.confidence)
    yield "bonwise", settings.version


def _lead(document: result.Plan) -> str:
    """Say what was asked for: a number of labels, and what they are to show."""
    settings, parts = document.settings, []
    if settings.power is not None:
        parts.append(f"with power {setting(settings.power)}")
    if settings.half_width is not None:
        parts.append(f"with a half-width of {setting(settings.half_width, 'points')}")
    effect = ", ".join(
        f"{name} {numbers.brief(value)}" for name, value in document.effect.items() if name != "half_width"
    )
    if effect:
        parts.append(f"planned for {effect}")
    counts = f"{counted(document.labels or 0, 'label')} on {counted(document.prompts or 0, 'prompt')}"
    verb = "answers" if document.labels == 1 else "answer"
    return f"{', '.join([f'{counts} {verb} {document.question}', *parts])}."


def _given(settings: result.PlanSettings) -> Iterator[tuple[str, str]]:
    """Yield what was given to plan with, but for what there is and what it costs."""
    for name, value in (
        ("candidates", settings.candidates),
        ("within_r", settings.within_r),
        ("rival_r", settings.rival_r),
        ("error_correlation", settings.error_correlation),
        ("r0", settings.r0),
        ("effect", settings.effect),
        ("half_width", settings.half_width),
        ("power", settings.power),
        ("confidence", settings.confidence),
    ):
        if value is not None:
            yield name, numbers.brief(value)
    if settings.method is not None:
        yield "method", settings.method
    if settings.raters is not None and settings.raters > 1:
        yield "raters", count(settings.raters)
    if settings.icc is not None:
        yield "icc", numbers.brief(settings.icc)
    if settings.one_cluster:
        yield "one_cluster", "True"
    if settings.tie_rate:
        yield "tie_rate", numbers.brief(settings.tie_rate)
    if settings.seed is not None:
        yield "seed", count(settings.seed)
    yield from _of_pilot(settings)


def _of_pilot(settings: result.PlanSettings) -> Iterator[tuple[str, str]]:
    for name in ("judge", "exclude", "pair_col", "lower_is_better", "missing"):
        if names := getattr(settings, name):
            yield name, ",".join(names)
    for name, word in (("verdict_col", settings.verdict_col), ("ties", settings.ties)):
        if word is not None:
            yield name, word
    if settings.columns:
        yield "columns", " ".join(f"{role}={column}" for role, column in settings.columns.items())


def _study(document: result.Plan) -> Table:
    columns = (Column("figure", "name"), Column("of the plan", "words"))
    return Table.of(columns, list(_figures(document)), "The study")


def _figures(document: result.Plan) -> Iterator[tuple[str, str]]:
    yield "design", f"{document.design}, {document.sides}-sided"
    yield "planned for", ", ".join(f"{name} {numbers.brief(value)}" for name, value in document.effect.items())
    yield "prompts", count(document.prompts)
    yield "labels", count(document.labels)
    drawn = document.redrawn
    if drawn is not None:
        allowing = drawn.allowing
        more = "-" if allowing is None else f"{count(allowing.labels)} on {counted(allowing.prompts, 'prompt')}"
        yield "labels, allowing for the pilot", more
    if document.interval is not None:
        low, high = document.interval
        yield "interval on labels", f"[{count(low)}, {'no end' if high is None else count(high)}]"
    if document.cost is not None:
        yield "cost", numbers.price(document.cost)
    if document.mde is not None:
        yield "smallest detectable", f"{numbers.brief(document.mde)} ({document.mde_of})"
    if document.design_effect is not None and document.design_effect != 1:
        yield "design effect", number(document.design_effect)
    if document.sequential is not None:
        yield "fixed / sequential", _sequential(document.sequential)
    if document.pilot is not None:
        yield "pilot", _pilot(document.pilot)
    if (screened := document.screening) is not None and screened.here.plan is not None:
        votes = count(screened.here.plan.votes)
        yield f"{votes} votes, in proportion / two stages", _both(screened.here.simulated)
        yield "the same without a preference on average", _both(screened.null)


def _both(shown: ScreeningPower | None) -> str:
    assert shown is not None  # noqa: S101 - of a plan that could be simulated
    return " / ".join(number(power, "share") for power in (shown.proportional, shown.two_stage))


def _sequential(found: result.SequentialRecord) -> str:
    return f"{count(found.fixed)} / {count_range(found.mean)} on average, {count(found.reserve)} in reserve"


def _pilot(found: result.PilotOfScores | result.PilotOfVotes) -> str:
    if isinstance(found, result.PilotOfVotes):
        size = f"{count(round(found.votes))} votes that count"
    else:
        size = counted(found.prompts, "labelled prompt")
    figure = f"{found.of} {with_interval(found)}"
    return f"{printable(found.source, longest=60)}: {size}, {printable(figure, longest=200)}"


def _powers(document: result.Plan) -> Table:
    columns = (Column("labels", "name"), Column("prompts"), Column(document.shows.replace("_", "-")))
    return Table.of(columns, [_power(row) for row in document.power_table], "What a study shows")


def _of_votes(document: result.Plan) -> Iterator[Table]:
    """Yield what is planned of types of prompts, and of the pairs of a pilot."""
    if document.screening is not None:
        yield Table.listing(
            (
                (Column("votes", "name"), lambda plan, _: count(plan.votes)),
                (Column("first, per type"), lambda plan, _: count(plan.each)),
                (Column("in proportion"), lambda _, shown: number(shown.proportional, "share")),
                (Column("two stages"), lambda _, shown: number(shown.two_stage, "share")),
                (Column("overlap"), lambda _, shown: number(shown.overlap)),
                (Column("mass kept"), lambda _, shown: number(shown.mass_kept, "share")),
            ),
            [(row.plan, row.simulated) for row in document.screening.curve],
            "How often 'no type has a preference' is rejected, simulated",
        )
    if document.pairs:
        titles = ("votes", "margin", "interval", "votes needed", "replay, in proportion", "in two stages")
        columns = [Column(title) for title in titles[: 6 if document.question == "screening" else 4]]
        rows = [tuple(_pair(row))[: len(columns) + 2] for row in document.pairs[:_MOST_PAIRS]]
        yield Table.of((Column("first", "name"), Column("second", "name"), *columns), rows, "Pairs of the pilot")
    if document.allocation is not None:
        more = [(printable(name, longest=60), count(votes)) for name, votes in document.allocation.more.items()]
        yield Table.of((Column("type", "name"), Column("further votes")), more[:_MOST_PAIRS], "Votes that types lack")


_MOST_PAIRS = 40


def _pair(row: result.PairOfPilot) -> Iterator[str]:
    yield from (printable(name, longest=32) for name in (row.first, row.second))
    margin = numbers.Ends(row.margin, row.low, row.high)
    yield from (count(round(row.votes)), numbers.estimate(margin, sign=True), numbers.interval(margin, sign=True))
    yield from (count(row.labels), number(row.proportional, "share"), number(row.two_stage, "share"))


def _power(row: result.PowerRow) -> Sequence[str]:
    shown = number(row.power, "share") if row.half_width is None else number(row.half_width, "points")
    return count(row.labels), count(row.prompts), shown


def plan_curve(document: result.Plan) -> list[Drawing[Curves]]:
    """Draw power, or half-width, by number of labels; nothing where no number of labels shows any."""
    power = document.shows == "power"
    found = [(row.labels, row.power if power else row.half_width) for row in document.power_table]
    known = [(labels, value) for labels, value in found if value is not None]
    if not known:
        return []
    unit: Unit = "share" if power else "points"
    name = document.shows.replace("_", "-")
    points = ", ".join(f"{number(value, unit)} with {count(labels)}" for labels, value in known)
    return curves_figure(
        [Curve(name, [labels for labels, _ in known], [value for _, value in known], points=True)],
        f"plan-{name}",
        "Power by number of labels" if power else "Half-width by number of labels",
        f"{name.capitalize()} {points} labels; lines only join the points. {_needed(document)}",
        across="labels",
        up="probability of finding the effect" if power else "half-width of the interval",
        guides=list(_guides(document)),
        units=("number", unit),
        up_to=1.0 if power else None,
    )


def _guides(document: result.Plan) -> Iterator[Guide]:
    settings = document.settings
    asked = settings.power if document.shows == "power" else settings.half_width
    if asked is not None:
        unit: Unit = "share" if document.shows == "power" else "points"
        yield Guide(f"asked for: {setting(asked, unit)}", y=asked)
    if document.labels is not None:
        yield Guide(f"{count(document.labels)} needed", x=document.labels)
    if settings.labels is not None and settings.labels != document.labels:
        yield Guide(f"{count(settings.labels)} there", x=settings.labels)


def _needed(document: result.Plan) -> str:
    needed, there = document.labels, document.settings.labels
    said = "No number of labels is enough" if needed is None else f"The plan takes {count(needed)}"
    return said + ("." if there is None else f"; there are {count(there)}.")
