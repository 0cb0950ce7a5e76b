"""What the head of a report says of its table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from bonwise.printable import printable, quoted, shell_word
from bonwise.report import blocks, numbers
from bonwise.table import facts, panel, score_table


def label_words(words: Mapping[str, float]) -> str:
    """Say what labels that are words were taken for."""
    return f"labels are words: {', '.join(f'{word} = {numbers.setting(value)}' for word, value in words.items())}"


def table_facts(
    shape: str,
    exclude: Sequence[str],
    columns: Mapping[str, str],
    label_scale: str | None,
    judge_scale: Mapping[str, str] | None = None,
) -> Iterator[tuple[str, str]]:
    """Yield names and values; what says nothing is left out."""
    yield "table", shape
    if exclude:
        yield "without", ", ".join(exclude)
    renamed = [f"{role} from {column}" for role, column in columns.items() if role != column]
    if renamed:
        yield "columns", ", ".join(renamed)
    if label_scale is not None:
        yield "scale of labels", label_scale
    if judge_scale:
        yield "scale of scores", ", ".join(f"{ends} ({judge})" for judge, ends in judge_scale.items())


def labels_left_out(
    left_out: facts.LabelsLeftOut | None, unlabelled: facts.UnlabelledCandidates | None = None
) -> Iterator[blocks.Said]:
    """Yield what is to be said of labels whose prompts are not in the file, and of candidates that had none."""
    if unlabelled is not None:
        yield blocks.Said("caveat", unlabelled.sentence)
    if left_out is not None:
        yield blocks.Said(
            "caveat",
            f"labels of {numbers.counted(left_out.prompts, 'prompt')} that {'is' if left_out.prompts == 1 else 'are'}"
            f" not in the file left out ({numbers.counted(left_out.rows, 'row')})",
        )


def values_read_as(values: facts.ValuesRead) -> Iterator[blocks.Said]:
    """Yield what was said of directions, and of what has no score."""
    if values.lower_is_better:
        yield blocks.Said(
            "caveat", f"lower is better ({', '.join(map(printable, values.lower_is_better))}): reversed"
        )
    if values.missing:
        yield blocks.Said("caveat", f"no score where {', '.join(map(printable, values.missing))}")
    if values.unpicked is not None:
        yield blocks.Said("caveat", f"where nothing has a score: {values.unpicked}")


def off_scale_words(table: score_table.ScoreTable, judge: str) -> Iterator[tuple[str, str]]:
    """Yield a sentence on each value of a judge's scores that may mean that there is none, and the flag for it."""
    for value, times in table.off_scale(judge):
        seen = f"{quoted(table.named_scores(judge))} is {value:g} for {numbers.counted(times, 'candidate')}"
        flag = f"--missing {value:g}"
        yield f"{seen}, off the scale of its other values: if that means no score, add {flag}.", flag


def outstanding_words(group: panel.OutstandingGroup) -> tuple[str, str, str]:
    """Return a group as names, what it holds as a clause, and which flags settle it as sentences."""
    *others, last = map(quoted, group.names)
    names = f"{', '.join(others)} and {last}" if others else last
    who, has = ("candidates", "have") if others else ("candidate", "has")
    holds = f"{who} {names} alone {has} the {group.end} label in {numbers.number(group.held, 'share')} of prompts"
    control, keep = (
        " ".join(f"{flag} {shell_word(name)}" for name in group.names) for flag in ("--control", "--keep-easy")
    )
    if others:
        return names, holds, f"{control} leave them out of the figures. {keep} count them like any other candidates."
    return names, holds, f"{control} leaves it out of the figures. {keep} counts it like any other candidate."
