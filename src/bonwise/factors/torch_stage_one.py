"""Stage 1 by torch, for very many ratings: steps of Adam on batches of ratings, then L-BFGS on all of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.nn.functional import logsigmoid, softplus

from bonwise.arrays import Floats
from bonwise.factors.rating_arrays import RatingArrays
from bonwise.progress import counting
from bonwise.stats import ordinal_ratings

if TYPE_CHECKING:
    from bonwise.factors.stage_one import CapabilityShape

_CHUNK = 262_144
"""Ratings whose gradient is taken at once: this bounds the memory."""

_BATCH = 16_384
_EPOCHS = 20
_RATE = 0.05


@dataclass(frozen=True, eq=False)
class TorchStageOneLoss:
    """The function and parameters of `bonwise.factors.stage_one.StageOneLoss`, with torch's own gradient."""

    data: RatingArrays = field(repr=False)
    shape: CapabilityShape
    prior: float = 1.0
    normalize: bool = False

    def __call__(self, vector: Floats) -> tuple[float, Floats]:
        """Return the loss and its gradient, in double precision."""
        at = torch.tensor(vector, dtype=torch.float64, requires_grad=True)
        found = self._penalty(at)
        found.backward()
        value = float(found.detach())
        for begin in range(0, len(self.data), _CHUNK):
            part = self.of_rows(at, slice(begin, begin + _CHUNK))
            part.backward()
            value += float(part.detach())
        return value, at.grad.numpy()

    def of_batch(self, vector: Any, rows: Any) -> Any:
        """Return the loss as some of the ratings estimate it, a tensor."""
        return self._penalty(vector) + self.of_rows(vector, rows) * (len(self.data) / len(rows))

    def of_rows(self, vector: Any, rows: Any) -> Any:
        """Return what some of the ratings add to the loss, a tensor."""
        columns = self._columns
        raters, prompts, models, upper, lower = self._parts(vector)
        better = models.index_select(0, columns["model"][rows])
        if self.data.side_by_side.any():
            # The last row stands for no opponent.
            padded = torch.cat([models, models.new_zeros(1, self.shape.rank)])
            better = better - padded.index_select(0, columns["opponent"][rows])
        both = raters.index_select(0, columns["rater"][rows]) * prompts.index_select(0, columns["prompt"][rows])
        eta = (both * better).sum(dim=1)
        category = columns["category"][rows]
        apart = torch.log(-torch.expm1(lower - upper)).index_select(0, category)
        below = logsigmoid(upper.index_select(0, category) - eta)
        above = logsigmoid(eta - lower.index_select(0, category))
        share = columns["share"][rows].to(vector.dtype)
        return -(share * (apart + below + above)).sum()

    @cached_property
    def _columns(self) -> dict[str, Any]:
        data = self.data
        opponent = np.where(data.side_by_side, data.opponent, data.models)
        found = {"rater": data.rater, "prompt": data.prompt, "model": data.model, "opponent": opponent}
        found |= {"category": data.category, "share": data.weight / data.weight.sum()}
        return {name: torch.from_numpy(np.ascontiguousarray(values)) for name, values in found.items()}

    def _cutoffs(self, raw: Any) -> Any:
        layout = self.shape.layout
        increments = torch.where(
            torch.from_numpy(layout.increments), softplus(raw, threshold=40) + ordinal_ratings.LEAST_GAP, raw
        )
        found = layout.to_cutoffs.tocoo()
        row, column = (torch.from_numpy(places.astype(np.int64)) for places in (found.row, found.col))
        parts = torch.from_numpy(found.data).to(raw.dtype) * increments.index_select(0, column)
        return raw.new_zeros(found.shape[0]).index_add(0, row, parts)

    def _parts(self, vector: Any) -> tuple[Any, Any, Any, Any, Any]:
        """Return raters, prompts, models, and the upper and the lower cutoff of every category."""
        shape, layout, k = self.shape, self.shape.layout, self.shape.rank
        sizes = [shape.raters * k, shape.prompts * k, shape.models * k, len(vector) - shape.factors]
        raters, prompts, models, raw = vector.split(sizes)
        raters, prompts, models = (part.view(-1, k) for part in (raters, prompts, models))
        if self.normalize:
            prompts, models = (part / part.norm(dim=0) for part in (prompts, models))
        cutoffs = self._cutoffs(raw)
        ends = torch.cat([cutoffs, cutoffs.new_tensor([np.inf, -np.inf])])
        upper, lower = (ends.index_select(0, torch.from_numpy(places)) for places in layout.end_places)
        return raters, prompts, models, upper, lower

    def _penalty(self, vector: Any) -> Any:
        held = vector[: self.shape.factors]
        weight = 0.0 if self.normalize else self.prior / float(self.data.weight.sum())
        return weight / 2 * (held * held).sum()


def by_batches(loss: TorchStageOneLoss, start: Floats, rng: np.random.Generator) -> Floats:
    """Return parameters after some passes of Adam over batches of the ratings, in single precision."""
    at = torch.tensor(start, dtype=torch.float32, requires_grad=True)
    count = len(loss.data)
    steps = _EPOCHS * -(-count // _BATCH)
    adam = torch.optim.Adam([at], lr=_RATE)
    slower = torch.optim.lr_scheduler.CosineAnnealingLR(adam, steps)
    with counting("batch", steps) as step:
        for _ in range(_EPOCHS):
            for rows in torch.from_numpy(rng.permutation(count)).split(_BATCH):
                adam.zero_grad()
                loss.of_batch(at, rows).backward()
                adam.step()
                slower.step()
                step()
    return np.asarray(at.detach().double().numpy())
