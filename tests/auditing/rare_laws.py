"""The laws of `benchmarks/laws.py`, in which a few prompts carry a figure, and ordinary ones beside them."""

import importlib.util
import sys
from pathlib import Path

_FILE = Path(__file__).parents[2] / "benchmarks" / "laws.py"
_SPEC = importlib.util.spec_from_file_location("benchmark_of_laws", _FILE)
laws = importlib.util.module_from_spec(_SPEC)
sys.modules[_SPEC.name] = laws
_SPEC.loader.exec_module(laws)

normal = laws.normal


def truth(law):
    """Return the metrics over 200,000 prompts of a law."""
    return laws.truth(law, 1)


def drawn(law, rng, n):
    """Return a table of n prompts of a law."""
    return laws.LAWS[law](rng, n).frame()
