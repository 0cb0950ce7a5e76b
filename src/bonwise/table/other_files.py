"""Files of votes on pairs, told by their columns: which command reads them."""

from __future__ import annotations

import numpy as np
import pandas as pd

from bonwise.errors import ColumnError, OtherFileError, RowError
from bonwise.printable import quoted, shell_path, shell_word
from bonwise.table import store, verdict_words, vote_columns, vote_rows

_MAPS = ("1=first,0=second", "1=first,2=second,0=tie", "1=first,2=second,3=tie")
"""What numbers may mean that mean nothing by themselves."""

_FEWEST = 2
"""Votes on a pair below which it cannot be studied."""

_VOTES = 10
"""Votes on a pair from which it is studied where nothing is said, see `bonwise.study_preferences`."""


def votes_file(rows: store.Rows, source: str) -> OtherFileError | None:
    """Return what to say of a file of votes; None for any other."""
    frame = rows.to_frame()
    shaped = vote_rows.shaped_votes(frame).frame
    sides = vote_columns.pair_of(shaped)
    if not sides:
        return None
    trouble, command = f"{source}: votes on pairs, not a table of scores", f"bonwise preferences {shell_path(source)}"
    judges, people = vote_columns.columns_of_votes(shaped)
    if judges and people:
        flags = f"--verdict-col {shell_word(judges[0])} --label-col {shell_word(people[0])}"
        apart = "" if "," in "".join(sides) else f" --pair-col {shell_word(','.join(sides))}"
        return _to_type(trouble, f"{command} {flags}{apart}")
    try:
        votes = vote_rows.VoteRows.of(frame, source, vote_columns.NamedVoteColumns(), needed=())
    except RowError as error:
        return _with_a_map(frame, source, trouble, command, error)
    except ColumnError as error:
        return OtherFileError(trouble, hint=f"{error.message}; {error.hint}")
    return _next_with_votes(votes, trouble, command) if votes.columns.verdicts else None


def _to_type(trouble: str, command: str, when: str = "") -> OtherFileError:
    return OtherFileError(trouble, hint=when + command, command=command)


def _with_a_map(frame: pd.DataFrame, source: str, trouble: str, command: str, error: RowError) -> OtherFileError:
    """Name a command that reads numbers which may mean either side, and when it is right."""
    for text in _MAPS:
        meaning = verdict_words.parse_verdict_map(text)
        try:
            rows = vote_rows.VoteRows.of(
                frame, source, vote_columns.NamedVoteColumns(), needed=(), verdict_map=meaning
            )
        except RowError:
            continue
        words = {verdict_words.plain_word(cell) for name in rows.columns.verdicts for cell in frame[name].dropna()}
        if not {word for word in words if word.isdecimal()} <= set(meaning):
            continue  # a number that the map does not name would mean what it means elsewhere
        flags = _study_flags(rows)
        if flags is not None:
            first = quoted(rows.columns.pair[0])
            mapped = " ".join([command, "--verdict-map", text, *flags])
            return _to_type(trouble, mapped, f"if 1 is a vote for {first}: ")
    return OtherFileError(trouble, hint=f"{error.message}; {error.hint}")


def _next_with_votes(rows: vote_rows.VoteRows, trouble: str, command: str) -> OtherFileError:
    """Say what can be done with votes: a study, or a comparison with votes of people."""
    studied = _study_flags(rows)
    if studied is not None:
        return _to_type(trouble, " ".join([command, *studied]))
    if rows.columns.prompt:
        hint = f"compare them with votes of people on the same pairs: {command} --labels VOTES.csv"
        return OtherFileError(trouble, hint=hint)
    return OtherFileError(
        trouble, hint="a study needs two columns that name models, and two votes on one pair of them"
    )


def _study_flags(rows: vote_rows.VoteRows) -> list[str] | None:
    """Return the flags with which votes are studied; None where no pair of models has two votes."""
    pair = vote_columns.pair_of(rows.frame, texts=False)
    if not pair or pair != rows.columns.pair:
        return None
    votes = vote_rows.one_verdict(rows.worth)
    named = rows.frame[list(pair)].notna().all(axis=1).to_numpy()
    texts = [rows.frame[column].astype(object).where(named, "").astype(str).str.strip() for column in pair]
    names = [column.to_numpy(dtype=object) for column in texts]
    use = ~np.isnan(votes) & named & (names[0] != names[1])
    sides = pd.DataFrame({"low": np.minimum(*names), "high": np.maximum(*names)})
    counts = sides[use].value_counts()
    most = int(counts.max()) if len(counts) else 0
    if most < _FEWEST:
        return None
    return [f"--fewest-votes {most}"] if most < _VOTES else []


_NUMBERED = "0=tie,1=first,2=second"


def numbered_verdicts(rows: store.Rows, source: str, people: store.Rows | None) -> OtherFileError | None:
    """Return what to say of verdicts that are 0, 1 or 2, beside the votes of people; None for any other file."""
    key, verdicts = _key_and_verdicts(rows.to_frame())
    if not key or not verdicts:
        return None
    trouble = f"{source}: verdicts on pairs as numbers in {', '.join(verdicts)}, not a table of scores"
    theirs = [] if people is None or key not in people.columns else _key_and_verdicts(people.to_frame())[1]
    if not theirs:
        hint = "compare a judge's verdicts with votes of people on the same pairs: VERDICTS --labels VOTES"
        return OtherFileError(trouble, hint=hint)
    flags = [f"--verdict-col {shell_word(verdicts[0])}", f"--label-col {shell_word(','.join(theirs))}"]
    flags += [f"--prompt-col {shell_word(key)}", f"--verdict-map {_NUMBERED}"]
    read = f"{trouble}. The command reads 1 as the first side, 2 as the second, 0 as a tie: change what differs"
    return _to_type(read, " ".join([f"bonwise preferences {shell_path(source)}", *flags]))


def _key_and_verdicts(frame: pd.DataFrame) -> tuple[str, list[str]]:
    """Return the first column that tells all rows apart, and the columns that hold 1, 2 and perhaps 0."""
    values = {str(name): set(frame[name].dropna().astype(str)) for name in frame}
    key = next((name for name, cells in values.items() if len(cells) == len(frame)), "")
    return key, [name for name, cells in values.items() if {"1", "2"} <= cells <= {"0", "1", "2"}]
