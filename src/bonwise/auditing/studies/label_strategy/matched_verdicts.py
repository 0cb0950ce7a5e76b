"""Verdicts on pairs laid beside the scores of the same candidates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pandas as pd

from bonwise.data.pair_verdicts import PairVerdicts
from bonwise.data.panel import Panel
from bonwise.stats.label_strategy.borda import Pairs
from bonwise.stats.sums import Floats

__all__ = ["MatchedVerdicts", "match"]

_Ints = npt.NDArray[np.int64]
_Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class MatchedVerdicts:
    """A panel, and the verdicts on pairs of its candidates."""

    panel: Panel
    """Of the judge that scored; labels are complete."""
    pairs: Pairs = field(repr=False)
    """Sorted by prompt, `i` before `j`."""
    both: Floats = field(repr=False)
    """What `i` earned on average over the orders."""
    one: Floats = field(repr=False)
    """What it earned in one order, drawn for each pair."""
    shown_first: Floats = field(repr=False)
    """What it earned in each order, NaN where it was not asked."""
    shown_second: Floats = field(repr=False)
    """What it earned in each order, NaN where it was not asked."""
    tokens: Floats = field(repr=False)
    """Of all answers on the pair, NaN where unknown."""
    orders: int
    """2 where pairs were judged in both orders, 1 where in one."""
    weights: Floats | None = field(repr=False)
    """1 over the probability of being drawn; None where pairs were not drawn."""
    left_out: Mapping[str, int]
    """Rows of the verdicts that are not among the pairs, by reason."""

    @property
    def judged_pairs(self) -> _Ints:
        """Number of judged pairs of each prompt, shape (prompts,)."""
        return np.bincount(self.pairs.prompt, minlength=len(self.panel.sizes))

    def keep(self, prompts: _Mask) -> MatchedVerdicts:
        """Return some of the prompts."""
        kept = prompts[self.pairs.prompt]
        cells = np.cumsum(np.repeat(prompts, self.panel.sizes)) - 1
        some = self.pairs.some(kept)
        return MatchedVerdicts(
            self.panel.keep(prompts),
            Pairs((np.cumsum(prompts) - 1)[some.prompt], cells[some.i], cells[some.j]),
            self.both[kept],
            self.one[kept],
            self.shown_first[kept],
            self.shown_second[kept],
            self.tokens[kept],
            self.orders,
            None if self.weights is None else self.weights[kept],
            self.left_out,
        )


def match(panel: Panel, verdicts: PairVerdicts, seed: int) -> MatchedVerdicts:
    """Lay verdicts on the cells of a panel; what does not fit is counted with its reason.

    Where any pair has verdicts in both orders, those with one alone are left out.

    Parameters
    ----------
    panel : Panel
    verdicts : PairVerdicts
        With a column ``weight`` where the pairs were drawn.
    seed : int
        Of the order that stands for a judge asked once a pair.
    """
    frame = verdicts.frame
    prompt, cells = _positions(panel, frame)
    known = ~np.isnan(frame[["first", "second"]].to_numpy())
    orders = 2 if known.all(axis=1).any() else 1
    enough = known.sum(axis=1) >= orders
    reason = np.select(
        [prompt < 0, (cells < 0).any(axis=0), ~known.any(axis=1), ~enough],
        [
            "the prompt is not among those that are scored and labelled completely",
            "a candidate that the prompt lacks or that is left out",
            "no verdict",
            "a verdict in one order only",
        ],
        "",
    )
    kept = reason == ""
    counts = dict(Counter(reason[~kept].tolist()))
    return _laid(panel, frame[kept], (prompt[kept], cells[:, kept]), orders, seed, counts)


def _positions(panel: Panel, frame: pd.DataFrame) -> tuple[_Ints, _Ints]:
    """Return where prompt and both candidates of each row are in the panel, -1 for nowhere."""
    prompt = panel.prompt_ids.get_indexer(pd.Index(frame["prompt_id"]))
    width = len(panel.candidates)
    owner = np.repeat(np.arange(len(panel.sizes)), panel.sizes)
    keys = pd.Index(owner * width + panel.names)
    found = []
    for role in ("a", "b"):
        name = panel.candidates.get_indexer(pd.Index(frame[role]))
        found.append(np.where((prompt < 0) | (name < 0), -1, keys.get_indexer(prompt * width + name)))
    return prompt, np.array(found)


def _laid(
    panel: Panel, frame: pd.DataFrame, at: tuple[_Ints, _Ints], orders: int, seed: int, counts: Mapping[str, int]
) -> MatchedVerdicts:
    prompt, (a, b) = at
    first, second = frame["first"].to_numpy(), frame["second"].to_numpy()
    swapped = a > b
    # What b earned when it was shown first is what a did not when it was shown second.
    first, second = np.where(swapped, 1 - second, first), np.where(swapped, 1 - first, second)
    i, j = np.minimum(a, b), np.maximum(a, b)
    order = np.lexsort((j, i, prompt))
    first, second = first[order], second[order]
    coin = np.random.default_rng(seed).random(len(order)) < 0.5
    one = np.where(np.isnan(first) | (~coin & ~np.isnan(second)), second, first)
    both = (first + second) / 2 if orders == 2 else one
    return MatchedVerdicts(
        panel,
        Pairs(prompt[order], i[order], j[order]),
        both,
        one,
        first,
        second,
        frame["tokens"].to_numpy()[order],
        orders,
        frame["weight"].to_numpy()[order] if "weight" in frame.columns else None,
        counts,
    )
