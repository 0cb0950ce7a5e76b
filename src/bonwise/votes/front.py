"""Votes and pairwise verdicts: what votes could detect, and how verdicts agree with labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from bonwise.errors import UsageError
from bonwise.flags import NO_FLAG, Flag, comma_separated, takes_numbers
from bonwise.table import checks, verdict_words

if TYPE_CHECKING:
    from bonwise.table.reading import RowSource
    from bonwise.table.votes import Ties
    from bonwise.votes.preferences_result import PreferenceAudit
    from bonwise.votes.result import PreferenceStudy

_SOURCE = Flag("Votes or verdicts: CSV, JSONL or Parquet.", "FILE", Path)
_VERDICTS = Flag("Column of the verdict; twice for two presentation orders.", "--verdict-col", list[str])
_PROMPT = Flag(
    "Column of the pair's prompt; a,b joins columns, here and below.", "--prompt-col", str, comma_separated
)
_PAIR = Flag(
    "The two columns of the sides, then what tells a prompt's pairs apart; with --label-col only that.",
    "--pair-col",
    str,
    comma_separated,
)
_VERDICT_MAP = Flag(
    "What verdicts say, such as 1=first,0=second (first, second, tie or none).",
    kind=str,
    read=lambda text, _: verdict_words.parse_verdict_map(text),
    rare=True,
)


def _one_column(names: Sequence[str], _: str) -> str:
    if len(names) > 1:
        raise UsageError(
            "a vote has one verdict, and several columns were named",
            hint="give --verdict-col once; two presentation orders are audited with --label-col or --labels",
        )
    return names[0]


@takes_numbers
def study_preferences(  # noqa: PLR0913 - one argument a role, all but the source named
    source: Annotated[RowSource, _SOURCE],
    *,
    verdict_col: Annotated[str | None, replace(_VERDICTS, read=_one_column)] = None,
    pair_col: Annotated[Sequence[str] | None, _PAIR] = None,
    prompt_col: Annotated[str | Sequence[str] | None, _PROMPT] = None,
    verdict_map: Annotated[Mapping[str, str] | None, _VERDICT_MAP] = None,
    ties: Annotated[
        Ties | Literal["all"] | None,
        Flag("How ties count: half (the default), drop, pessimistic (second model), or all, side by side.", kind=str),
    ] = None,
    ranking: Annotated[bool, Flag("Rank the models by all votes together (Bradley-Terry).")] = False,
    by: Annotated[
        Literal["pair", "prompt"],
        Flag("Margins of each pair, or also of each prompt of a pair.", "--by", str | None, rare=True),
    ] = "pair",
    against: Annotated[
        RowSource | None, Flag("Votes of another study: variance between prompts is compared.", kind=Path, rare=True)
    ] = None,
    next: Annotated[  # noqa: A002 - as it is typed
        int | None, Flag("Allocate so many further votes where they settle the first places soonest.", rare=True)
    ] = None,
    depth: Annotated[int | None, Flag("Places that --next is to settle; 1 if not given.", rare=True)] = None,
    early_votes: Annotated[
        int, Flag("First and last votes of a pair that are compared; 50 if not given.", kind=int | None, rare=True)
    ] = 50,
    near_tie: Annotated[
        float, Flag("Largest margin of a near tie; 0.1 if not given.", kind=float | None, rare=True)
    ] = 0.10,
    power: Annotated[float, Flag("Of the votes to plan for; 0.9 if not given.", kind=float | None, rare=True)] = 0.90,
    confidence: float = checks.CONFIDENCE,
    fewest_votes: Annotated[
        int, Flag("Pairs with fewer votes are left out; 10 if not given.", kind=int | None, rare=True)
    ] = 10,
    kept_share: Annotated[float, NO_FLAG] = 0.2,
    threshold: Annotated[float, NO_FLAG] = 1.5,
    votes_at: Annotated[Sequence[int], NO_FLAG] = (25, 50, 100, 200, 500, 1000),
    z_at: Annotated[Sequence[int], NO_FLAG] = (50, 100),
    resamples: Annotated[int, NO_FLAG] = 2000,
    permutations: Annotated[int, NO_FLAG] = 999,
    repetitions: Annotated[int, NO_FLAG] = 1500,
    seed: Annotated[
        int, Flag("Of resampled pairs and permutations; 0 if not given.", kind=int | None, rare=True)
    ] = 0,
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
    ties : {"drop", "half", "pessimistic", "all"}, optional
        How a tie counts, by default half a vote for each side. Pessimistic: for the alphabetically second model. All:
        half, and a table of the three.
    ranking : bool
        Whether to rank the models by their strengths (Bradley-Terry), from all votes together.
    by : {"pair", "prompt"}
        Whether to count near ties among the prompts of each pair too.
    against : str, pathlib.Path, pandas.DataFrame or rows as mappings, optional
        Votes of another study, read with the same arguments. The variance of win rates between prompts is compared
        over the pairs that both have.
    next : int, optional
        Further votes to allocate over all pairs, where they settle the first places soonest.
    depth : int, optional
        Places that `next` is to settle, by default the first.
    early_votes : int
        First and last votes of a pair that are compared, in the order of the file.
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
        An argument of another type or out of its range.

    Examples
    --------
    >>> import pandas as pd
    >>> votes = pd.DataFrame({"a": "x", "b": "y", "q": [n // 2 for n in range(20)], "won": ["a", "a", "b", "a"] * 5})
    >>> found = study_preferences(votes, verdict_col="won", pair_col=["a", "b"], prompt_col="q")
    >>> found.pairs[0].win_rate.estimate, found.pairs[0].margin
    (0.25, -0.25)
    """
    arguments = dict(locals())
    from bonwise.votes.engine import studied_votes

    return studied_votes(**arguments)


@takes_numbers
def audit_preferences(  # noqa: PLR0913 - one argument a role, all but the source named
    source: Annotated[RowSource, _SOURCE],
    *,
    verdict_col: Annotated[str | Sequence[str], _VERDICTS] = (),
    label_col: Annotated[
        str | None, Flag("Column of the oracle's verdict, in LABELS if given; there a,b takes the majority.")
    ] = None,
    labels: Annotated[
        RowSource | None, Flag("Votes of people on the same pairs, joined by prompt and sides.", kind=Path)
    ] = None,
    prompt_col: Annotated[str | Sequence[str], _PROMPT] = (),
    judge_col: Annotated[str | Sequence[str], Flag("Column of the judge's name.", "", str, comma_separated)] = (),
    context_col: Annotated[
        str | Sequence[str], Flag("Column of the context.", "", str, comma_separated, rare=True)
    ] = (),
    pair_col: Annotated[str | Sequence[str], _PAIR] = (),
    verdict_map: Annotated[Mapping[str, str] | None, _VERDICT_MAP] = None,
    second_order: Annotated[
        checks.SecondOrder | None,
        Flag("Of two verdict columns, the second names places (turned) or answers (as-named).", kind=str, rare=True),
    ] = None,
    confidence: float = checks.CONFIDENCE,
) -> PreferenceAudit:
    """Split the agreement of pairwise verdicts into a between- and a within-context part.

    ``Cov(J, O) = Cov(E[J|X], E[O|X]) + E[Cov(J, O|X)]`` and the same for ``Var(O)`` (equations 5 and
    6 of Landesberg 2026). The means of contexts scatter by chance; the part between does not count that,
    so it may be negative. Two verdict columns are two presentation orders, averaged: verdicts that
    contradict each other count as a tie. Columns of verdicts, prompts and sides that are not named are found.

    Parameters
    ----------
    source : str, pathlib.Path, pandas.DataFrame or rows as mappings
    verdict_col : str or sequence of str
        One or two columns with the judge's verdict; see docs/preferences.md for what they may hold.
    label_col : str, optional
        Column with the oracle's verdict, in `labels` where these are given; several there, with commas between, are
        votes of which the majority counts.
    labels : str, pathlib.Path, pandas.DataFrame or rows as mappings, optional
        Votes of people, joined by prompt and sides, whichever side stands first; of several votes on a pair the
        majority counts, and a tie where there is none.
    prompt_col, judge_col, context_col : str or sequence of str
        Columns that together name a pair's prompt (the unit of the intervals), its judge, its context X.
    pair_col : str or sequence of str
        Columns that tell the pairs of one prompt apart, where it has several. With `labels`, the two columns that
        name the sides, then such columns.
    verdict_map : mapping of str to str, optional
        What verdicts say, such as ``{"1": "first", "0": "second"}``: first, second, tie or none.
    second_order : {"turned", "as-named"}, optional
        Where a judge compared answers in two orders, a column each: whether the second one names places, which are
        those of the first turned round, or answers. Needed where both stand in a list of one cell, such as
        ``judgments[0].decision``; other columns are as named where it is None.
    confidence : float
        Of the two-sided intervals, in [0.5, 1). They are jackknife intervals, clustered by prompt.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"item": range(4), "set": list("aabb"), "v": [1, 2, 1, 2], "gold": [1, 2, 2, 2]})
    >>> found = audit_preferences(frame, verdict_col="v", label_col="gold", prompt_col="item", context_col="set")
    >>> found.judges["judge"].metrics.agreement.estimate
    0.75
    """
    from bonwise.votes.preferences import audited_preferences

    columns = {
        "verdict": verdict_col,
        "prompt": prompt_col,
        "judge": judge_col,
        "context": context_col,
        "pair": pair_col,
    }
    named = {role: checks.names_of(f"{role}_col", columns[role]) for role in columns}
    named["verdicts"] = named.pop("verdict")
    return audited_preferences(
        source,
        oracle=label_col,
        labels=labels,
        verdict_map=verdict_map,
        second_order=second_order,
        confidence=confidence,
        **named,
    )
