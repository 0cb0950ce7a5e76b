"""What bonwise 0.1.0 left on disks: how it was written, and what later versions must make of it.

::

    python tests/frozen/first_release.py

writes ``first_release/`` anew. It is for 0.1.0 alone, and was run once: what a later version writes is no witness.
"""

from __future__ import annotations

import gzip
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from frozen.case import Case
from frozen.masks import settled_output
from frozen.running import INPUTS, PRICE_FILE, typed
from frozen.services import PRICES, served, settled

__all__ = ["CUT", "KEPT", "REOPENED", "Cut", "expected", "opened"]

KEPT = Path(__file__).parent / "first_release"
EXPECTED = "expected"

_JUDGED = "judge few.jsonl --judge pointwise:openai/m --judge pairwise:anthropic/m --raw --tokens"
_PICKED = "select few.jsonl --judge interval:openai/m"
_ADAPTIVE = "--strategy adaptive:margin=0.5,max_draws=3"
_STRONG = "--strong pairwise:anthropic/s"
_WEAK = "route judges.csv --judge weak"
_PAIRS = "study label-strategy scores.csv"

_WRITTEN = Case(
    "written",
    f"""
    {_JUDGED} --run run --out judged.csv --pairs judged_pairs.csv
    {_PICKED} --run run {_ADAPTIVE} > adaptive.jsonl
    {_JUDGED} --run cut_judge --max-calls 6 --max-concurrency 1 --out cut.csv
    {_PICKED} --run cut_select --max-calls 5 --max-concurrency 1 {_ADAPTIVE} > cut.jsonl

    {_WEAK} --save learnt.json
    {_WEAK} --first-pass-only --share 0.4 --save width.json
    route judges.csv --judge strong --save disagreement.json
    route many.csv --save margin.json
    learn pilot.csv --save model.json
    {_PICKED} --run run {_STRONG} --route interval_width --share 0.5 > routed.jsonl
    {_PICKED} --run run {_STRONG} --route width.json > saved_router.jsonl
    {_PICKED} --run run {_STRONG} --route margin.json > margin_router.jsonl
    {_PICKED} --run run --strategy value_of_information:price=0.00001,model=model.json > value.jsonl

    labels draw unlabelled.csv --labels 60 --design neyman --out neyman.csv --sheet sheet.csv
    labels draw unlabelled.csv --labels 30 --design stratified --seed 4 --out stratified.csv
    labels draw unlabelled.csv --labels 60 --design pair --out pair.csv
    {_PAIRS} --pairs 20 --pools arena.jsonl --out todo.jsonl
    """,
    inputs=(
        *("few.jsonl", "judges.csv", "many.csv", "pilot.csv", "unlabelled.csv", "labels.csv", "scores.csv"),
        *("arena.jsonl", "picks_labels.csv", "pairs.csv"),
    ),
)

REOPENED: Mapping[str, tuple[str, ...]] = {
    "run of judge": (f"{_JUDGED} --run run --out expected/judged.csv --pairs expected/judged_pairs.csv",),
    "adaptive run": (f"{_PICKED} --run run {_ADAPTIVE} > expected/adaptive.jsonl",),
    "routed run": (
        f"{_PICKED} --run run {_STRONG} --route interval_width --share 0.5 > expected/routed.jsonl",
        f"{_PICKED} --run run {_STRONG} --route width.json > expected/saved_router.jsonl",
        f"{_PICKED} --run run {_STRONG} --route margin.json > expected/margin_router.jsonl",
    ),
    "draw model": (
        f"{_PICKED} --run run --strategy value_of_information:price=0.00001,model=model.json > expected/value.jsonl",
    ),
    "ledger": (
        "ledger stats run --json expected/stats.json",
        "ledger export run --out expected/ledger.jsonl",
    ),
    "picks": (
        "audit adaptive.jsonl --labels picks_labels.csv --ragged --json expected/picks.json",
        "compare adaptive.jsonl routed.jsonl --labels picks_labels.csv --ragged --json expected/compare.json",
    ),
    "scores": ("audit judged.csv --labels picks_labels.csv --ragged --json expected/scores.json",),
    "draws of labels": (
        "audit unlabelled.csv --labels labels.csv --design stratified.csv --json expected/stratified.json",
        "audit unlabelled.csv --labels labels.csv --design pair.csv --json expected/pair.json",
        "labels draw unlabelled.csv --labels 60 --after neyman.csv --label-file labels.csv --out expected/second.csv",
    ),
    "draw of pairs": (f"{_PAIRS} --verdicts won.csv --drawn todo.drawn.csv --json expected/pairs.json",),
}
"""What is asked of the files, by name: commands that send nothing, and write what 0.1.0 wrote."""


@dataclass(frozen=True)
class Cut:
    """A run that stopped at a limit.

    Parameters
    ----------
    command : str
        That goes on with it, and writes what a whole run wrote.
    sent : int
        Calls that were paid before it stopped.
    whole : int
        Calls that a whole run takes.
    """

    command: str
    sent: int
    whole: int


CUT = {
    "judge": Cut(f"{_JUDGED} --run cut_judge --out expected/judged.csv", 6, 41),
    "select": Cut(f"{_PICKED} --run cut_select {_ADAPTIVE} > expected/adaptive.jsonl", 5, 39),
}


@contextmanager
def opened(folder: Path) -> Iterator[Path]:
    """Lay a copy of what was kept out in an empty folder, with its inputs, and work there while the block runs."""
    for name in _WRITTEN.inputs:
        shutil.copy(INPUTS / name, folder / name)
    for path in KEPT.rglob("*"):
        target = folder / path.relative_to(KEPT)
        if path.is_dir() or path.relative_to(KEPT).parts[0] == EXPECTED:
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".gz":
            target.with_suffix("").write_bytes(gzip.decompress(path.read_bytes()))
        else:
            shutil.copy(path, target)
    with _working_in(folder):
        yield folder


@contextmanager
def _working_in(folder: Path) -> Iterator[None]:
    (folder / EXPECTED).mkdir()
    (folder / PRICE_FILE).write_text(PRICES, encoding="utf-8")
    before = Path.cwd()
    os.chdir(folder)
    try:
        with settled(PRICE_FILE):
            yield
    finally:
        os.chdir(before)


def expected() -> dict[str, str]:
    """Read what 0.1.0 made of its own files, by file name."""
    paths = (KEPT / EXPECTED).iterdir()
    texts = {path.name.removesuffix(".gz"): _text(path) for path in paths}
    return {name: settled_output(name, text) for name, text in texts.items()}


def _text(path: Path) -> str:
    raw = path.read_bytes()
    return (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8")


def _write() -> None:
    """Write everything anew; with 0.1.0 alone."""
    shutil.rmtree(KEPT, ignore_errors=True)
    with tempfile.TemporaryDirectory() as name, _working_in(folder := Path(name)), served({}):
        for one in _WRITTEN.inputs:
            shutil.copy(INPUTS / one, one)
        _run(_WRITTEN.lines, {0, 4})
        _judge_drawn_pairs()
        for path in sorted(folder.rglob("*")):
            if path.is_file() and path.name not in {*_WRITTEN.inputs, PRICE_FILE}:
                _keep(path.relative_to(folder).as_posix(), path.read_bytes())
        for commands in REOPENED.values():
            _run(commands, {0})
        for path in sorted((folder / EXPECTED).iterdir()):
            settled_text = settled_output(path.name, path.read_text(encoding="utf-8"))
            _keep(f"{EXPECTED}/{path.name}", settled_text.encode())


def _judge_drawn_pairs() -> None:
    """Write the verdicts on the drawn pairs, taken from the file with verdicts on all pairs."""
    import pandas as pd  # noqa: PLC0415 - tests that only read do without it

    verdicts = pd.read_csv("pairs.csv")
    drawn = pd.read_csv("todo.drawn.csv")[["pair_id", "prompt_id", "a", "b"]].merge(verdicts, how="inner")
    drawn = drawn.drop(columns="prompt_id").rename(columns={"pair_id": "prompt_id"})
    drawn.to_csv("won.csv", index=False)


def _run(lines: tuple[str, ...], codes: set[int]) -> None:
    for line in lines:
        done = typed(line)
        sys.stdout.write(f"{line}\n{done.err}")
        if done.code not in codes:
            raise SystemExit(done.code)


def _keep(name: str, raw: bytes) -> None:
    packed = len(raw) > 20_000
    target = KEPT / (f"{name}.gz" if packed else name)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(gzip.compress(raw, mtime=0) if packed else raw)


if __name__ == "__main__":
    _write()
