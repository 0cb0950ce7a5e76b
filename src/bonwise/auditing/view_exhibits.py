"""What a page shows beyond the figures: drawings of a judge, its worst prompts, what would change the verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from bonwise.auditing import figures, result, result_exhibits, result_verdict
from bonwise.metric_groups import unit_of
from bonwise.printable import printable
from bonwise.report import numbers, samples
from bonwise.report.blocks import Block, Card, CardMark, Cards, Column, Part, Row, Said, Step, Stepped, Table

_DRAWN = 4
"""Columns whose strata are drawn; drawings take time, and tables hold the same figures."""

_OF_STRATA = ("recovery", "within_r", "sign_agreement", "effective_agreement", "tie_rate", "top1_accuracy")
_FIRST_HIDDEN = len(_OF_STRATA) - 1


def drawn(
    judge: result.JudgeFound, exhibits: result_exhibits.JudgeExhibits | None, prefix: str, reference: str | None
) -> Iterator[Part]:
    """Yield the parts that hold drawings, of metrics even without exhibits; `prefix` is empty or ends in a hyphen."""
    key = prefix or "a-"
    chance = None if exhibits is None else exhibits.chance
    picks = figures.picks_figures(judge.metrics, chance, f"{key}picks", reference=reference)
    yield from _part("What the picks are worth", picks, f"{prefix}picks")
    labelled = judge.data.labelled_prompts < judge.data.prompts
    if exhibits is None:
        blocks = list(_strata(judge.strata or (), judge.strata_left_out or (), f"{key}strata", reference, labelled))
        yield from _part("Strata", blocks, f"{prefix}strata", "long")
        return
    differences = figures.difference_figures(exhibits.differences, f"{key}differences", reference=reference)
    yield from _part("Differences and ties", differences, f"{prefix}ties")
    spread = figures.spread_figures(
        exhibits.spread, f"{key}spread", metrics=judge.metrics, reference=reference, labelled=labelled
    )
    yield from _part("Between prompts and within them", spread, f"{prefix}spread")
    strata = list(_strata(exhibits.strata, exhibits.strata_left_out, f"{key}strata", reference, labelled))
    yield from _part("Strata", strata, f"{prefix}strata")


def _part(
    title: str, blocks: Sequence[Block], anchor: str, role: Literal["detail", "long"] = "detail"
) -> Iterator[Part]:
    if blocks:
        yield Part(title, blocks, role, anchor=anchor)


def _strata(
    strata: Sequence[result_exhibits.Stratum],
    left_out: Sequence[result_exhibits.ColumnLeftOut],
    key: str,
    reference: str | None,
    labelled: bool,
) -> Iterator[Block]:
    if len(strata) > _DRAWN:
        told = f"Of {numbers.count(len(strata))} columns the first {_DRAWN} are drawn; the others are tables alone."
        yield Said("finding", told)
    yield from figures.strata_figures(strata[:_DRAWN], key, labelled=labelled)
    yield from (_table(one, reference, labelled) for one in strata)
    for column in strata:
        for row in column.rows:
            whys = dict.fromkeys(figure.reason for figure in row.metrics.values() if figure.estimate is None)
            for why in whys:
                names = ", ".join(name for name, figure in row.metrics.items() if figure.reason == why)
                who = f"{printable(row.value, longest=40)} ({numbers.counted(row.prompts, 'prompt')})"
                yield Said("note", f"{printable(column.column, longest=40)} {who}: no {names}: {why}")
    yield from (Said("note", f"{one.column}: not shown: {one.reason}") for one in left_out)


def _table(stratum: result_exhibits.Stratum, reference: str | None, labelled: bool) -> Table:
    figures = [
        column
        for at, name in enumerate(_OF_STRATA)
        for column in (
            Column(numbers.named(name, reference), spare=at if at > 3 else 0),
            Column("its interval", spare=_FIRST_HIDDEN - at + 1),
        )
    ]
    rows = []
    for row in stratum.rows:
        found = [(row.metrics.get(name), unit_of(name)) for name in _OF_STRATA]
        cells = [cell for one, unit in found for cell in (numbers.estimate(one, unit), numbers.interval(one, unit))]
        rows.append((row.value, numbers.count(row.prompts), numbers.count(row.pairs), *cells))
    counts = (Column("labelled prompts" if labelled else "prompts"), Column("untied pairs", spare=1))
    columns = (Column(stratum.column, "name"), *counts, *figures)
    return Table.of(columns, rows, f"Metrics by {stratum.column}")


_LONGEST_NAME = 60
"""Letters of names in a row."""

_KEYS = "Arrow keys move from row to row, Enter opens one, and its address ends in #prompt-1, #prompt-2 and so on."


def worst_prompts(
    found: result_exhibits.WorstPrompts, *, several: bool, reference: str | None, more: str | None = None
) -> Iterator[Part]:
    """Yield the prompts whose pick lost something, rows of `several` judges together, and how many lost nothing."""
    label = numbers.named("label", reference)
    whose = "pair of a judge and a prompt" if several else "prompt"
    if not found.rows:
        if said := list(_left_out(found, whose)):
            yield Part("Where the judge lost most", [Said("finding", " ".join(said))], "detail", anchor="prompts")
        return
    found_out = [
        f"In {_plural(found.of, whose)} the pick lost something, the greatest loss first.",
        *_left_out(found, whose),
        f"The loss is the {label} of the best candidate minus the {label} of the pick, ties in expectation.",
    ]
    told = [Said("finding", " ".join(found_out)), Said("note", f"{_how_shown(found)} {_KEYS}")]
    rest = [] if more is None else [Said("note", "All prompts, one a row:", file=more)]
    columns = (
        Column("prompt", "name"),
        *((Column("judge", "words"),) if several else ()),
        Column("lost", sorted=True),
        Column("picked", "words"),
        Column("best", "words"),
        *(() if several else (Column("score of pick"),)),
        *(Column(title) for title in ("value of pick", "value of best", "tied at top", "margin")),
    )
    finder = Table(
        columns,
        [replace(_row(row, several=several), inside=list(_inside(row, label))) for row in found.rows],
        "Search prompts, candidates and the judge's words",
        role="finder",
        lines=[_row(line, several=several) for line in found.lines],
        kinds=[(kind.column, kind.value) for kind in found.kinds],
    )
    yield Part("Where the judge lost most", [*told, *rest, finder], "detail", anchor="prompts")


def _how_shown(prompts: result_exhibits.WorstPrompts) -> str:
    """Say which rows open, how many do not, and how many prompts have none."""
    rows, lines = len(prompts.rows), len(prompts.lines)
    absent = prompts.of + prompts.without_loss + prompts.unknown_loss - rows - lines
    without = f" The page has no room for {numbers.count(absent)} more." if absent else ""
    if not lines:
        return f"Each row opens to the pick beside the best candidate.{without}"
    first = "The first row opens" if rows == 1 else f"The first {numbers.count(rows)} rows open"
    have = "1 more has one line" if lines == 1 else f"{numbers.count(lines)} more have one line each"
    return f"{first} to the pick beside the best candidate; {have}, shown where scripts may run.{without}"


def _plural(many: int, noun: str) -> str:
    """Write a count with its noun, of which the first word has the plural."""
    first, *others = noun.split(" ", 1)
    return " ".join([numbers.counted(many, first), *others])


def _left_out(found: result_exhibits.WorstPrompts, whose: str) -> Iterator[str]:
    """Yield in how many the pick lost nothing, and of how many no loss is known."""
    if found.without_loss:
        who = "it" if found.rows else "the pick"
        yield f"In {_plural(found.without_loss, whose)} {who} lost nothing."
    if found.unknown_loss:
        yield f"In {_plural(found.unknown_loss, whose)} the loss is not known, because labels are missing."


def _row(line: result_exhibits.PromptLine, *, several: bool) -> Row:
    judge = ((printable(line.judge, longest=_LONGEST_NAME), None),) if several else ()
    cells: Sequence[tuple[str, float | None]] = (
        (line.prompt_id, None),
        *judge,
        (numbers.number(line.gain_lost), line.gain_lost),
        (_names(line.pick, line.pick_more), None),
        (_names(line.best, line.best_more), None),
        # Scores of several judges may be on scales of their own.
        *(() if several else ((numbers.number(line.score), line.score),)),
        (numbers.number(line.value_pick), line.value_pick),
        (numbers.number(line.value_best), line.value_best),
        (numbers.count(line.tied), line.tied),
        (numbers.number(line.margin), line.margin),
    )
    texts, values = zip(*cells, strict=True)
    excerpt = samples.excerpt(line.prompt) if isinstance(line, result_exhibits.PromptSeen) else ""
    return Row(texts, values=values, kinds=line.kinds, excerpt=excerpt)


def _names(shown: str, more: int) -> str:
    return f"{printable(shown, longest=_LONGEST_NAME)} and {numbers.count(more)} more" if more else shown


def _inside(one: result_exhibits.PromptSeen, label: str) -> Iterator[Block | Cards]:
    if one.prompt is not None:
        yield Part("Prompt", samples.quoted(one.prompt, one.prompt_left_out))
    cards = [(each, _card(each, one, label)) for each in one.candidates]
    beside = _beside(one.candidates)
    pair = sorted((one for one in cards if one[0] in beside), key=lambda card: not card[0].picked)
    others = [card for each, card in cards if each not in beside]
    yield Cards([card for _, card in pair])
    if others:
        yield Cards(others, folded=f"{numbers.counted(len(others), 'other candidate')}")
    if one.candidates_left_out:
        are = "is" if one.candidates_left_out == 1 else "are"
        yield Said("note", f"{numbers.counted(one.candidates_left_out, 'more candidate')} {are} not shown here.")
    if one.words_left_out:
        yield Said("note", "Texts of this prompt are left out to keep the page small.")


def _beside(candidates: Sequence[result_exhibits.CandidateSeen]) -> Sequence[result_exhibits.CandidateSeen]:
    """Return what stands side by side: the pick, of tied ones the first that is not best, and the best one."""
    picked = [candidate for candidate in candidates if candidate.picked and not candidate.best][:1]
    return [*picked, *[candidate for candidate in candidates if candidate.best][:1]]


def _card(one: result_exhibits.CandidateSeen, prompt: result_exhibits.PromptSeen, label: str) -> Card:
    tied = f", one of {numbers.count(prompt.tied)} tied" if prompt.tied > 1 else ""
    marks = [
        *([CardMark("picked", f"picked{tied}")] if one.picked else []),
        *([CardMark("best", "best")] if one.best else []),
    ]
    blocks: list[Said | Part] = [] if one.text is None else [*samples.quoted(one.text, one.text_left_out)]
    if one.raw is not None:
        blocks.append(Part("The judge's words", samples.quoted(one.raw, one.raw_left_out)))
    return Card(
        one.id, marks, (("score", numbers.number(one.score)), (label, numbers.number(one.label))), blocks=blocks
    )


_STATES: Mapping[result_verdict.Level, Literal["good", "bad", "open"]] = {
    "useful": "good",
    "weak": "bad",
    "harmful": "bad",
    "random": "bad",
    "inconclusive": "open",
}

_BOUNDS = "one-sided 95% bounds"

_LONGEST_SENTENCE = 700
"""Characters of a sentence."""

_COMPUTED = "Every outcome was computed with the audit, by the rules of its verdict and its gates."


def what_would_change(exhibits: result_exhibits.Exhibits | None, reference: str | None) -> Iterator[Part]:
    """Yield the section with the sliders; nothing where the exhibits hold none."""
    found = None if exhibits is None else exhibits.what_if
    if exhibits is None or found is None:
        return
    blocks: list[Block] = []
    if len(exhibits.judges) > 1:
        whose = printable(found.judge, longest=60)
        blocks.append(Said("finding", f"This is about {whose}, the judge with the largest recovery."))
    blocks.append(Said("note", _COMPUTED))
    inside = [_gate(found, found.gate, reference)]
    if found.share is not None:
        inside.append(_share(found, found.share, reference))
    if found.labels is not None:
        inside.append(_labels(found, found.labels))
    yield Part("What would change the verdict", [*blocks, *inside], "detail", anchor="what-if")


def _gate(found: result_exhibits.WhatIf, gate: result_exhibits.GateSteps, reference: str | None) -> Part:
    steps = [
        Step(
            numbers.setting(step.gate, "share"),
            step.level,
            _STATES[step.level],
            [step.state, *_figures(step.recovery, step.low, step.high, step.lower, step.upper)],
            f"{_short(step.sentence)} Gate {_short(numbers.named(_outcome(step), reference))}",
        )
        for step in gate.steps
    ]
    slider = Stepped(
        "gate-slider",
        "Gate on recovery",
        "gate",
        "verdict",
        ("--fail-under", *_titles(found)),
        steps,
        gate.current,
        "this audit",
    )
    return Part("The gate", [Said("note", _at_the_gate(gate)), slider], anchor="what-if-gate")


def _short(sentence: str) -> str:
    """Shorten what holds a name of any length, as it is said at every step."""
    return printable(sentence, longest=_LONGEST_SENTENCE)


def _outcome(one: result_exhibits.GateStep) -> str:
    """Say the outcome of a gate, without the reason that the verdict has said already."""
    what, of, reason = one.gate_sentence.partition(": inconclusive: ")
    return (
        f"{what}: inconclusive, for the same reason." if of and _begins(reason) in one.sentence else one.gate_sentence
    )


def _begins(reason: str) -> str:
    return reason.split(". ", maxsplit=1)[0].removesuffix(".")


def _at_the_gate(gate: result_exhibits.GateSteps) -> str:
    """Say where the verdict turns, and which figure decides what."""
    one = gate.steps[gate.current]
    ends, bounds = numbers.Ends(one.recovery, one.low, one.high), numbers.Ends(one.recovery, one.lower, one.upper)
    return (
        f"Recovery is {numbers.estimate(ends, 'share')} whatever the gate is. The verdict compares the gate with the "
        f"two-sided interval {numbers.interval(ends, 'share')}, and --fail-under with the one-sided 95% bounds "
        f"{numbers.interval(bounds, 'share')}."
    )


def _share(found: result_exhibits.WhatIf, share: result_exhibits.ShareSteps, reference: str | None) -> Part:
    steps = [
        Step(
            numbers.percent(step.share),
            step.level,
            _STATES[step.level],
            _figures(step.recovery, step.low, step.high, step.lower, step.upper),
            _short(step.sentence),
        )
        for step in share.steps
    ]
    slider = Stepped(
        "share-slider",
        "Share of the prompts sent to a stronger judge",
        "share sent",
        "verdict",
        _titles(found),
        steps,
        share.current,
        "without routing",
    )
    stronger = "is taken never to err" if reference is None else "always picks as the reference does"
    told = (
        f"The stronger judge {stronger}. The prompts are chosen by the signal {share.signal}, as in the part on "
        "routing."
    )
    own, first = found.gate.steps[0].recovery, share.steps[0].recovery
    if own is not None and first is not None and abs(own - first) > 1e-9:
        told = f"{told} Routing rests on the first score of each candidate, so recovery begins at another figure."
    return Part("The share sent to a stronger judge", [Said("note", told), slider], anchor="what-if-share")


def _labels(found: result_exhibits.WhatIf, labels: result_exhibits.LabelSteps) -> Part:
    with_chance = any(step.chance is not None for step in labels.steps)
    steps = [
        Step(
            numbers.count(step.prompts),
            step.level,
            _STATES[step.level],
            [
                numbers.count(step.labels),
                *_figures(step.recovery, step.low, step.high, step.lower, step.upper),
                _half_width(step),
                *([_chance(step.chance)] if with_chance else []),
            ],
            _short(step.sentence),
        )
        for step in labels.steps
    ]
    titles = ("labels", *_titles(found), "half-width", *(["chance to settle"] if with_chance else []))
    slider = Stepped(
        "labels-slider", "Labelled prompts", "prompts", "verdict", titles, steps, labels.current, "this audit"
    )
    notes = [Said("note", f"{_PROJECTION} {_GROW}" if labels.sampled else _PROJECTION), *_needed(labels.needed)]
    return Part("The number of labels", [*notes, slider], anchor="what-if-labels")


_PROJECTION = (
    "A projection: it assumes that recovery stays as it is and that the prompts to come are like the labelled ones."
)

_GROW = "Prompts without labels are taken to grow in number as the labelled do."


def _needed(needed: result_exhibits.LabelsNeeded | None) -> Iterator[Said]:
    if needed is None:
        return
    least, most = _prompts(needed.low), _prompts(needed.high)
    between = {
        (True, True): f" (95% interval {least} to {most})",
        (True, False): f" (95% interval from {least}, with no upper end)",
    }.get((needed.low is not None, needed.high is not None), "")
    yield Said(
        "finding",
        f"If this recovery is the true one, {numbers.counted(_up(needed.prompts), 'labelled prompt')}{between} "
        f"settle the verdict with a chance of {numbers.percent(needed.power)}.",
    )


def _up(value: float) -> int:
    return -int(-value // 1)


def _prompts(value: float | None) -> str:
    return numbers.NOTHING if value is None else numbers.count(_up(value))


def _titles(found: result_exhibits.WhatIf) -> Sequence[str]:
    return "recovery", numbers.interval_title(found.confidence), _BOUNDS


def _figures(
    recovery: float | None, low: float | None, high: float | None, lower: float | None, upper: float | None
) -> Sequence[str]:
    two_sided = numbers.Ends(recovery, low, high)
    return (
        numbers.estimate(two_sided, "share"),
        numbers.interval(two_sided, "share"),
        numbers.interval(numbers.Ends(recovery, lower, upper), "share"),
    )


def _half_width(one: result_exhibits.LabelStep) -> str:
    if one.low is None or one.high is None:
        return numbers.NOTHING
    return numbers.number((one.high - one.low) / 2, "points", like=numbers.Ends(None, one.low, one.high))


def _chance(value: float | None) -> str:
    """Write a chance in whole percent, never as certain."""
    if value is None:
        return numbers.NOTHING
    return "over 99%" if value > 0.99 else "under 1%" if value < 0.01 else numbers.percent(round(value, 2))


def describe(document: result_exhibits.Note) -> Part:
    """Describe what is in the place of a study."""
    return Part(document.title, [Said("finding", sentence) for sentence in document.sentences])
