"""Every table and figure of the three papers, theirs beside ours: ``docs/reproduction.md``.

::

    python benchmarks/reproduction.py DATA                 # prints the page
    python benchmarks/reproduction.py DATA --write         # writes it
    python benchmarks/reproduction.py DATA --html page.html
    python benchmarks/reproduction.py DATA --made FOLDER   # writes the simulated tables that the commands read

DATA is a folder with ``simulated/``, ``arena100/`` and the MT-Bench votes, as ``docs/real_data.md`` lists them. Each
section runs its command with ``--json`` and reads its figures from that document.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import shlex
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import reproduction_best_of_n
import reproduction_data
import reproduction_factors
import reproduction_votes
from bonwise.cli.entry import run
from bonwise.report.blocks import Block, Column, Part, Said, Table
from bonwise.report.page.rendered import whole_page
from reproduction_sections import Json, Paper, Row, Section

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reproduction.md"
MARKS = "<!-- sections: start -->\n\n", "<!-- sections: end -->\n"
HEADER = ("figure", "theirs", "ours")
MADE = "made"
"""Folder of the simulated tables, as the commands name it."""
DONE = {0, 1, 3}
"""Exit codes of a command that did its work; a gate may be missed or open."""
PAPERS: Sequence[Paper] = (reproduction_best_of_n.PAPER, reproduction_votes.PAPER, reproduction_factors.PAPER)


@contextlib.contextmanager
def workplace(data: Path) -> Iterator[Path]:
    """Change into a folder that holds links to the data and the simulated tables."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path in data.resolve().iterdir():
            (folder / path.name).symlink_to(path)
        reproduction_data.make(folder / MADE, data.resolve())
        os.chdir(folder)
        try:
            yield folder
        finally:
            os.chdir(before)


def document(command: str, cache: dict[str, Json]) -> Json:
    """Run a command and return its document; the same command runs once."""
    if command not in cache:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = run([*shlex.split(command)[1:], "--json", "-"])
        if code not in DONE:
            raise SystemExit(f"{command}\nended with exit code {code}:\n{err.getvalue() or out.getvalue()}")
        cache[command] = json.loads(out.getvalue())
    return cache[command]


def rows_of(section: Section, cache: dict[str, Json]) -> list[Row]:
    """Return the rows of a section."""
    if section.rows is None:
        return []
    return list(section.rows(*(document(command, cache) for command in section.commands)))


def markdown(section: Section, rows: Sequence[Row]) -> str:
    """Return a section as Markdown."""
    parts = [f"### {section.heading}", section.about]
    if section.commands:
        parts.append("```sh\n" + "\n".join(section.commands) + "\n```")
    if rows:
        lines = [HEADER, ["---"] * len(HEADER), *rows]
        parts.append("\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines))
    parts.append(section.why)
    return "\n\n".join(parts) + "\n"


def whole(papers: Sequence[Paper], cache: dict[str, Json]) -> str:
    """Return all sections as Markdown."""
    parts = []
    for paper in papers:
        parts.append(f"## {paper.title}\n\n{paper.cited}\n")
        parts.extend(markdown(section, rows_of(section, cache)) for section in paper.sections)
        parts.append(f"### What does not hold ({paper.title})\n")
        parts.extend(f"- **{claim}** {evidence}" for claim, evidence in paper.not_held)
        parts[-1] += "\n"
    return "\n".join(parts)


def page(papers: Sequence[Paper], cache: dict[str, Json]) -> str:
    """Return all sections as one HTML page."""
    columns = (Column("figure", "words"), Column("theirs", "words"), Column("ours", "words"))
    parts: list[Block] = []
    for paper in papers:
        inside: list[Block] = [Said("finding", paper.cited)]
        for section in paper.sections:
            rows = rows_of(section, cache)
            blocks: list[Block] = [Said("finding", section.about)]
            blocks.extend(Said("command", command) for command in section.commands)
            blocks.extend([Table.of(columns, rows)] if rows else [])
            inside.append(Part(section.heading, [*blocks, Said("finding", section.why)]))
        held = [Said("finding", f"{claim} {evidence}") for claim, evidence in paper.not_held]
        parts.append(Part(paper.title, [*inside, Part(f"What does not hold ({paper.title})", held)]))
    return whole_page(Part("Reproduction of three papers", parts))


def main(argv: Sequence[str] | None = None) -> int:
    """Print the page, or write it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder of the data")
    parser.add_argument("--write", action="store_true", help="write docs/reproduction.md")
    parser.add_argument("--html", type=Path, help="write one HTML page here")
    parser.add_argument("--made", type=Path, help="write the simulated tables here, and do nothing else")
    asked = parser.parse_args(argv)
    if asked.made:
        reproduction_data.make(asked.made, asked.data)
        return 0
    cache: dict[str, Json] = {}
    with workplace(asked.data):
        text = whole(PAPERS, cache)
        html = page(PAPERS, cache) if asked.html else None
    if asked.html and html is not None:
        asked.html.write_text(html, encoding="utf-8")
    if asked.write:
        before = PAGE.read_text("utf-8")
        head, _, rest = before.partition(MARKS[0])
        PAGE.write_text(head + MARKS[0] + text + "\n" + MARKS[1] + rest.partition(MARKS[1])[2], encoding="utf-8")
    else:
        sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
