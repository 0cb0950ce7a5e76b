"""What documents repeat of their table: how it was read, what was counted, what was left out and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from bonwise.results import Confidence, Count, Number, Record
from bonwise.table.checks import Unpicked


class DroppedPrompt(Record):
    """A prompt of the table that no figure counts."""

    prompt_id: str
    """The prompt."""
    reason: str
    """Why it was left out."""


class UnusedLabels(Record):
    """Labels of prompts that are labelled in part."""

    labels: Count
    of: Count
    """Both: those labels, and all labels."""
    prompts: Count
    """The prompts labelled in part."""
    sentence: str
    """How many are not used, and what would use them."""


def unused_labels(counts: Mapping[str, Any]) -> UnusedLabels | None:
    """Return the record of what was counted, None where every label was used."""
    return UnusedLabels(**counts) if counts else None


class StudyCounts(Record):
    """Counts behind the figures of a judge: plain ones, and mappings of reasons to counts."""

    def plain(self) -> dict[str, int]:
        """Return the counts by key."""
        return {key: value for key, value in self.given_values().items() if isinstance(value, int)}

    def lost(self) -> dict[str, dict[str, int]]:
        """Return, by key, how often something was left out for which reason."""
        return {key: dict(value) for key, value in self.given_values().items() if isinstance(value, dict) and value}


class JudgeCounts(StudyCounts):
    """Counts behind the figures of a judge; a study may add its own."""

    prompts: Count
    """Those that the judge was asked about and that are labelled."""
    rows: Count
    """Their candidates."""
    unlabelled_prompts: Count
    """Those without all labels."""
    dropped: dict[str, Count]
    """Prompts by the reason for which they are in no figure."""
    method: Literal["complete", "labelled_only"]
    """``labelled_only`` where figures describe the labelled prompts alone."""
    unused_labels: UnusedLabels | None = None
    """Labels of prompts that are labelled in part: in no figure."""
    unscored: dict[str, Count] | None = None
    """Candidates without a score by reason: none of them can be picked while another of its prompt has one."""
    prompts_under_two_scores: Count | None = None
    """Prompts with fewer than two scores: they add nothing to what compares scores within a prompt."""


class LabelsLeftOut(Record):
    """Labels of prompts that are not in the file."""

    prompts: Count
    rows: Count
    """Both: how many prompts, and rows of the file of labels."""


def labels_left_out(counts: Mapping[str, int]) -> LabelsLeftOut | None:
    """Return the counts of a table, None where every label was used."""
    return LabelsLeftOut(prompts=counts["prompts"], rows=counts["rows"]) if counts else None


class UnlabelledCandidates(Record):
    """Candidates that have a label because it was stated which one unlabelled candidates have."""

    value: Number
    """That label, as it was given."""
    candidates: Count
    of: Count
    """Both: those that had none, and all, of prompts with a label."""
    prompts: Count
    """Prompts without any label: they stay unlabelled."""

    @property
    def sentence(self) -> str:
        """What was counted, in words."""
        count = f"{self.candidates:,} of {self.of:,} candidates had no label and count as {self.value:g}"
        stay = f"; {self.prompts:,} without any label were not judged and stay unlabelled" if self.prompts else ""
        return f"{count}, as --unlabelled-is says{stay}"


class PicksMade(Record):
    """What made the picks of a log, and what decided them."""

    by: dict[str, str | bool | int]
    """Settings of the run that picked."""
    as_picked: bool
    """Whether they are taken as a seed drew them, not in expectation."""
    decided_by: dict[str, Count]
    """How often each thing decided, the most frequent first."""
    left_out: dict[str, Count] | None = None
    """The same of the picks that no figure rests on."""

    @property
    def router(self) -> str | None:
        """The router, None where none is named."""
        return self._named("router")

    @property
    def strong(self) -> str | None:
        """The stronger judge of a router, None without one."""
        return self._named("strong")

    def _named(self, setting: str) -> str | None:
        named = self.by.get(setting)
        return None if named is None else str(named)


Shape = Literal["rectangular", "ragged"]


class ValuesRead(Record):
    """What was said of the values of a table."""

    lower_is_better: list[str] | None = None
    """Judges, or columns of scores or labels, whose lower values are better: they were reversed."""
    missing: list[str] | None = None
    """Values of scores that were taken for no score."""
    unpicked: Unpicked | None = None
    """What counts where no candidate of a prompt has a score, such as first; None for a random pick."""


class StudySettings(ValuesRead):
    """What was asked for, and what the table was taken for; a study adds its own settings."""

    confidence: Confidence
    """Of the two-sided intervals."""
    exclude: list[str]
    control: list[str]
    """Both: candidate names left out; easy candidates."""
    seed: Count
    version: str
    """Of bonwise."""
    shape: Shape
    source: str
    columns: dict[str, str]
    """Role to column."""
    judge_scale: dict[str, str] | None = None
    """Declared scales by judge."""
    label_scale: str | None = None
    draws: Annotated[int, Field(ge=2)] | None = None
    """Most scores of one candidate that were averaged, where there is more than one."""
    labels_left_out: LabelsLeftOut | None = None
    unlabelled: UnlabelledCandidates | None = None
    reference: str | None = None
    """The judge that stood in for oracle labels."""


LeftOutLabel = Literal["no verdict", "a model against itself", "prompt not judged", "pair not judged"]
"""Why a row of labels in a second file is left out."""


class JoinedLabels(Record):
    """Labels of a second file, joined by pair whichever side stands first."""

    source: str
    rows: Count
    """Of the file."""
    votes: Count
    turned: Count
    """Both: votes on judged pairs, and those of them that have the sides in the other order than the verdict."""
    pairs: Count
    """Judged pairs with a vote."""
    several: Count
    unanimous: Count
    """Both: pairs with two votes or more, and those whose votes are all alike; of the others the majority counts."""
    no_majority: Count
    """Pairs with as many votes for either side: their label is a tie."""
    left_out: dict[LeftOutLabel, Count]
    """Rows that are not on a judged pair, by reason."""
