"""Study the votes of a preference evaluation: what it could detect, and what more votes would buy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from bonwise.errors import InputError, UsageError
from bonwise.release import release
from bonwise.table.vote_rows import check_verdict_map
from bonwise.table.votes import Ties, VoteTable
from bonwise.votes.over_pairs import OverPairs
from bonwise.votes.pair_votes import StudiedPair, checked, study_pair
from bonwise.votes.result import PreferenceStudy, VotesData, VotesSettings

if TYPE_CHECKING:
    from bonwise.table.reading import RowSource

__all__ = ["study_preferences"]

_COUNTING: Mapping[Ties | None, str] = {
    None: "no vote is a tie",
    "drop": "ties are left out: the best case, for a tie says nothing for either side",
    "half": "a tie counts half a vote for each side",
    "pessimistic": "a tie counts for the second model, against the first",
}


def study_preferences(  # noqa: PLR0913 - one argument a role, all but the source named
    source: RowSource,
    *,
    verdict_col: str | None = None,
    pair_col: Sequence[str] | None = None,
    prompt_col: str | Sequence[str] | None = None,
    verdict_map: Mapping[str, str] | None = None,
    ties: Ties | None = None,
    near_tie: float = 0.10,
    power: float = 0.90,
    confidence: float = 0.95,
    fewest_votes: int = 10,
    kept_share: float = 0.2,
    threshold: float = 1.5,
    votes_at: Sequence[int] = (25, 50, 100, 200, 500, 1000),
    z_at: Sequence[int] = (50, 100),
    resamples: int = 2000,
    permutations: int = 999,
    repetitions: int = 1500,
    seed: int = 0,
) -> PreferenceStudy:
    """Study raw votes, pair by pair and over the pairs (Lee 2026).

    Parameters
    ----------
    source : str, pathlib.Path, pandas.DataFrame or rows as mappings
        One row a vote.
    verdict_col : str, optional
        Column that says which model won; see docs/preferences.md for what it may hold. A column that is not named is
        found by its name and content, this one and the next.
    pair_col : sequence of str, optional
        The two columns that name the models.
    prompt_col : str or sequence of str, optional
        Column, or columns that together name the prompt, the unit of the intervals of one pair; every vote is a unit
        of its own where it is empty, and where no column names the prompt.
    verdict_map : mapping of str to str, optional
        What verdicts say, such as ``{"1": "first", "0": "second"}``: first, second, tie or none.
    ties : {"drop", "half", "pessimistic"}, optional
        How a tie counts; needed where there are ties. Pessimistic: for the alphabetically second model.
    near_tie : float
        tau, the largest absolute margin of a near tie.
    power : float
        Probability to see a preference that is there.
    confidence : float
        Of the two-sided intervals, in [0.5, 1). They are clustered by prompt within a pair; over pairs they are
        percentiles of resampled pairs.
    fewest_votes : int
        Pairs with fewer votes that count are left out, and counted.
    kept_share, threshold : float
        Of the concentration: q, and what kappa has to exceed besides chance.
    votes_at, z_at : sequence of int
        Sizes of subsamples for rates of detection, and for z.
    resamples, permutations, repetitions : int
        Of the bootstrap over pairs, of the null of the concentration, and of simulated screening.
    seed : int
        Of all three.

    Raises
    ------
    bonwise.errors.InputError
        A column that is absent, a verdict that is none, or too few votes.
    bonwise.errors.UsageError
        Ties without a way to count them, or an argument of another type or out of its range.

    Examples
    --------
    >>> import pandas as pd
    >>> votes = pd.DataFrame({"a": "x", "b": "y", "q": [n // 2 for n in range(20)], "won": ["a", "a", "b", "a"] * 5})
    >>> found = study_preferences(votes, verdict_col="won", pair_col=["a", "b"], prompt_col="q")
    >>> found.pairs[0].win_rate.estimate, found.pairs[0].margin
    (0.25, -0.25)
    """
    asked = checked(
        ties=ties,
        near_tie=near_tie,
        power=power,
        confidence=confidence,
        fewest_votes=fewest_votes,
        kept_share=kept_share,
        threshold=threshold,
        votes_at=votes_at,
        z_at=z_at,
        resamples=resamples,
        permutations=permutations,
        repetitions=repetitions,
        seed=seed,
    )
    verdict = None if verdict_col is None else _named("verdict_col", verdict_col, most=1)[0]
    pair = None if pair_col is None else _named("pair_col", pair_col)
    prompt = None if prompt_col is None else _named("prompt_col", prompt_col)
    cast = VoteTable.read(source, verdict=verdict, pair=pair, prompt=prompt, verdict_map=verdict_map)
    settings = VotesSettings(
        **asked,
        verdict_col=",".join(cast.columns.verdicts),
        pair_col=list(cast.columns.pair),
        prompt_col=list(cast.columns.prompt),
        counting=_COUNTING[asked["ties"]],
        first="alphabetically first of the two names",
        source=cast.source,
        version=release(),
        readings=dict(cast.readings),
        verdict_map=None if verdict_map is None else dict(check_verdict_map(verdict_map)),
    )
    return _study(cast, settings)


def _named(argument: str, given: str | Sequence[str], *, most: int | None = None) -> list[str]:
    """Return the columns that an argument names."""
    found = [given] if isinstance(given, str) else list(given) if isinstance(given, Sequence) else [given]
    if not all(isinstance(one, str) for one in found) or (most is not None and len(found) != most):
        what = "the name of a column" if most == 1 else "names of columns"
        raise UsageError(f"{argument} is {what}, not {given!r}", hint="such as prompt_col=['question_id']")
    return found


def _study(cast: VoteTable, settings: VotesSettings) -> PreferenceStudy:
    table = cast.under(settings.ties)
    pairs, few = _pairs(cast, table, settings)
    if not pairs:
        raise InputError(
            f"{table.source}: no pair has {settings.fewest_votes:,} votes that count",
            hint="lower --fewest-votes, or name the columns of the models with --pair-col",
        )
    votes, over = [pair.votes for pair in pairs], OverPairs(pairs, settings)
    dropped = dict(table.dropped)
    if few[0]:
        dropped[f"pair with fewer than {settings.fewest_votes:,} votes"] = few[1]
    kept = {(pair.first, pair.second) for pair in votes}
    data = VotesData(
        rows=len(cast.preferred) + sum(cast.dropped.values()),
        votes=sum(pair.votes for pair in votes),
        ties=sum(pair.ties for pair in votes),
        pairs=len(votes),
        pairs_left_out=few[0],
        models=len({name for names in kept for name in names}),
        prompts=_distinct_prompts(table, kept) if table.prompts_named else None,
        dropped=dropped,
    )
    return PreferenceStudy(
        data=data,
        settings=settings,
        margins=list(over.margins()),
        near_ties=over.near_ties(),
        ties=over.ties(),
        cluster_ratio=over.cluster_ratio(),
        variance=over.variance(),
        z=list(over.z()),
        detection=list(over.detection()),
        concentration=over.concentration(),
        pairs=votes,
    )


def _pairs(cast: VoteTable, table: VoteTable, settings: VotesSettings) -> tuple[list[StudiedPair], tuple[int, int]]:
    """Study every pair with votes enough; count the other pairs and their votes."""
    of_cast, of_table = (_by_pair(one) for one in (cast, table))
    pairs, few = [], [0, 0]
    for key, every in of_cast.items():
        mine = of_table.get(key, np.empty(0, dtype=np.int64))
        if len(mine) < settings.fewest_votes:
            few = [few[0] + 1, few[1] + len(mine)]
            continue
        names = table.models[key[0]], table.models[key[1]]
        values, prompt = table.preferred[mine], table.prompt[mine]
        pairs.append(study_pair(names, values, prompt, cast.preferred[every], settings, named=table.prompts_named))
    return pairs, (few[0], few[1])


def _by_pair(table: VoteTable) -> dict[tuple[int, int], np.ndarray]:
    """Return the votes of each pair, pairs in alphabetical order."""
    key = table.first * len(table.models) + table.second
    order = np.argsort(key, kind="stable")
    found, starts = np.unique(key[order], return_index=True)
    parts = np.split(order, starts[1:])
    return {divmod(int(one), len(table.models)): part for one, part in zip(found, parts, strict=True)}


def _distinct_prompts(table: VoteTable, kept: set[tuple[str, str]]) -> int:
    names = table.models
    mine = [(names[a], names[b]) in kept for a, b in zip(table.first, table.second, strict=True)]
    return len(np.unique(table.prompt[mine]))
