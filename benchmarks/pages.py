"""What the page of an audit costs in CPU and bytes, against the audit itself and against bare drawings.

Run ``python benchmarks/pages.py``; what is measured, and how to read it: ``benchmarks/README.md``.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd

import bonwise as bw
from bonwise.testing import simulate

PAGE, AUDIT, DRAWINGS = "page of an audit", "the audit", "bare drawings and table"
CONTENDERS = (PAGE, AUDIT, DRAWINGS)
BARE_DRAWINGS, BARE_ROWS = 10, 500


def main() -> None:
    """Measure every contender in processes of its own, and print medians and ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prompts", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--contender", choices=CONTENDERS)
    settings = parser.parse_args()
    if settings.contender:
        print(json.dumps(measured(settings.contender, settings.prompts)))
        return
    found = {name: [asked(name, settings.prompts) for _ in range(settings.repeats)] for name in CONTENDERS}
    seconds = {name: statistics.median(one["seconds"] for one in runs) for name, runs in found.items()}
    print(f"{settings.prompts:,} prompts x 4, median CPU seconds of {settings.repeats} processes, imports included")
    for name in CONTENDERS:
        ratio = seconds[PAGE] / seconds[name]
        print(f"{name:<26}{seconds[name]:7.2f} s   page / this {ratio:5.2f}   {found[name][0]['bytes']:>10,} bytes")


def asked(contender: str, prompts: int) -> dict[str, float]:
    """Measure in a fresh process."""
    command = [sys.executable, __file__, "--contender", contender, "--prompts", str(prompts)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def measured(contender: str, prompts: int) -> dict[str, float]:
    """Return CPU seconds and bytes written; making the data is not counted."""
    frame = simulate("arena", n=prompts, seed=1).frame()
    with tempfile.TemporaryDirectory() as folder:
        return {AUDIT: _audit, PAGE: _page, DRAWINGS: _drawings}[contender](frame, Path(folder))


def _audit(frame: pd.DataFrame, _folder: Path) -> dict[str, float]:
    start = time.process_time()
    size = len(json.dumps(bw.audit(frame).to_dict()))
    return {"seconds": time.process_time() - start, "bytes": size}


def _page(frame: pd.DataFrame, folder: Path) -> dict[str, float]:
    found = bw.audit(frame)
    start = time.process_time()
    found.to_html(folder / "audit.html")
    return {"seconds": time.process_time() - start, "bytes": (folder / "audit.html").stat().st_size}


def _drawings(frame: pd.DataFrame, folder: Path) -> dict[str, float]:
    """Draw as many plain pictures as the page has, and a table of as many rows, with what they are made of alone."""
    start = time.process_time()
    from matplotlib.backends.backend_svg import FigureCanvasSVG  # noqa: PLC0415 - its import is measured too
    from matplotlib.figure import Figure  # noqa: PLC0415

    size = 0
    for at in range(BARE_DRAWINGS):
        figure = Figure(figsize=(4.6, 3.0), layout="constrained")
        FigureCanvasSVG(figure)
        figure.add_subplot().plot(frame["judge_score"].head(20))
        figure.savefig(folder / f"{at}.svg")
        size += (folder / f"{at}.svg").stat().st_size
    size += len(frame.head(BARE_ROWS).to_html())
    return {"seconds": time.process_time() - start, "bytes": size}


if __name__ == "__main__":
    main()
