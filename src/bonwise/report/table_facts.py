"""What the head of a report says of its table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from bonwise.report.blocks import Said
from bonwise.report.numbers import count, setting
from bonwise.table.facts import LabelsLeftOut

__all__ = ["label_words", "labels_left_out", "table_facts"]


def label_words(words: Mapping[str, float]) -> str:
    """Say what labels that are words were taken for.

    Examples
    --------
    >>> label_words({"pass": 1.0, "fail": 0.0})
    'labels are words: pass = 1, fail = 0'
    """
    return f"labels are words: {', '.join(f'{word} = {setting(value)}' for word, value in words.items())}"


def table_facts(
    shape: str,
    exclude: Sequence[str],
    columns: Mapping[str, str],
    label_scale: str | None,
    judge_scale: Mapping[str, str] | None = None,
) -> Iterator[tuple[str, str]]:
    """Yield names and values; what says nothing is left out.

    Examples
    --------
    >>> list(table_facts("ragged", ["base"], {"candidate": "model", "judge": "judge"}, None))
    [('table', 'ragged'), ('without', 'base'), ('columns', 'candidate from model')]
    """
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


def labels_left_out(found: LabelsLeftOut | None) -> Iterator[Said]:
    """Yield what is to be said of labels whose prompts are not in the file; nothing where there are none."""
    if found is not None:
        yield Said(
            "caveat",
            f"labels of {count(found.prompts)} prompts that are not in the file left out ({count(found.rows)} rows)",
        )
