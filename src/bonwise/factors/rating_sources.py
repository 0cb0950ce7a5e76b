"""Rows of ratings made from other tables: scores with labels, votes, pair verdicts, results of BiGGen-Bench."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np
import pandas as pd

from bonwise.errors import ColumnError, RowError, UsageError
from bonwise.printable import listed, quoted
from bonwise.table import cells, identifiers, numbers, opening, vote_columns, vote_rows
from bonwise.table.reading import RowSource, open_frame
from bonwise.table.reading_options import LabelledKeywords, ReadingOptions, opens_a_table

_VERDICTS = {1.0: "model", 0.5: "tie", 0.0: "opponent"}


@opens_a_table
def ratings_of_scores(
    source: opening.ScoreSource,
    *,
    human: str = "human",
    category: str | None = None,
    **reading: Unpack[LabelledKeywords],
) -> pd.DataFrame:
    """Return a judge's scores and the oracle labels as ratings of candidates.

    Each judge is a rater, each of its draws a replicate, and the oracle is the rater `human`. Candidates are the
    models, so their names should recur across prompts. `category` is the column that says the category of a prompt,
    `reading` how scores and labels are read, such as ``labels="labels.csv"``. The table is one that
    `RatingTable.read` takes. A judge named like the oracle raises `InputError`.
    """
    table = opening.open_labelled(source, ReadingOptions.of(ratings_of_scores, reading))[0]
    if human in table.judges:
        raise UsageError(
            f"{table.source}: a judge is named {quoted(human)}, like the human rater",
            hint="give the human rater another name",
        )
    if category is not None and category not in table.strata:
        raise ColumnError(
            f"{table.source}: no column {quoted(category)} that says something of prompts",
            hint=f"the columns are {listed(table.strata) or 'none'}",
        )
    frame = table.frame
    rows = pd.DataFrame(
        {
            "prompt_id": frame["prompt_id"].astype(object),
            "model": frame["candidate"].astype(object),
            "category": frame[category].astype(object) if category else "",
        }
    )
    wide = list(cells.draw_columns(frame.columns))
    if wide:
        once = frame[wide].isna().all(axis=1)  # of a judge that is asked once, beside others that are drawn
        draws = [_scored(rows, frame, column, str(at)) for at, column in enumerate(wide)]
        draws.append(_scored(rows[once], frame[once], "judge_score", "0"))
    else:
        replicate = frame["draw"].astype(object) if "draw" in frame.columns else "0"
        draws = [_scored(rows, frame, "judge_score", replicate)]
    labels = rows.assign(rater=human, rating=frame["oracle_label"], replicate="0")
    labelled = labels[labels["rating"].notna()].drop_duplicates(["prompt_id", "model"])
    scored = pd.concat(draws, ignore_index=True)
    return pd.concat([scored[scored["rating"].notna()], labelled], ignore_index=True)


def _scored(rows: pd.DataFrame, frame: pd.DataFrame, column: str, replicate: pd.Series | str) -> pd.DataFrame:
    return rows.assign(rater=frame["judge"].astype(object), rating=frame[column], replicate=replicate)


def ratings_of_votes(  # noqa: PLR0913 - one argument a role, all but the source named
    source: RowSource,
    *,
    verdict: str | None = None,
    pair: Sequence[str] | None = None,
    prompt: Sequence[str] | None = None,
    rater: str | None = None,
    name: str = "human",
    category: str | None = None,
    verdict_map: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """Return votes on pairs of models as side-by-side ratings.

    Columns that are not named are found, and verdicts are read, as `study_preferences` does. The columns of `prompt`
    together name the prompt. Without the column `rater` all votes are those of the rater `name`, and several votes on
    one pair are replicates. `verdict_map` says what verdicts mean: ``first``, ``second``, ``tie`` or ``none``. The
    table is one that `RatingTable.read` takes.
    """
    raw, where = open_frame(source)
    if pair is not None and len(pair) != 2:
        raise UsageError(
            f"{where}: a vote is on two models, so two columns name them, not {', '.join(pair) or 'none'}",
            hint="such as pair=['model_a', 'model_b']",
        )
    if prompt is not None and not prompt:
        raise UsageError(f"{where}: no column names the prompt", hint="such as prompt=['question_id', 'turn']")
    named = vote_columns.NamedVoteColumns(
        verdicts=None if verdict is None else (verdict,),
        pair=None if pair is None else tuple(pair),
        prompt=None if prompt is None else tuple(prompt),
        judge=(),
    )
    needed = ("verdicts", "pair", "prompt")
    rows = vote_rows.VoteRows.of(
        raw, where, named, needed=needed, verdict_map=vote_rows.check_verdict_map(verdict_map)
    )
    frame, columns = rows.frame, rows.columns
    identifiers.require_columns(frame, [column for column in (rater, category) if column is not None], where)
    won = pd.Series(vote_rows.one_verdict(rows.worth), index=frame.index)
    return pd.DataFrame(
        {
            "prompt_id": identifiers.joined_names(frame, columns.prompt, "prompt_id", where).to_numpy(),
            "model": frame[columns.pair[0]].astype(object),
            "opponent": frame[columns.pair[1]].astype(object),
            "rater": name if rater is None else frame[rater].astype(object),
            "rating": won.map(_VERDICTS),
            "category": "" if category is None else frame[category].astype(object),
        }
    )


def ratings_of_pairs(source: RowSource, *, category: str | None = None) -> pd.DataFrame:
    """Return the verdicts that ``bonwise judge --pairs`` writes as side-by-side ratings.

    What a candidate earned, from 0 to 1, less 1/2 is the rating; each presentation order is a replicate. Columns are
    ``prompt_id``, ``judge``, ``a``, ``b``, ``shown_first`` and ``shown_second``; `category` names that of the
    category of a prompt. The table is one that `RatingTable.read` takes.
    """
    raw, where = open_frame(source)
    orders = ("shown_first", "shown_second")
    identifiers.require_columns(
        raw, ["prompt_id", "judge", "a", "b", *orders, *([category] if category else [])], where
    )
    parts = [
        pd.DataFrame(
            {
                "prompt_id": raw["prompt_id"],
                "model": raw["a"],
                "opponent": raw["b"],
                "rater": raw["judge"],
                "rating": numbers.parse_numbers(raw[order], role=order, source=where) - 0.5,
                "replicate": order,
                "category": "" if category is None else raw[category],
            }
        )
        for order in orders
    ]
    return pd.concat(parts, ignore_index=True)


def ratings_of_biggen(source: RowSource, *, human: str = "human") -> pd.DataFrame:
    """Return results in the schema of BiGGen-Bench as ratings of one model each.

    Columns are ``id``, ``model_name``, ``human_score``, a column ``NAME_score`` per judge, and optionally
    ``capability``, which becomes the category. A judge's cell is a score or a list of scores, which are replicates;
    None in it is left out, and so is a human score of -1. `human` names the human rater. The table is one that
    `RatingTable.read` takes.
    """
    raw, where = open_frame(source)
    identifiers.require_columns(raw, ["id", "model_name", "human_score"], where)
    judges = [str(c) for c in raw.columns if str(c).endswith("_score") and c != "human_score"]
    names = {column: column.removesuffix("_score") for column in judges}
    if human in names.values():
        raise UsageError(
            f"{where}: a judge is named {quoted(human)}, like the human rater",
            hint="give the human rater another name",
        )
    rows = []
    for column in ("human_score", *judges):
        for row, cell in zip(raw.index, raw[column], strict=True):
            rows += [
                (row, names.get(column, human), score, str(at)) for at, score in _scores(cell, column, row, where)
            ]
    at = pd.Index([row for row, *_ in rows])
    return pd.DataFrame(
        {
            "prompt_id": raw["id"].loc[at].to_numpy(dtype=object),
            "model": raw["model_name"].loc[at].to_numpy(dtype=object),
            "rater": [name for _, name, *_ in rows],
            "rating": pd.Series([score for _, _, score, _ in rows], dtype=object),
            "replicate": [replicate for *_, replicate in rows],
            "category": raw["capability"].loc[at].to_numpy(dtype=object) if "capability" in raw.columns else "",
        }
    )


def _scores(cell: Any, column: str, row: object, source: str) -> list[tuple[int, Any]]:
    """Return the scores of a cell, numbered; a human score of -1 is none."""
    if isinstance(cell, str) and cell.strip().startswith("["):
        try:
            cell = json.loads(cell.replace("None", "null").replace("nan", "null"))
        except ValueError:
            raise RowError(
                f"{source}, row {row}: {column} is {quoted(cell)}, which is neither a score nor a list of scores",
                hint="write a number, or a list such as [4, 5, null]",
            ) from None
    found = list(cell) if isinstance(cell, list | tuple | np.ndarray) else [cell]
    kept = [(at, one) for at, one in enumerate(found) if not pd.isna(one) and str(one).strip() != ""]
    return [(at, one) for at, one in kept if column != "human_score" or str(one).removesuffix(".0") != "-1"]
