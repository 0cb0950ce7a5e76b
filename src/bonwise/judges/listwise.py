"""A judge that is shown all candidates at once, and scores or ranks them: in which order, and what comes of it."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from itertools import combinations
from typing import ClassVar

from bonwise.calls.ask import Answers, Ask
from bonwise.flags import takes_numbers
from bonwise.judges.asking import AskingSettings, counted_reasons, owed_among, reading
from bonwise.judges.parse import readers
from bonwise.judges.protocol import ALONE, EMPTY, Conclusion, candidates_with_words
from bonwise.table.checks import check_whole
from bonwise.table.verdicts import Preference, Score, Unscored, Verdict

WINDOW = 20
"""Candidates of one question at most; of more, each stands in two questions or three, which overlap by half."""

_Shown = tuple[int, ...]
_Said = tuple[float | Unscored, ...] | Unscored


@takes_numbers
@dataclass(frozen=True)
class Listwise(AskingSettings):
    """One question for all candidates: each scored from 0 to 100, or all ranked; either becomes a score from 0 to 1.

    The order in which candidates are shown is drawn for each prompt. A second order is the first one turned round, so
    that every pair is seen both ways; a candidate's score is the mean over the orders that could be read, which
    `Score.draws` holds. A reply that leaves a candidate out, or names it twice, leaves it unscored; one that names a
    candidate that was not shown leaves all unscored. Of more than 20 candidates, questions show 20 at a time that
    overlap by half.

    Parameters
    ----------
    model : str
        ``provider/model``.
    prompt : str or pathlib.Path
        Name of a built-in prompt, or a file of mode ``listwise`` (to rank: ``listwise-ranking``); empty for the
        built-in one of that name.
    **asking
        What every judge has that asks a model, see `bonwise.judges.asking.AskingSettings`.
    ranking : bool
        Whether candidates are ranked: each then scores the share of the others that it stands above.
    orders : int
        In how many orders the candidates are shown, at least 1.
    seed : int
        Of the draw of the order.

    Examples
    --------
    >>> judge = Listwise("openai/gpt-5-mini")
    >>> judge.name, judge.calls(candidates=8), judge.calls(candidates=30)
    ('listwise:openai/gpt-5-mini', 1, 3)
    """

    _: KW_ONLY
    ranking: bool = False
    orders: int = 1
    seed: int = 0

    kind: ClassVar[str] = "listwise"
    listwise: ClassVar[bool] = True

    @property
    def mode(self) -> str:
        """The mode that the prompt file must have."""
        return "listwise-ranking" if self.ranking else "listwise"

    def _check(self) -> None:
        check_whole("orders", self.orders, least=1)
        check_whole("seed", self.seed, least=0)

    def _drawn(self) -> str:
        return f" seed{self.seed}"

    def asks(self, prompt: str, candidates: Sequence[str]) -> list[Ask]:
        """Return one question for each order, of many candidates several."""
        return [
            self.ask(
                prompt,
                [candidates[at] for at in shown],
                partial(readers.listed, shown=len(shown), mode=self.mode, asked=self.file.asked),
            )
            for windows in self._orders(prompt, candidates)
            for shown in windows
        ]

    def calls(self, candidates: int) -> int:
        """Return one call for each order, of many candidates one for every ten."""
        if candidates < (2 if self.ranking else 1):
            return 0
        return self.orders * (1 if candidates <= WINDOW else math.ceil(candidates / (WINDOW // 2)))

    def conclude(self, prompt: str, candidates: Sequence[str], answers: Sequence[Answers]) -> Conclusion:
        """Turn the answers into scores, and into what each candidate of a pair earned where it was shown first."""
        waiting = iter(answers)
        orders = [
            [(shown, self._said(next(waiting))) for shown in windows] for windows in self._orders(prompt, candidates)
        ]
        present = set(candidates_with_words(candidates))
        verdicts = tuple(
            self._verdict([_of_order(at, windows) for windows in orders]) if at in present else EMPTY
            for at in range(len(candidates))
        )
        return Conclusion(verdicts, tuple(_preferences([window for windows in orders for window in windows])))

    def _said(self, answers: Answers) -> _Said:
        scores: _Said = reading(answers)
        if isinstance(scores, Unscored) or self.ranking:
            return scores
        low, high = self.file.asked.scale
        return tuple(score if isinstance(score, Unscored) else (score - low) / (high - low) for score in scores)

    def _verdict(self, by_order: Sequence[float | Unscored]) -> Verdict:
        if not by_order:
            return ALONE
        owed = owed_among(by_order)
        if owed:
            return owed
        scored = [score for score in by_order if not isinstance(score, Unscored)]
        if not scored:
            return _unscored([score for score in by_order if isinstance(score, Unscored)])
        draws = tuple(None if isinstance(score, Unscored) else score for score in by_order)
        return Score(math.fsum(scored) / len(scored), draws=draws if len(draws) > 1 else ())

    def _orders(self, prompt: str, candidates: Sequence[str]) -> Iterator[list[_Shown]]:
        """Yield, for each order, which candidates each question shows."""
        present = candidates_with_words(candidates)
        if len(present) < (2 if self.ranking else 1):
            return
        for number in range(self.orders):
            # By the texts, not by where they stand: the same texts are shown in the same order.
            order = sorted(present, key=lambda at: self._place(prompt, candidates[at], number // 2))
            yield _windows(order[::-1] if number % 2 else order)

    def _place(self, prompt: str, text: str, draw: int) -> bytes:
        return hashlib.sha256(json.dumps([self.seed, draw, prompt, text]).encode()).digest()


def _windows(order: Sequence[int]) -> list[_Shown]:
    if len(order) <= WINDOW:
        return [tuple(order)]
    turned = [*order, *order]
    return [tuple(turned[start : start + WINDOW]) for start in range(0, len(order), WINDOW // 2)]


def _of_order(candidate: int, windows: Sequence[tuple[_Shown, _Said]]) -> float | Unscored:
    """Return the mean of what the questions of one order say of a candidate; all of them are waited for."""
    scores = [
        says if isinstance(says, Unscored) else says[shown.index(candidate)]
        for shown, says in windows
        if candidate in shown
    ]
    scored = [score for score in scores if not isinstance(score, Unscored)]
    missing = [score for score in scores if isinstance(score, Unscored)]
    return owed_among(missing) or (math.fsum(scored) / len(scored) if scored else _unscored(missing))


def _unscored(missing: Sequence[Unscored]) -> Unscored:
    if len({verdict.reason for verdict in missing}) == 1:
        return missing[0]
    return Unscored(f"none of {len(missing)} replies scores it: {counted_reasons(missing)}")


def _preferences(windows: Sequence[tuple[_Shown, _Said]]) -> Iterator[Preference]:
    """Yield what each candidate earned against each that was shown with it: 1 where it stands higher, a half level.

    A reply that could not be read loses the comparison in its order, unless nothing else speaks of the pair.
    """
    sides: dict[tuple[int, int], tuple[list[float | Unscored], list[float | Unscored]]] = {}
    for shown, says in windows:
        for first, second in combinations(range(len(shown)), 2):
            pair = shown[first], shown[second]
            earned = _earned(says, first, second)
            if earned is not None:
                is_turned = pair[0] > pair[1]
                both = sides.setdefault((min(pair), max(pair)), ([], []))
                both[is_turned].append(1 - earned if is_turned and isinstance(earned, float) else earned)
    for (a, b), (ahead, behind) in sorted(sides.items()):
        if any(isinstance(side, float) for side in (*ahead, *behind)):
            yield Preference(a, b, _side(ahead), _side(behind))


def _earned(says: _Said, first: int, second: int) -> float | Unscored | None:
    """Return what the candidate that was shown first earned; None where the reply leaves out one of the two."""
    if isinstance(says, Unscored):
        return says
    ahead, behind = says[first], says[second]
    if isinstance(ahead, Unscored) or isinstance(behind, Unscored):
        return None
    return 0.5 if ahead == behind else float(ahead > behind)


def _side(sides: Sequence[float | Unscored]) -> float | Unscored | None:
    scored = [earned for earned in sides if isinstance(earned, float)]
    return math.fsum(scored) / len(scored) if scored else next(iter(sides), None)
