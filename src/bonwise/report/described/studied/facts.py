"""What was studied and how, for the head of a page."""

from __future__ import annotations

from collections.abc import Iterator

from bonwise.documents.study_settings import StudySettings
from bonwise.report.described.table_facts import table_facts
from bonwise.report.numbers import count, percent

__all__ = ["study_facts"]


def study_facts(settings: StudySettings, judges: int) -> Iterator[tuple[str, str]]:
    """Yield names and values; what says nothing is left out."""
    yield "scores", settings.source
    yield "judges", count(judges)
    reference = settings.reference
    yield "against", "oracle labels" if reference is None else f"agreement with {reference}, which is not an oracle"
    if settings.control:
        yield "control", ", ".join(settings.control)
    if settings.draws is not None:
        yield "scores are", f"means of up to {settings.draws} draws"
    yield from table_facts(
        settings.shape, settings.exclude, settings.columns, settings.label_scale, settings.judge_scale
    )
    yield "intervals", f"{percent(settings.confidence)}, clustered by prompt"
    yield "seed", str(settings.seed)
    yield "bonwise", settings.version
