"""The verdict of an audit, the gates, and what its page shows first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from bonwise.auditing import next_steps, result_exhibits, result_verdict, view_judges
from bonwise.auditing.result import Audit, AuditSettings, JudgeFound
from bonwise.metric_groups import METRICS_FIRST, unit_of
from bonwise.printable import printable
from bonwise.report import numbers
from bonwise.report.answers import State, StatedVerdict
from bonwise.report.blocks import Bar, BarMark, BarRow, Block, Column, Part, Role, Said, Table
from bonwise.stats.estimand import Metric

_LONGEST = 60
"""Letters of a name beside the bar."""


def recovery_bar(judge: JudgeFound, settings: AuditSettings) -> list[Bar]:
    """Return the figure that decides with its interval between nothing, the gate and the best, if there is one."""
    name = result_verdict.DECIDES[settings.target]
    rows = [_bar_row(title, found, unit_of(name)) for title, found in _figures(judge, name, settings)]
    return [_bar(rows, settings)] if rows else []


def bar_of_best(document: Audit) -> Iterator[Bar]:
    """Yield the recovery of the best of several judges, with the interval that holds after it was chosen."""
    settings, metric = document.settings, result_verdict.DECIDES[document.settings.target]
    choice = document.choice.get(metric)
    if choice is not None:
        name, after = choice.best[0], choice.after
        found: numbers.Bounded = numbers.Ends(choice.estimate, *(after or (None, None)))
        after_choice = "" if after is None else ", after the choice"
    else:
        name, judge = next(iter(view_judges.by_recovery(document.judges).items()))
        if metric not in judge.metrics or judge.metrics[metric].estimate is None:
            return
        found, after_choice = judge.metrics[metric], ""
    title = f"Best {numbers.named(metric, settings.reference)}: {printable(name, longest=_LONGEST)}"
    yield _bar([_bar_row(title, found, unit_of(metric), after_choice)], settings)


def what_would_change(
    judge: JudgeFound, settings: AuditSettings, shown: result_exhibits.JudgeExhibits | None
) -> Iterator[Said]:
    """Yield how far the verdict is from another one; nothing where no figure says it."""
    name, gate = settings.deciding
    unit, found = unit_of(name), judge.metrics.get(name)
    if judge.verdict.level == "random":
        yield Said("finding", "Only scores that differ within prompts would change this.")
    elif judge.suspicions:
        yield from _once_settled(judge, name, gate, unit)
    elif found is not None and found.low is not None and found.high is not None:
        yield Said("finding", " ".join(_from_the_gate(found, gate, unit, shown)))


def what_would_change_several(document: Audit, exhibits: result_exhibits.Exhibits | None) -> Iterator[Said]:
    """Yield how many verdicts on several judges are not settled, and what would settle the nearest one."""
    name, gate = document.settings.deciding
    unsettled = [who for who, judge in document.judges.items() if _spans(judge.metrics.get(name), gate)]
    if not unsettled:
        return
    written = numbers.setting(gate, unit_of(name))
    many = f"{numbers.count(len(unsettled))} of {numbers.count(len(document.judges))} intervals"
    told = f"{many} {'spans' if len(unsettled) == 1 else 'span'} the gate of {written}."
    nearest = min(_to_be_useful(document, exhibits, unsettled), default=None)
    if nearest is not None:
        prompts, who = nearest
        told += (
            f" About {numbers.counted(prompts, 'more labelled prompt')} would show that "
            f"{printable(who, longest=_LONGEST)} is useful, if its estimate holds."
        )
    yield Said("finding", told)


def _to_be_useful(
    document: Audit, exhibits: result_exhibits.Exhibits | None, unsettled: Sequence[str]
) -> Iterator[tuple[int, str]]:
    """Yield how many more labelled prompts would decide for judges whose estimate is above the gate."""
    if exhibits is None:
        return
    metric, gate = document.settings.deciding
    for who in unsettled:
        found = document.judges[who].metrics.get(metric)
        shown = exhibits.judges.get(who)
        if shown is None or shown.to_decide is None or shown.to_decide.prompts is None:
            continue
        if found is not None and found.estimate is not None and found.estimate > gate:
            yield shown.to_decide.prompts, who


def next_part(then: Sequence[Said]) -> Iterator[Part]:
    """Yield what to type next, `then` without its lead, for the box of a verdict; nothing where there is none."""
    steps = [one for one in then if one.role != "lead"]
    if steps:
        yield Part("Next", steps, "next", anchor="next")


def _figures(judge: JudgeFound, name: str, settings: AuditSettings) -> Iterator[tuple[str, numbers.Bounded]]:
    """Yield the figure that decides, and where an easy candidate is known the same without it or with it."""
    found, word = judge.metrics.get(name), numbers.named(name, settings.reference)
    for one in judge.suspicions or ():
        if one.names and one.metric == name:
            candidate = printable(" and ".join(one.names), longest=_LONGEST)
            both = (("with", one.with_candidate), ("without", one.without_candidate))
            yield from (
                (f"{word} {how} {candidate}", ends) for how, ends in both if ends is not None and _known(ends)
            )
            return
    if found is None or not _known(found):
        return
    alone = " of the labelled prompts" if found.method == "labelled_only" else ""
    yield f"{word}{alone}", found
    controlled = (judge.with_control or {}).get(name)
    if controlled is not None and _known(controlled):
        yield f"{word} with the control", controlled


def _known(found: numbers.Bounded) -> bool:
    return found.estimate is not None


def _bar_row(title: str, found: numbers.Bounded, unit: numbers.Unit, after: str = "") -> BarRow:
    assert found.estimate is not None  # noqa: S101 - the callers leave the others out
    ends = "no interval" if found.low is None else numbers.interval(found, unit)
    return BarRow(
        _upper(title), numbers.estimate(found, unit), f"{ends}{after}", found.estimate, found.low, found.high
    )


def _bar(rows: Sequence[BarRow], settings: AuditSettings) -> Bar:
    _, gate = settings.deciding
    if settings.target == "system":
        marks = (
            BarMark(0.0, "random", "none 0"),
            BarMark(gate, "gate", f"gate {numbers.setting(gate)}"),
            BarMark(1.0, "oracle", "perfect 1"),
        )
    else:
        marks = (
            BarMark(0.0, "random", "random 0%"),
            BarMark(gate, "gate", f"gate {numbers.setting(gate, 'share')}"),
            BarMark(1.0, "oracle", numbers.named("oracle 100%", settings.reference)),
        )
    figures = "; ".join(f"{row.title} {row.figure} {row.ends}" for row in rows)
    return Bar(rows, marks, f"{figures}. On one line with: {', '.join(mark.text for mark in marks)}.")


def _spans(found: numbers.Bounded | None, gate: float) -> bool:
    return found is not None and found.low is not None and found.high is not None and found.low <= gate <= found.high


def _once_settled(judge: JudgeFound, name: str, gate: float, unit: numbers.Unit) -> Iterator[Said]:
    """Yield on which side of the gate the figures are that a suspicion leaves open."""
    for one in judge.suspicions or ():
        if one.with_candidate is not None and one.without_candidate is not None:
            sides = [_side(ends, gate) for ends in (one.with_candidate, one.without_candidate)]
            if all(sides):
                them = "it" if len(one.names) == 1 else "them"
                candidate = printable(" and ".join(one.names), longest=_LONGEST)
                yield Said(
                    "finding",
                    f"What changes this is your choice: with {candidate} the interval lies {sides[0]} the gate of "
                    f"{numbers.setting(gate, unit)}, without {them} {sides[1]}.",
                )
    if any(one.kind == "missing labels" for one in judge.suspicions or ()):
        found = judge.metrics.get(name)
        if found is not None and (side := _side(found, gate)):
            yield Said(
                "finding",
                f"The interval of the labelled prompts lies {side} the gate of {numbers.setting(gate, unit)}: it "
                "speaks for all prompts once you state how they were chosen.",
            )


def _side(found: numbers.Bounded, gate: float) -> str:
    if found.low is None or found.high is None:
        return ""
    return "above" if found.low > gate else "below" if found.high < gate else "on both sides of"


def _from_the_gate(
    found: numbers.Bounded, gate: float, unit: numbers.Unit, shown: result_exhibits.JudgeExhibits | None
) -> Iterator[str]:
    assert found.low is not None  # noqa: S101 - the caller asks
    assert found.high is not None  # noqa: S101
    written = numbers.setting(gate, unit)
    if found.low > gate:
        above = _apart(found.low - gate, unit, found)
        yield (
            f"The interval begins {above} above the gate of {written}: only a gate of "
            f"{numbers.against(found.low, gate, unit, like=found)} or more would change this."
        )
    elif found.high < gate:
        below = _apart(gate - found.high, unit, found)
        yield (
            f"The interval ends {below} below the gate of {written}: more labels like "
            "these are unlikely to change this."
        )
        if found.low > 0:
            yield f"This judge would pass a gate below {numbers.number(found.low, unit, like=found)}."
    else:
        yield f"The interval spans the gate of {written}."
        yield from _more_labels(shown)


def _more_labels(shown: result_exhibits.JudgeExhibits | None) -> Iterator[str]:
    if shown is None or shown.to_decide is None:
        yield "More labels would make it narrower."
    elif shown.to_decide.prompts is None:
        yield "The estimate is too close to the gate to say how many more labels would decide."
    else:
        prompts, labels = shown.to_decide.prompts, shown.to_decide.labels
        of = "" if labels is None else f" ({numbers.counted(labels, 'candidate label')})"
        yield f"About {numbers.counted(prompts, 'more labelled prompt')}{of} would decide, if the estimate holds."


def _apart(distance: float, unit: numbers.Unit, like: numbers.Bounded) -> str:
    """Write how far an end is from the gate, with its decimals, or with more where it would be written as 0."""
    return numbers.against(distance, 0.0, numbers.unit_of_difference(unit), like=like)


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def answer(document: Audit) -> StatedVerdict:
    """Return whether the judge is good enough for the decision; of several, how many are."""
    settings, metric = document.settings, result_verdict.DECIDES[document.settings.target]
    then = [step for step in next_steps.next_in_python(document) if step.role != "lead"]
    if document.several:
        word, state, says, _ = _of_several(document)
        return StatedVerdict(word, state, says, question=_question(settings, several=True), then=then)
    ((_, judge),) = document.judges.items()
    says, state = judge.verdict.opening[0], _STATES[judge.verdict.level]
    asks = _question(settings)
    return StatedVerdict(judge.verdict.level, state, says, judge.metrics.get(metric), question=asks, then=then)


def _question(settings: AuditSettings, *, several: bool = False) -> str:
    which = "Which judges are" if several else "Is the judge"
    return f"{which} good enough for {_DECISIONS[settings.target]}?"


_DECISIONS = {
    "best-of-n": "picking the best candidate of one prompt",
    "system": "comparing whole systems on averages over prompts",
}

_USEFUL: result_verdict.Level = "useful"
_RECOVERY = "recovery"

_STATES: Mapping[result_verdict.Level, State] = {
    "useful": "good",
    "weak": "bad",
    "harmful": "bad",
    "random": "bad",
    "inconclusive": "open",
}

_STATES_OF_A_CHECK: Mapping[result_verdict.CheckState, str] = {
    "pass": "passes",
    "fail": "fails",
    "inconclusive": "inconclusive",
    "undefined": "undefined",
}

_OUTCOMES: Mapping[result_verdict.GateState, Role] = {"met": "good", "not met": "bad", "inconclusive": "open"}

_HEADLINES = 3


def verdict(
    judge: JudgeFound,
    settings: AuditSettings,
    *,
    alone: bool,
    shown: result_exhibits.JudgeExhibits | None = None,
    then: Sequence[Said] = (),
) -> Part:
    """Return the verdict on one judge, `alone` or of several: the answer leads, the levels are a table."""
    found, line = judge.verdict, recovery_bar(judge, settings)
    blocks = [
        *_answer(judge, settings, alone=alone),
        *line,
        *_on_a_page(what_would_change(judge, settings, shown)),
        *next_part(then),
        *_levels(found),
        # What the line says already would stand there twice.
        _headlines(judge, settings.reference, but=result_verdict.DECIDES[settings.target] if line else None),
    ]
    return Part(found.level, blocks, "verdict", _STATES[found.level], _question(settings))


def _on_a_page(said: Iterable[Said]) -> Iterator[Part]:
    """Yield sentences for pages alone: the first lines of a terminal say less."""
    if blocks := list(said):
        yield Part("", blocks, "detail")


def verdict_in_short(judge: JudgeFound, settings: AuditSettings) -> Part:
    """Return the verdict on the only judge with the figures to read first."""
    found = judge.verdict
    blocks = [
        *_answer(judge, settings, alone=True),
        *view_judges.subsets_in_words(judge),
        *view_judges.first_figures(judge, settings),
    ]
    return Part(found.level, blocks, "verdict", _STATES[found.level], _question(settings))


def _answer(judge: JudgeFound, settings: AuditSettings, *, alone: bool) -> Iterator[Block]:
    answer, *scope = (Said("finding", sentence) for sentence in judge.verdict.opening)
    yield replace(answer, role="lead")
    yield from _against(settings) if alone else ()
    yield from scope


def _levels(found: result_verdict.Verdict) -> Iterator[Part]:
    """Yield the four levels of validity as a table, which a page folds."""
    columns = (Column("validity", "name"), Column("state", "name"), Column("what it rests on", "sentences"))
    rows = [(check, _STATES_OF_A_CHECK[found.checks[check]], says) for check, says in found.of_checks().items()]
    if rows:
        passing = sum(state == "pass" for state in found.checks.values())
        folded = (
            f"What the verdict rests on: {numbers.count(passing)} of {numbers.count(len(rows))} levels of "
            "validity pass"
        )
        yield Part("", [Table.of(columns, rows)], folded=folded, anchor="levels")


def verdict_of_several(
    document: Audit,
    exhibits: result_exhibits.Exhibits | None = None,
    then: Sequence[Said] = (),
    *,
    in_short: bool = False,
) -> Part:
    """Return how many of the judges are useful, and which are what; in short, what the best one recovers."""
    settings = document.settings
    word, state, says, levels = _of_several(document)
    lead = Said("lead", says)
    if in_short:
        lead = replace(lead, text=f"{lead.text} {_best(document)}")
        return Part(word, [lead, *_against(settings)], "verdict", state, _question(settings, several=True))
    which = [Said("finding", f"{level}: {'; '.join(levels[level])}") for level in _STATES if level in levels]
    blocks = [
        lead,
        *_against(settings),
        *bar_of_best(document),
        *_on_a_page(what_would_change_several(document, exhibits)),
        *next_part(then),
        Part("", which, "detail", anchor="levels", folded="Which judges are what"),
    ]
    return Part(word, blocks, "verdict", state, _question(settings, several=True))


def _of_several(document: Audit) -> tuple[str, State, str, Mapping[result_verdict.Level, Sequence[str]]]:
    """Return word, state and sentence of the judges together, and which are what."""
    levels: dict[result_verdict.Level, list[str]] = {}
    for name, judge in document.judges.items():
        levels.setdefault(judge.verdict.level, []).append(f"{printable(name)} ({_recovery(judge)})")
    useful, of = len(levels.get(_USEFUL, ())), len(document.judges)
    states = {_STATES[level] for level in levels}
    state = next(iter(states)) if len(states) == 1 else "open"
    share = f"{numbers.count(useful)} of {numbers.count(of)}"
    what = _DECISIONS[document.settings.target]
    return f"{share} useful", state, f"{share} judges {'is' if useful == 1 else 'are'} useful for {what}.", levels


def in_a_line(judge: JudgeFound) -> str:
    """Return the word of the verdict and recovery, for what a page folds."""
    return f"{judge.verdict.level}: {_recovery(judge)}"


def _best(document: Audit) -> str:
    name, judge = next(iter(view_judges.by_recovery(document.judges).items()))
    gate = numbers.setting(document.settings.thresholds.recovery_useful, "share")
    found = judge.metrics.get(_RECOVERY)
    if found is None or found.estimate is None:
        return f"Recovery is undefined for every judge; the gate is {gate}."
    figure = _recovery(judge).removeprefix(f"{_RECOVERY} ")
    return f"The largest recovery is {figure}, of {printable(name, longest=40)}; the gate is {gate}."


def gates(document: Audit) -> Iterator[Part]:
    """Yield the gates that were asked for, each with its state and why."""
    if not document.gates:
        return
    met = sum(gate.state == "met" for gate in document.gates)
    told = Said("finding", f"{numbers.count(met)} of {numbers.counted(len(document.gates), 'gate')} met.")
    outcomes = [Said(_OUTCOMES[gate.state], _outcome(gate, document)) for gate in document.gates]
    yield Part("Gates", [told, *outcomes], "outcomes", anchor="gates")


def _outcome(gate: result_verdict.Gate, document: Audit) -> str:
    whose = f"{printable(gate.judge)}: " if document.several else ""
    return f"{whose}{numbers.named(gate.sentence, document.settings.reference)}"


def _against(settings: AuditSettings) -> Iterator[Block]:
    if settings.reference is not None:
        yield Said(
            "lead",
            f"The reference is the scores of {printable(settings.reference, longest=60)}: the figures say how far "
            "picks agree with them, not how good they are.",
        )


def _recovery(judge: JudgeFound) -> str:
    found = judge.metrics.get(_RECOVERY)
    if found is None or found.estimate is None:
        return "recovery undefined"
    return f"recovery {numbers.with_any_interval(found, 'share')}"


def _headlines(judge: JudgeFound, reference: str | None, *, but: str | None) -> Table:
    """Return the figures to read first, of those that there are, but for one."""
    known = [
        metric
        for metric in METRICS_FIRST
        if metric.name != but and metric.name in judge.metrics and judge.metrics[metric.name].estimate is not None
    ]
    columns = [Column(title) for title in ("figure", "estimate", "interval", "meaning", "beside")]
    rows = [_headline(metric, judge, reference) for metric in known[:_HEADLINES]]
    made = Table.of(columns, rows)
    return Table(made.columns, made.rows, role="headlines")


def _headline(metric: Metric, judge: JudgeFound, reference: str | None) -> Sequence[str]:
    found, unit = judge.metrics[metric.name], metric.unit
    beside = []
    controlled = None if judge.with_control is None else judge.with_control.get(metric.name)
    if controlled is not None:
        beside.append(f"{numbers.estimate(controlled, unit)} with the control")
    if found.labelled_only is not None:
        beside.append(f"{numbers.estimate(found.labelled_only, unit)} of the labelled prompts alone")
    return (
        numbers.named(metric.name, reference),
        numbers.estimate(found, unit),
        "no interval" if found.low is None else numbers.interval(found, unit),
        numbers.named(metric.meaning, reference),
        "; ".join(beside),
    )
