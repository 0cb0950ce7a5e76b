"""What stage 1 of the factor model takes: CPU, time and memory, by numpy and by torch.

Run ``python benchmarks/factors.py``; what is measured, and how to read it: ``benchmarks/README.md``.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from bonwise.extras import TORCH
from bonwise.factors.rating_arrays import RatingArrays
from bonwise.factors.ratings import RatingTable
from bonwise.factors.stage_one import fit_capabilities
from bonwise.testing import simulate_ratings

SETS = {"BiGGen-Bench": (695, 4, 15), "1.44 million": (5000, 12, 24)}
"""Prompts, models and judges."""

QUICK = {"quick": (40, 3, 4)}


@dataclass(frozen=True)
class StageOneCost:
    """One measurement, in a process of its own.

    Parameters
    ----------
    ratings, rank : int
    backend : str
    cpu, wall : float
        Seconds of one start, all threads together; reading is not counted.
    peak : float
        MB of resident memory, interpreter, libraries and ratings included.
    steps : int
        Of L-BFGS.
    loss : float
        Reached.
    """

    ratings: int
    rank: int
    backend: str
    cpu: float
    wall: float
    peak: float
    steps: int
    loss: float


def measured(size: tuple[int, int, int], rank: int, backend: str, seed: int) -> StageOneCost:
    """Fit one start."""
    prompts, models, judges = size
    drawn = simulate_ratings(seed, prompts=prompts, models=models, judges=judges)
    data = RatingArrays.of(RatingTable.read(drawn.frame(), human="human")).without_human()
    if backend == "torch":
        import torch  # noqa: F401, PLC0415
    cpu, wall = time.process_time(), time.perf_counter()
    found = fit_capabilities(data, rank, restarts=1, seed=seed, backend=backend)  # type: ignore[arg-type]
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    return StageOneCost(len(data), rank, backend, cpu, wall, peak, found.steps, found.loss)


def in_a_process(name: str, rank: int, backend: str, seed: int) -> StageOneCost:
    """Measure in a fresh process, whose memory is that of this measurement alone."""
    command = [
        sys.executable,
        __file__,
        "--one",
        name,
        "--rank",
        str(rank),
        "--backend",
        backend,
        "--seed",
        str(seed),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return StageOneCost(**json.loads(done.stdout))


def main() -> None:
    """Measure what was asked for, and print each line as it is known."""
    sets = SETS | QUICK
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=list(SETS), action="append", help="may be repeated")
    parser.add_argument("--backend", choices=("numpy", "torch"), action="append", help="may be repeated")
    parser.add_argument("--rank", type=int, default=3, help="skills")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="a smoke run; its numbers mean little")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the measurements there too")
    parser.add_argument("--one", choices=list(sets), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    backends = asked.backend or (["numpy"] if TORCH.missing() else ["numpy", "torch"])
    if asked.one:
        print(json.dumps(asdict(measured(sets[asked.one], asked.rank, backends[0], asked.seed))))
        return
    print(
        f"{'ratings':>12}{'rank':>6}  {'backend':<8}{'CPU s':>8}{'wall s':>8}{'peak MB':>9}{'steps':>7}{'loss':>10}"
    )
    found = []
    for name in QUICK if asked.quick else asked.only or SETS:
        for backend in backends:
            one = in_a_process(name, asked.rank, backend, asked.seed)
            print(
                f"{one.ratings:>12,}{one.rank:>6}  {one.backend:<8}{one.cpu:>8.1f}{one.wall:>8.1f}{one.peak:>9.0f}"
                f"{one.steps:>7}{one.loss:>10.5f}",
                flush=True,
            )
            found.append(asdict(one))
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
