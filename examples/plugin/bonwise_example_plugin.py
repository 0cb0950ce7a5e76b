"""Two judges, a strategy and an importer that become part of the command line once this folder is installed.

After ``pip install ./examples/plugin``::

    bonwise select pools.jsonl --judge keywords:tested,safe --strategy first_above:least=0.5
    bonwise select pools.jsonl --judge brevity
    bonwise convert quiz.json --out scores.csv
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bonwise.judges.protocol import Judge
from bonwise.selection.protocol import Draw, Entrants, Heard, Question, Standing
from bonwise.table.importers.material import GatheredScores, Imported, Material, mappings
from bonwise.table.verdicts import Score, Unscored, Verdict

__all__ = ["Brevity", "FirstAbove", "Keywords", "read_quiz"]

_NOT_ASKED = Unscored("not asked: another candidate was good enough")


class Keywords:
    """Scores a candidate by the share of some words that it holds.

    Parameters
    ----------
    rest : str
        What follows the colon of ``--judge keywords:``: words between commas.
    """

    version = "1"

    def __init__(self, rest: str) -> None:
        self.name, self._words = f"keywords:{rest}", rest.lower().split(",")

    def judge(self, prompt: str, candidates: Sequence[str]) -> list[Verdict]:
        """Return one verdict per candidate."""
        del prompt
        return [Score(sum(word in text.lower() for word in self._words) / len(self._words)) for text in candidates]


class Brevity:
    """Scores a candidate by how few words it has; it takes nothing after its name."""

    name, version = "brevity", "1"

    def judge(self, prompt: str, candidates: Sequence[str]) -> list[Verdict]:
        """Return one verdict per candidate."""
        del prompt
        return [Score(1 / (1 + len(text.split()))) for text in candidates]


def read_quiz(material: Material) -> Imported | None:
    """Read the format of a quiz: ``{"quiz": [{"question", "replies": [{"by", "words", "points", "correct"}]}]}``.

    The points are the judge's, and what is correct a person has said.
    """
    questions = mappings(material.document.get("quiz")) if isinstance(material.document, dict) else None
    if not questions:
        return None
    gathered = GatheredScores(material)
    for question in questions:
        for reply in mappings(question.get("replies")) or []:
            cell = gathered.cell(
                question["question"], reply["by"], prompt=question["question"], text=reply.get("words")
            )
            gathered.rate(cell, "points", reply.get("points"), human=False)
            gathered.rate(cell, "correct", reply.get("correct"), human=True)
    return gathered.imported("a quiz")


@dataclass(frozen=True)
class FirstAbove:
    """Scores one candidate at a time, and stops at the first that is good enough.

    Parameters
    ----------
    least : float
        The score that is good enough; ``--strategy first_above:least=0.5`` sets it.
    """

    least: float = 0.5

    @property
    def name(self) -> str:
        """What makes this strategy on a command line."""
        return f"first_above:least={self.least:g}"

    @property
    def compares(self) -> bool:
        """It asks for scores."""
        return False

    def contest(self, entrants: Entrants) -> _Contest:
        """Open the contest of one pool."""
        return _Contest(self.least, entrants)

    def most_calls(self, judge: Judge, candidates: int) -> int:
        """Return the most answers of models that a pool takes; a judge that asks no model takes none."""
        return judge.calls(candidates) if hasattr(judge, "calls") else 0


class _Contest:
    def __init__(self, least: float, entrants: Entrants) -> None:
        self._least, self._order = least, entrants.order
        self._heard: dict[int, Verdict] = {}

    def next(self) -> Sequence[Question]:
        """Ask for the score of the next candidate, unless one is good enough."""
        if any(isinstance(one, Score) and one.value >= self._least for one in self._heard.values()):
            return []
        return [Draw(candidate) for candidate in self._order if candidate not in self._heard][:1]

    def hear(self, question: Question, answer: Heard) -> None:
        """Keep a score."""
        if isinstance(question, Draw) and isinstance(answer, Score | Unscored):
            self._heard[question.candidate] = answer

    def standing(self) -> Standing:
        """Return the scores so far."""
        verdicts = tuple(self._heard.get(candidate, _NOT_ASKED) for candidate in range(len(self._order)))
        return Standing(verdicts, stopped="" if self.next() else "a candidate is good enough, or all were scored")
