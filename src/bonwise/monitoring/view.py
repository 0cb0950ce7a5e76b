"""Labels as they come in: the verdict, and the looks that it rests on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from bonwise.monitoring.result import LabelCounts, Look, Monitor, RecoverySettings, VoteCounts
from bonwise.printable import printable
from bonwise.report import answers, numbers, table_facts
from bonwise.report.blocks import Block, Column, Drawing, Part, Row, Said, Table
from bonwise.report.figures.curves import Curve, Curves, Guide, curves_figure
from bonwise.report.limits import LABELS, limits
from bonwise.table import facts, reading_options

_LIMITS = ("Anything about prompts that were not labelled, unless labels were drawn at random.", LABELS)

_MOST_REASONS = 5
"""Reasons for which prompts were dropped that are told, the commonest first."""


_MORE = answers.steps("Label on in random order, with the same settings, then run bonwise monitor again.")
_DESIGN = answers.steps(
    "For a verdict on all prompts say how the labelled ones were drawn: --design uniform, or the record of it."
)
_EASY = answers.steps(
    "Name the candidates: --control leaves them out, --keep-easy counts them like any other candidate."
)


def describe(document: Monitor) -> Part:
    """Describe whether the labels so far are enough."""
    return Part(_title(document), list(_blocks(document)))


def _title(document: Monitor) -> str:
    settings = document.settings
    if not isinstance(settings, RecoverySettings):
        first, second = (printable(side, longest=40) for side in settings.sides)
        what = f"Votes for {first} over {second}, above {numbers.setting(settings.than)} or not"
    elif settings.half_width is not None:
        what = f"Recovery of {printable(settings.judge)}, to +-{numbers.setting(settings.half_width, 'points')}"
    else:
        what = f"Recovery of {printable(settings.judge)}, above {numbers.setting(settings.than or 0.0)} or not"
    return f"{what}, at {numbers.percent(settings.confidence)}"


def _blocks(document: Monitor) -> Iterator[Block]:
    yield Table.facts(_facts(document))
    if isinstance(document.data, VoteCounts):
        yield _votes(document.data)
    else:
        yield from _labels(document.data)
    if isinstance(document.settings, RecoverySettings):
        yield from table_facts.values_read_as(document.settings)
    yield answers.verdict(answer(document))
    if document.looks:
        yield from _course(document)
        yield _looks(document)
    now = document.now
    if now.estimate is not None and not document.looks:
        yield Said("finding", f"{_figure(document)} {numbers.estimate(now, 'share')} after {numbers.count(now.n)}")
    if now.reason is not None:
        yield Said("caveat", now.reason)
    for sentence in document.sentences:
        yield Said("caveat", sentence)
    yield limits(_LIMITS)


def _facts(document: Monitor) -> Iterator[tuple[str, str]]:
    settings = document.settings
    if isinstance(settings, RecoverySettings):
        yield "scores", document.data.source
        yield from table_facts.table_facts(settings.shape, settings.exclude, settings.columns, settings.label_scale)
    else:
        yield "votes", document.data.source
    yield "intervals", f"{numbers.percent(settings.confidence)}, which hold at all looks together"
    yield "bonwise", settings.version


def _votes(data: VoteCounts) -> Said:
    return Said(
        "note",
        f"{numbers.counted(data.votes, 'vote')} of {printable(data.source)}; {numbers.counted(data.ties, 'tie')}; "
        f"{numbers.count(data.blank)} blank",
    )


def _labels(data: LabelCounts) -> Iterator[Said]:
    partly = data.partly_labelled_prompts
    more = f", {numbers.count(partly)} partly and not counted yet" if partly else ""
    if data.clusters is not None:
        more = f", in {numbers.counted(data.clusters, 'cluster')}{more}"
    yield Said(
        "note",
        f"{numbers.count(data.labelled_prompts)} of {numbers.counted(data.prompts, 'prompt')} completely "
        f"labelled{more}",
    )
    for reason, times in Counter(one.reason for one in data.dropped).most_common(_MOST_REASONS):
        yield Said("caveat", f"dropped {numbers.counted(times, 'prompt')}: {printable(reason, longest=120)}")
    left_out = data.labels_left_out
    yield from table_facts.labels_left_out(left_out if isinstance(left_out, facts.LabelsLeftOut) else None)


def answer(document: Monitor) -> answers.StatedVerdict:
    """Return whether the labels so far are enough, and what they say."""
    word, state, says = _found(document)
    asks = "Are the votes enough?" if document.question == "preference" else "Are the labels enough?"
    return answers.StatedVerdict(word, state, says, document.now, question=asks, then=_then(document))


def _found(document: Monitor) -> tuple[str, answers.State, str]:
    found, data, now = document.verdict, document.data, document.now
    figure = (
        "no figure yet"
        if now.estimate is None
        else f"{_figure(document)} {numbers.with_any_interval(now, 'share')} after {_of(document)}"
    )
    if found == "continue":
        return found, "open", f"More labels are needed: {figure}."
    if document.describes == "labelled prompts" and isinstance(data, LabelCounts):
        about = f", for the {numbers.count(data.labelled_prompts)} labelled prompts"
        return f"{found}{about}", "open", f"The labels are enough: {figure}."
    state: answers.State = "bad" if found == "stop: not better" else "open" if document.suspicions else "good"
    return found, state, f"The labels are enough: {figure}."


def _then(document: Monitor) -> Sequence[Said]:
    if document.verdict == "continue":
        return _MORE
    if document.describes == "labelled prompts" and isinstance(document.data, LabelCounts):
        return _DESIGN
    if document.suspicions and document.verdict != "stop: not better":
        return _EASY
    if document.question == "preference":
        return ()
    audit = document.then("audit", takes=reading_options.ReadingKeywords, keep=_KEPT)
    return answers.steps("Stop labelling, and audit the judge on these labels:", audit)


_KEPT = {"label_file": "--labels", "design": "--design", "control": "--control", "keep_easy": "--keep-easy"}
"""What an audit on the same labels is told too."""


def _of(document: Monitor) -> str:
    """Return what the labels so far are on, counted."""
    return numbers.counted(document.now.n, "vote" if document.question == "preference" else "labelled prompt")


def _course(document: Monitor) -> list[Drawing[Curves]]:
    """Draw the figure and its interval by the labels that were there, where the rule looked more than once."""
    looks, what, than = document.looks, _figure(document), document.settings.than
    if len(looks) < 2:
        return []
    line = Curve(
        what,
        [look.n for look in looks],
        [look.estimate for look in looks],
        [look.low for look in looks],
        [look.high for look in looks],
        points=True,
    )
    last = numbers.with_any_interval(looks[-1], "share")
    says = f"{_upper(what)} and its interval at {numbers.counted(len(looks), 'look')}; at the last one, {last}."
    return curves_figure(
        [line],
        "monitor-looks",
        f"{_upper(what)} by labels",
        says,
        across="votes" if document.question == "preference" else "labelled prompts",
        up=what,
        guides=[] if than is None else [Guide(f"compared with {numbers.setting(than, 'share')}", y=than)],
        units=("number", "share"),
    )


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def _figure(document: Monitor) -> str:
    return "share" if document.question == "preference" else "recovery"


def _looks(document: Monitor) -> Table:
    stop = None if document.stopped is None else document.stopped.n
    columns = (
        Column("votes" if document.question == "preference" else "labelled", "name"),
        Column(_figure(document)),
        Column("interval"),
        Column("half-width", spare=2),
        *(() if stop is None else (Column("rule", "words", spare=1),)),
    )
    marks = [() if stop is None else ("stop" if look.n == stop else "",) for look in document.looks]
    looks = zip(document.looks, marks, strict=True)
    rows = [Row((*_row(look), *mark), strong=look is document.looks[-1]) for look, mark in looks]
    return Table(columns, rows, "Figures at each look")


def _row(look: Look) -> tuple[str, ...]:
    width = numbers.NOTHING if look.low is None else numbers.number(look.half_width, "points", like=look)
    return numbers.count(look.n), numbers.estimate(look, "share"), numbers.interval(look, "share"), width
