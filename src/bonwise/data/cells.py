"""Many rows to one value a cell, a cell being one candidate of one prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["mean_by_cell", "same_by_cell"]

_Ints = "npt.NDArray[np.int64]"
_Floats = "npt.NDArray[np.float64]"
