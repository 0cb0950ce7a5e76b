"""What is said and shown of picks after a run: what decided them, and the page of their words and totals."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from bonwise.cli import arguments, running
from bonwise.errors import BonwiseError
from bonwise.report.numbers import counted, number, percent

if TYPE_CHECKING:
    from bonwise.routing.router import Router
    from bonwise.selection import result, run, selection, settings
    from bonwise.selection.totals import Totals
    from bonwise.table.pools import Pool

MAKESHIFT: Mapping[result.DecidedBy, str] = {
    "first": "picks rest on no judgment: the first candidate was kept, as --on-failure first says",
    "random": "picks rest on no judgment: a random candidate was kept, as --on-failure random says",
    "partial": "picks are the best of what could be judged: answers are missing, or lost comparisons could change "
    "them",
    "limit": "picks are the best of what could be judged before a limit on spending was reached",
    "deadline": "picks are the best that was known when the time of --deadline was up",
}
"""What is said of picks that rest on less than was asked for."""


@contextmanager
def without_router_warnings() -> Iterator[None]:
    """Keep quiet what a router warns of in Python: a `PickReport` says it in a line, and a dry run routes nothing."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "a pool has no value of the signal", UserWarning)
        yield


@dataclass(slots=True)
class PickReport:
    """Running figures of many selections."""

    plan: settings.SelectionSettings
    router: Router | None = None
    """That of the plan."""
    totals: Totals = field(init=False)

    def __post_init__(self) -> None:
        from bonwise.selection.totals import Totals

        self.totals = Totals()

    def note(self, pick: selection.Selection) -> None:
        """Take in one selection."""
        self.totals.note(pick)

    def lines(self) -> Iterator[str]:
        """Yield what is to be said, nothing where nothing was selected."""
        found = self.totals.record()
        how = found.decided_by
        if not how:
            return
        counts = ", ".join(
            f"{count:,} without a pick yet" if name == "owed" else f"{count:,} by {name}"
            for name, count in how.items()
        )
        yield f"{counted(found.pools, 'pool')} by {self._who()}: {counts}"
        for name, words in MAKESHIFT.items():
            if name in how:
                yield f"WARNING: {how[name]:,} {words}"
        yield from running.tally(Counter(found.failures), "failed")
        if len(found.stopped) > 1:
            yield from running.tally(Counter(found.stopped), "stopped")
        yield from self._about_routes(found.routed)
        yield from _about_order(found.order)
        unscored = _never_scored(found.unscored)
        yield from running.unscored_lines(unscored.total(), found.candidates)
        yield from running.tally(unscored, "unscored")
        yield from running.filled_lines(Counter(found.filled or {}))

    def _who(self) -> str:
        from bonwise.selection.settings import default_strategy

        strategy = self.plan.strategy.name
        usual = strategy == default_strategy(self.plan.judge).name
        return self.plan.judge.name if usual else f"{self.plan.judge.name} and {strategy}"

    def _about_routes(self, routed: result.RoutedTotals) -> Iterator[str]:
        seen = routed.seen
        if self.router is not None and seen:
            yield (
                f"{self.router.strong.name} decided {routed.sent:,} of {seen:,} pools "
                f"({number(routed.sent / seen, 'share')}; the share is {percent(self.router.share)}), "
                f"changed {counted(routed.changed, 'pick')} of the first pass"
            )
            yield from running.tally(Counter(routed.reasons), f"{self.router.signal}")
            if warning := self.router.report().warning:
                yield f"WARNING: {warning}"
                if self.router.on_missing == "keep":
                    yield f"take a judge that gives {self.router.signal}, another --route, or --on-missing random"


def _about_order(order: result.OrderTotals) -> Iterator[str]:
    from bonwise.judges.scoring import OrderEffect

    if order.lost:
        lost = f"{order.lost:,} of {counted(order.asked or 0, 'comparison')} lost"
        yield f"{lost}: an order could not be read; each counts a half for both sides"
    if order.advantage is not None:
        yield str(OrderEffect("comparisons", order.pairs, order.advantage, order.differing))


def _never_scored(reasons: Mapping[str, int]) -> Counter[str]:
    """Return why candidates were not scored that a later run will not score either."""
    from bonwise.selection.entrants import NOT_SENT

    waiting = {reason for reason in reasons if reason == NOT_SENT.reason or reason.startswith("owed")}
    return Counter({reason: count for reason, count in reasons.items() if reason not in waiting})


MOST_PARAMETERS = 100
"""Sets of parameters of models that are told apart."""

MOST_POOLS = 500
MOST_ROWS = 20_000
"""Candidates and comparisons of all pools that are shown."""


class _ShortenedText(NamedTuple):
    """A text as far as there is room for it, and how many characters of it there is none for."""

    kept: str
    left_out: int


class _PoolTexts(NamedTuple):
    """The texts of a pool."""

    prompt: _ShortenedText
    candidates: list[result.CandidateWords]


@dataclass(slots=True)
class PickedPage:
    """Collects what the page shows while picks pass: names, then words, up to 6,000,000 bytes."""

    path: Path
    """Of the page."""
    source: str
    """Where the pools come from."""
    totals: Totals
    """Of all picks; who writes the picks keeps them."""
    router: Router | None = None
    """Says which pools go to a stronger judge; picks name that judge alone."""
    _settings: dict[str, Any] = field(default_factory=dict)
    _parameters: list[Any] = field(default_factory=list)
    _coming: dict[str, _PoolTexts] = field(default_factory=dict)
    _picks: list[result.ShownPick] = field(default_factory=list)
    _read: int = 0
    _words: int = 0
    _names: int = 0
    _rows: int = MOST_ROWS

    def __post_init__(self) -> None:
        from bonwise.report.page.environment import MOST_BYTES

        self._words = self._names = MOST_BYTES

    def passing(self, pools: Iterator[Pool]) -> Iterator[Pool]:
        """Yield the pools; of the first ones the words are kept until their pick comes."""
        for pool in pools:
            if self._read < MOST_POOLS:
                self._read += 1
                self._coming[pool.prompt_id] = self._words_of(pool)
            yield pool

    def note(self, pick: selection.Selection) -> None:
        """Take in a pick; they come in the order of the pools."""
        from bonwise.selection import recorded, result

        self._settings = self._settings or dict(pick.settings)
        self._note_parameters(pick.settings.get("parameters") or ())
        words = self._coming.pop(pick.prompt_id or "", None)
        if words is None or not self._has_room(pick):
            return
        shown = result.ShownPick(
            # The words hold the text, and the page the settings.
            pick=self._with_short_words(recorded.pick_record(pick, whole=False)),
            prompt=words.prompt.kept,
            prompt_left_out=words.prompt.left_out,
            candidates=words.candidates,
        )
        self._picks.append(shown)

    def document(self, ended: str) -> result.SelectionsDocument:
        """Return the document ``bonwise.selections/1`` of some picks; `ended`: why pools are missing, or empty."""
        from bonwise.results import given
        from bonwise.selection import recorded, result

        router, totals = self.router, self.totals.record()
        settings = result.SelectionsSettings(
            **recorded.settings_of({**self._settings, "parameters": self._parameters}),
            source=self.source,
            ended=ended,
            **given(signal=None if router is None else router.signal, share=None if router is None else router.share),
        )
        return result.SelectionsDocument(
            settings=settings, totals=totals, picks=list(self._fitting()), of=totals.pools
        )

    def leave(self, summary: run.RunSummary | None) -> bool:
        """Write the page of what was picked, and tell whether that could be done; no `summary` after an error."""
        if not self._settings:
            arguments.say(f"nothing was picked, so {self.path} is not written")
            return True
        try:
            self.document(_ended(summary)).to_html(self.path)
        except BonwiseError as error:
            arguments.say(str(error))  # what ended the run decides the exit code
            return False
        return True

    def _note_parameters(self, asked_with: Iterable[Any]) -> None:
        """Keep what models were asked with, each set once: a pick has those of its own questions alone."""
        for one in asked_with:
            if len(self._parameters) < MOST_PARAMETERS and one not in self._parameters:
                self._parameters.append(one)

    def _has_room(self, pick: selection.Selection) -> bool:
        """Take the room for a pick's names; from the first pick on that has none, no pick has."""
        self._rows -= len(pick.ids) + len(pick.comparisons)
        names = _bytes_of_names(pick) if self._rows >= 0 else 0
        if names > self._names:
            self._rows = -1
        if self._rows < 0:
            return False
        self._names -= names
        return True

    def _fitting(self) -> Iterator[result.ShownPick]:
        """Yield what is shown; where the names leave too little room the later ones come without words."""
        from bonwise.report.page.environment import page_bytes

        room = self._names
        for pick in self._picks:
            texts = [pick.prompt, *pick.pick.raw, *(each.text for each in pick.candidates)]
            room -= sum(page_bytes(text or "") for text in texts)
            yield pick if room >= 0 else _wordless(pick)

    def _words_of(self, pool: Pool) -> _PoolTexts:
        from bonwise.selection.result import CandidateWords

        texts = [(candidate.id, self._kept(candidate.text)) for candidate in pool.candidates]
        candidates = [CandidateWords(id=name, text=one.kept, text_left_out=one.left_out) for name, one in texts]
        return _PoolTexts(self._kept(pool.prompt), candidates)

    def _with_short_words(self, pick: result.PickRecord) -> result.PickRecord:
        """Return a pick with as much of the judge's words as there is room for."""
        return pick.model_copy(update={"raw": [one and self._marked(one) for one in pick.raw]})

    def _marked(self, text: str) -> str:
        """Return a text where there is room for it; a cut one says so itself."""
        kept, left_out = self._kept(text)
        return f"{kept}\n[{left_out} characters left out here]" if left_out else kept

    def _kept(self, text: str) -> _ShortenedText:
        """Return a text where there is room for it, cut."""
        from bonwise.report.page.environment import page_bytes
        from bonwise.report.samples import LONGEST_TEXT

        kept = text[:LONGEST_TEXT]
        taken = page_bytes(kept)
        if taken > self._words:
            kept, taken = "", 0
        self._words -= taken
        return _ShortenedText(kept, len(text) - len(kept))


def _bytes_of_names(pick: selection.Selection) -> int:
    from bonwise.printable import printable
    from bonwise.report.page.environment import MARKUP, page_bytes
    from bonwise.report.samples import LONGEST_NAME
    from bonwise.selection.view import MOST_COMPARISONS

    compared = (name for pair in pick.comparisons[:MOST_COMPARISONS] for name in (pair.a, pair.b))
    names = [pick.prompt_id, *pick.ids, *pick.unscored.values(), *compared]
    return sum(page_bytes(printable(name, longest=LONGEST_NAME)) + MARKUP for name in names)


def _wordless(one: result.ShownPick) -> result.ShownPick:
    candidates = [
        each.model_copy(update={"text": "", "text_left_out": (each.text_left_out or 0) + len(each.text or "")})
        for each in one.candidates
    ]
    left_out = (one.prompt_left_out or 0) + len(one.prompt or "")
    pick = one.pick.model_copy(update={"raw": []})
    return one.model_copy(update={"pick": pick, "prompt": "", "prompt_left_out": left_out, "candidates": candidates})


def _ended(summary: run.RunSummary | None) -> str:
    """Return why not every pool may be there, nothing where they all are."""
    if summary is None or summary.failure is not None:
        return "an error ended the run"
    return "the run was interrupted" if summary.interrupted else ""
