"""``bonwise audit FILE.csv`` as a whole process against 12 lines of pandas on the same file, in one run.

Run ``python benchmarks/whole_audit.py``; what is measured, and how to read it: ``benchmarks/README.md``.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from bonwise.testing import simulate

SCRIPT = """\
import sys
import pandas as pd
t = pd.read_csv(sys.argv[1])
g = t.groupby("prompt_id")
s = t.judge_score - g.judge_score.transform("mean")
o = t.oracle_label - g.oracle_label.transform("mean")
print("within r", (s * o).sum() / ((s ** 2).sum() * (o ** 2).sum()) ** 0.5)
top = t[t.judge_score == g.judge_score.transform("max")]
j = top.groupby("prompt_id").oracle_label.mean()
r, m = g.oracle_label.mean(), g.oracle_label.max()
print("recovery", (j - r).mean() / (m - r).mean())
"""
AUDIT = "import sys; from bonwise.cli.entry import main; main(['audit', *sys.argv[1:]])"
ROWS, LARGE = (400, 20_000, 400_000), 4_000_000
CANDIDATES = 4


@dataclass(frozen=True)
class Cost:
    """What both processes took on one file.

    Parameters
    ----------
    rows : int
    script_seconds, audit_seconds : float
        CPU of the whole process, imports and all, the least of the repeats.
    ratio : float
        That of the audit over that of the script.
    script_megabytes, audit_megabytes : float
        Peak of resident memory.
    """

    rows: int
    script_seconds: float
    audit_seconds: float
    ratio: float
    script_megabytes: float
    audit_megabytes: float


def cost(code: str, file: Path) -> tuple[float, float]:
    """Return the CPU seconds and the peak megabytes of a process."""
    one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    environment = {**os.environ, **one_thread}
    environment.pop(
        "PYTHONDONTWRITEBYTECODE", None
    )  # else each process compiles what is not installed, for half a second
    command = [sys.executable, "-c", code, str(file)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1, 3):
        raise SystemExit(f"{' '.join(command)}: exit code {process.returncode}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def measured(rows: int, repeats: int, folder: Path, seed: int) -> Cost:
    """Run script and audit in turn on one file."""
    file = folder / f"{rows}.csv"
    simulate("arena", n=rows // CANDIDATES, seed=seed).frame().to_csv(file, index=False)
    scripts, audits = zip(*((cost(SCRIPT, file), cost(AUDIT, file)) for _ in range(repeats)), strict=True)
    script, audit = min(scripts)[0], min(audits)[0]
    return Cost(rows, script, audit, audit / script, max(one[1] for one in scripts), max(one[1] for one in audits))


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure every size and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default=",".join(map(str, ROWS)), help="rows of the files, with commas")
    parser.add_argument("--large", action="store_true", help=f"{LARGE:,} rows too")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args(arguments)
    sizes = [*map(int, asked.rows.split(",")), *([LARGE] if asked.large else [])]
    print(f"{'rows':>10}  {'script':>16}  {'bonwise audit':>16}  ratio")
    costs = []
    with tempfile.TemporaryDirectory() as folder:
        for rows in sizes:
            one = measured(rows, asked.repeats, Path(folder), asked.seed)
            script = f"{one.script_seconds:.2f} s {one.script_megabytes:,.0f} MB"
            audit = f"{one.audit_seconds:.2f} s {one.audit_megabytes:,.0f} MB"
            print(f"{rows:>10,}  {script:>16}  {audit:>16}  {one.ratio:5.2f}", flush=True)
            costs.append(one)
    if asked.json is not None:
        asked.json.write_text(json.dumps([asdict(one) for one in costs], indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
