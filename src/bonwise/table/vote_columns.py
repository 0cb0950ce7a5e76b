"""Which columns of a file hold verdicts, and which name the two sides of a pair, its prompt and who judged it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np
import pandas as pd

from bonwise.errors import ColumnError, UsageError
from bonwise.printable import listed, quoted
from bonwise.table import identifiers, numbers, roles, verdict_words, vote_readings
from bonwise.table.store import CodedColumn, Rows, StructuredText

_MODELS = frozenset({"model", "system", "policy", "method", "generator", "candidate", "name", "chatbot", "assistant"})
_NO_NAMES = frozenset({"text", "generation", "response", "answer", "output", "completion", "choice", "option"})
OUTCOMES = (
    *(("winner", "loser"), ("winnermodel", "losermodel"), ("winningmodel", "losingmodel")),
    ("chosenmodel", "rejectedmodel"),
)
"""Columns of which one names the winner and the other the loser."""

_BASELINES = (("model", "baseline"), ("model", "opponent"))
_TEXTS = 2
"""Rank of columns that hold the texts of both answers."""


def pair_of(frame: pd.DataFrame, *, without: Sequence[str] | set[str] = (), texts: bool = True) -> tuple[str, ...]:
    """Return the columns of the two sides of pairs, or none; with `texts` answers count, after names of models."""
    free = [name for name in frame.columns if name not in without and not holds_lists(frame[name])]
    names = roles.by_key(free)
    pair = _known_pair(names, OUTCOMES) or _opposite_pair(frame, free, texts=texts)
    return pair or _known_pair(names, _BASELINES)


def _known_pair(names: Mapping[str, Sequence[str]], pairs: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    known_pairs = (tuple(names[key][0] for key in pair) for pair in pairs if all(key in names for key in pair))
    return next(known_pairs, ())


def _opposite_pair(frame: pd.DataFrame, free: Sequence[str], *, texts: bool) -> tuple[str, ...]:
    """Return two columns whose names differ in the side alone, those of models before those of texts."""
    stems: dict[tuple[str, ...], dict[str, str]] = {}
    for column in free:
        words = verdict_words.words_of(str(column))
        for at, word in enumerate(words):
            if any(word in pair for pair in verdict_words.OPPOSITES):
                stems.setdefault((*words[:at], "", *words[at + 1 :]), {}).setdefault(word, column)
    ranked = ((_rank({word for word in stem if word}), by_word) for stem, by_word in stems.items())
    likely = sorted((rank for rank in ranked if rank[0] is not None and (texts or rank[0] < _TEXTS)), key=_first_of)
    for rank, by_word in likely:
        for one, other in verdict_words.OPPOSITES:
            # Models may be called 3.5 and 4.
            named = (
                one in by_word
                and other in by_word
                and (rank == 0 or _could_name(frame, by_word[one], by_word[other]))
            )
            if named and by_word[one] != by_word[other]:
                return by_word[one], by_word[other]
    return ()


def _first_of(ranked: tuple[int | None, dict[str, str]]) -> int:
    return ranked[0] or 0


def _rank(stem: set[str]) -> int | None:
    """Return how likely two columns with these words and a side name the sides; None for other columns."""
    if not stem <= verdict_words.NOUNS | {"id"}:
        return None
    if not stem:
        return 1
    return 0 if stem & _MODELS and not stem & _NO_NAMES else _TEXTS


def _could_name(frame: pd.DataFrame, first: str, other: str) -> bool:
    """Tell whether two columns could name sides: they are no measured numbers."""
    return first != other and not any(_measured(frame[column]) for column in (first, other))


def _measured(column: pd.Series) -> bool:
    if not identifiers.has_numbers(CodedColumn.of(column)):
        return False
    values = numbers.parse_numbers(column, role="", source="")
    return bool((values[~np.isnan(values)] % 1 != 0).any())


def holds_lists(column: pd.Series) -> bool:
    """Tell whether a column holds lists or objects, by its first cell."""
    return any(isinstance(cell, StructuredText | list | dict | np.ndarray) for cell in column.iloc[:1])


_VERDICTS = (
    (*("winner", "verdict", "vote", "preference", "preferred", "choice", "judgment", "judgement", "decision"),),
    (
        *("winnermodel", "winningmodel", "modelwinner", "preferredmodel", "bettermodel", "chosenmodel", "winnername"),
        *("preferredresponse", "betterresponse", "betterresponseid", "selected", "selection", "outcome", "result"),
        *("comparison", "overallpreference", "pairwise", "winnerside", "humanpreference", "pick", "better", "won"),
    ),
    ("label", "answer", "rating", "score"),
)
"""Names of columns of verdicts, in order: a later group is looked at only where no column of an earlier one fits."""

_ENDINGS = ("winner", "verdict", "vote", "preference", "judgment", "judgement", "choice")
_TWO = 2
_SHOWN = ("shownfirst", "shownsecond")
"""Columns of ``bonwise judge --pairs``: what the first side earned in each order."""

_WINS = frozenset({"winner", "win", "wins", "won", "better", "preferred"})
_ORDERS = (("g1", "g2"), ("order1", "order2"), ("shownfirst", "shownsecond"), ("game1", "game2"))
"""Parts of names by which two columns hold the verdicts in both orders, both naming the sides as in the first."""

_APART = ("turn", "round")
"""Columns that tell pairs of one prompt apart wherever they are."""


@dataclass(frozen=True, slots=True)
class NamedVoteColumns:
    """The columns that the user named; None where nothing was said."""

    verdicts: tuple[str, ...] | None = None
    """One, or one per presentation order."""
    pair: tuple[str, ...] | None = None
    """Two columns that name the sides; further ones tell the pairs of a prompt apart."""
    prompt: tuple[str, ...] | None = None
    judge: tuple[str, ...] | None = None
    """Both: columns that together name each; none of them where the tuple is empty."""

    @property
    def every(self) -> frozenset[str]:
        """All columns that were named."""
        roles = (self.verdicts, self.pair, self.prompt, self.judge)
        return frozenset(column for columns in roles for column in columns or ())

    def present_in(self, frame: pd.DataFrame) -> NamedVoteColumns:
        """Leave out what a second file does not have: its columns are then looked for."""
        kept: dict[str, tuple[str, ...]] = {}
        for role in ("pair", "prompt"):
            columns = getattr(self, role)
            if columns is not None and all(column in frame.columns for column in columns):
                kept[role] = columns
        return NamedVoteColumns(verdicts=self.verdicts, **kept)


@dataclass(frozen=True, slots=True)
class VoteColumns:
    """The columns of a file of votes."""

    verdicts: tuple[str, ...]
    """One, or one per presentation order."""
    pair: tuple[str, ...] = ()
    """The columns that name the first and the second side; none where no column does."""
    prompt: tuple[str, ...] = ()
    """None where no column names the prompt."""
    judge: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()
    """Columns that tell the pairs of a prompt apart, beside the sides."""

    @property
    def names_texts(self) -> bool:
        """Whether the sides are named by the texts of their answers."""
        return bool(self.pair) and bool(_NO_NAMES & {*verdict_words.words_of(self.pair[0])})

    @property
    def used(self) -> frozenset[str]:
        """Every column with a role."""
        return frozenset((*self.verdicts, *self.pair, *self.prompt, *self.judge, *self.apart))

    def only(self, roles: Sequence[str]) -> VoteColumns:
        """Return these roles alone, beside the verdicts."""
        others = [name for name in ("pair", "prompt", "judge", "apart") if name not in roles]
        return replace(self, **dict.fromkeys(others, ()))


@dataclass
class _VoteSearch:
    """The search for the columns of one file, and what is wrong with them."""

    frame: pd.DataFrame
    source: str
    named: NamedVoteColumns
    verdict_map: Mapping[str, verdict_words.Side]
    problems: dict[str, None] = field(default_factory=dict)
    hints: dict[str, None] = field(default_factory=dict)

    def refuse(self, message: str, hint: str) -> None:
        self.problems[message] = self.hints[hint] = None

    def take(self, role: str, columns: Sequence[str] | None) -> tuple[str, ...] | None:
        """Return the columns that were named for a role; None where none was."""
        for column in columns or ():
            if column not in self.frame.columns:
                trouble = f"no column named {quoted(column)} for the {role}"
                self.refuse(trouble, f"the columns are {listed(self.frame.columns)}")
        return None if columns is None else tuple(columns)


_NO_MAP: Mapping[str, verdict_words.Side] = MappingProxyType({})


def find_vote_columns(
    frame: pd.DataFrame,
    source: str,
    named: NamedVoteColumns,
    *,
    needed: Sequence[str] = ("verdicts", "pair"),
    verdict_map: Mapping[str, verdict_words.Side] = _NO_MAP,
) -> VoteColumns:
    """Return the columns of a file of votes by role, those in `needed`; a ColumnError names every problem."""
    if named.pair is not None and len(named.pair) == 1:
        raise _two_sides(source, named.pair)
    search = _VoteSearch(frame, source, named, verdict_map)
    pair = search.take("sides", named.pair)
    prompt = search.take("prompt", named.prompt)
    judge = search.take("judge", named.judge)
    verdicts = search.take("verdict", named.verdicts)
    taken = {*(named.verdicts or ()), *(prompt or ()), *(judge or ())}
    sides = pair_of(frame, without=taken, texts="pair" not in needed) if pair is None else pair[:2]
    apart = () if pair is None else pair[2:]
    if len(sides) == 2 and sides[0] == sides[1]:
        raise _two_sides(source, sides)
    if verdicts is None and not search.problems:
        verdicts = _verdicts(search, sides, {*taken, *sides})
    used = {*taken, *sides, *(verdicts or ())}
    if prompt is None:
        prompt = _prompt(frame, used)
    if judge is None:
        judge = _by_claim(frame, "judge", used | {*prompt})
    if not apart and "apart" in needed:
        apart = tuple(name for name in rounds_of(frame) if name not in used | {*prompt})
    _lacking(search, {"verdicts": verdicts, "pair": sides, "prompt": prompt}, needed)
    if search.problems:
        raise ColumnError(f"{source}: {'; '.join(search.problems)}", hint="; ".join(search.hints))
    return VoteColumns(verdicts or (), tuple(sides), prompt, judge, apart)


def rounds_of(frame: pd.DataFrame) -> list[str]:
    """Return the columns that number the turns of a conversation."""
    return [name for name in frame.columns if roles.key_of(name) in _APART]


def _two_sides(source: str, pair: Sequence[str]) -> UsageError:
    return UsageError(
        f"{source}: a vote is on two models, so two columns name them, not {', '.join(pair) or 'none'}",
        hint="such as --pair-col model_a,model_b",
    )


_LACKS = {
    "verdicts": ("no column holds verdicts", "name it with --verdict-col COLUMN"),
    "pair": (
        "no two columns name the models",
        "name them with --pair-col COLUMN,COLUMN, or compare verdicts with --label-col COLUMN",
    ),
    "prompt": ("no column names the prompt", "name it with --prompt-col COLUMN"),
}


def _lacking(search: _VoteSearch, taken: Mapping[str, Sequence[str] | None], needed: Sequence[str]) -> None:
    """Add every needed role that no column plays."""
    lacking = [
        role for role in needed if role in _LACKS and not taken[role] and not (role == "verdicts" and search.problems)
    ]
    for role in lacking:
        search.refuse(*_LACKS[role])
    if lacking:
        search.problems[f"the columns are {listed(search.frame.columns)}"] = None


def _verdicts(search: _VoteSearch, sides: Sequence[str], used: set[str]) -> tuple[str, ...] | None:
    """Return the columns of the verdicts: one, or two of both presentation orders."""
    frame = search.frame
    pair = frame[list(sides)] if len(sides) == 2 else None
    if _is_outcome(sides):
        return (sides[0],)
    fitting = _fitting(frame, pair, used, search.verdict_map)
    if fitting:
        orders = _both_orders(fitting)
        if len(fitting) == 1 or orders:
            return orders or (fitting[0],)
        trouble = f"several columns hold votes: {listed(fitting)}"
        people = [name for name in fitting if roles.names_a_label(name)]
        others = [name for name in fitting if name not in people]
        also = f", or compare them: --verdict-col {others[0]} --label-col {people[0]}" if people and others else ""
        search.refuse(trouble, f"choose one with --verdict-col {fitting[0]}{also}")
        return None
    blank = (name for name in next(_verdict_groups(frame, used)) if numbers.is_blank(frame[name]).all())
    return tuple(itertools.islice(blank, 1)) or None


def _fitting(
    frame: pd.DataFrame, pair: pd.DataFrame | None, used: set[str], verdict_map: Mapping[str, verdict_words.Side]
) -> list[str]:
    """Return the columns that hold verdicts, of the likeliest names."""
    shown = [name for name in frame.columns if roles.key_of(name) in _SHOWN]
    if len(shown) == len(_SHOWN):
        return shown
    for group in _verdict_groups(frame, used):
        fitting = [
            name for name in group if vote_readings.holds_votes(frame[name], sides=pair, verdict_map=verdict_map)
        ]
        if fitting:
            return fitting
    return []


def columns_of_votes(frame: pd.DataFrame) -> tuple[list[str], list[str]]:
    """Return the columns that hold verdicts: of judges, and by their names of people."""
    sides = pair_of(frame)
    fitting = _fitting(frame, frame[list(sides)] if sides else None, set(sides), _NO_MAP)
    people = [name for name in fitting if roles.names_a_label(name)]
    return [name for name in fitting if name not in people], people


def _is_outcome(sides: Sequence[str]) -> bool:
    """Tell whether one column names the winner and the other the loser."""
    return len(sides) == 2 and tuple(map(roles.key_of, sides)) in OUTCOMES


def _verdict_groups(frame: pd.DataFrame, used: set[str]) -> Iterator[list[str]]:
    names = roles.by_key(name for name in frame.columns if name not in used)
    first, second, last = ([name for key in group for name in names.get(key, ())] for group in _VERDICTS)
    # A name that ends in a word for a verdict is one like it: gpt4_winner beside human_winner.
    more = [name for name in frame.columns if name not in {*used, *first} and _ends_in_a_verdict(name)]
    yield [*first, *more]
    yield second
    yield [name for name in frame.columns if name not in used and _WINS & {*verdict_words.words_of(str(name))}]
    yield last


def _ends_in_a_verdict(name: object) -> bool:
    words = verdict_words.words_of(str(name))
    telling = [word for word in words if word not in ("order", "1", "2", "order1", "order2")]
    return len(words) > 1 and bool(telling) and telling[-1] in _ENDINGS


def _both_orders(columns: Sequence[str]) -> tuple[str, ...]:
    """Return two columns in both orders, the first one first; nothing for any others."""
    by_name = {roles.key_of(name): name for name in columns}
    for first, other in _ORDERS:
        for key, name in by_name.items():
            second = by_name.get(key.replace(first, other)) if first in key else None
            if second is not None and (len(columns) == _TWO or _winner_like(name)):
                return name, second
    return ()


def _winner_like(name: str) -> bool:
    return verdict_words.words_of(name)[-1] in ("winner", "verdict", "vote")


def _prompt(frame: pd.DataFrame, used: set[str]) -> tuple[str, ...]:
    """Return the column of the prompt: of the likeliest names one whose cells repeat, or else the first.

    One that lacks some cells is taken where no other serves, so that its reader says which: without a prompt every
    vote would be its own cluster.
    """
    weak: list[str] = []
    incomplete: list[str] = []
    for group in roles.claims("prompt_id", roles.by_key(frame.columns)):
        free = [name for name in group if name not in used and not holds_lists(frame[name])]
        telling = [name for name in free if identifiers.telling(Rows.of(frame[[name]]), "prompt_id", name)]
        complete = [name for name in telling if _complete(frame[name])]
        if complete:
            return (complete[0],)
        incomplete += telling
        weak += [name for name in free if _complete(frame[name])]
    return tuple((weak or incomplete)[:1])


def _by_claim(frame: pd.DataFrame, role: str, used: set[str]) -> tuple[str, ...]:
    names = roles.by_key(frame.columns)
    groups = [
        *roles.claims(role, names),
        [column for key in ("annotator", "rater", "voter") for column in names.get(key, ())],
    ]
    free = (name for group in groups for name in group if name not in used and _complete(frame[name]))
    return tuple([name for name in free if not holds_lists(frame[name])][:1])


def _complete(column: pd.Series) -> bool:
    codes, cells = numbers.distinct(column)
    return bool((codes >= 0).all()) and all(str(cell).strip() for cell in cells)
