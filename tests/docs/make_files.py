"""Write the table of real files in docs/tables.md anew from what is read of them, or say that it is current.

::

    python tests/docs/make_files.py           # writes the page
    python tests/docs/make_files.py --check   # writes nothing; exit 1 where the page is not current
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "data" / "importers"))

from real_files import REAL_FILES

from bonwise.auditing.doctor import doctor
from bonwise.errors import BonwiseError

PAGE = Path(__file__).parents[2] / "docs" / "tables.md"
_MARKS = re.compile(r"<!-- real files -->.*?<!-- end -->", re.DOTALL)


def page(text):
    """Return the page with its table made anew."""
    head = "| file | tool | made by | SHA-256 | read |\n|---|---|---|---|---|\n"
    table = head + "".join(f"| {' | '.join(_cells(one))} |\n" for one in REAL_FILES)
    return _MARKS.sub(lambda _: f"<!-- real files -->\n\n{table}\n<!-- end -->", text)


def _cells(one):
    made = one.made.replace("|", "\\|")
    return f"`{one.name}`", one.tool, f"`{made}`", f"`{one.digest}`", reading(one)


def reading(one):
    """Say what is read of a file, or the sentence with which it is refused."""
    try:
        found = doctor(one.path)
    except BonwiseError as error:
        return error.hint.partition("; no label")[0].replace(f"{one.path}", one.name).replace("|", "\\|")
    counts = found.counts
    judges = "1 judge" if counts.judges == 1 else f"{counts.judges} judges"
    return f"{counts.rows} rows, {counts.prompts} prompts, {judges}, {found.labels.labelled_rows} labels"


def main(arguments):
    """Write the page, or only compare."""
    text = PAGE.read_text("utf-8")
    made = page(text)
    if "--check" in arguments:
        said = "current" if made == text else "not current: python tests/docs/make_files.py"
        sys.stdout.write(f"tables.md is {said}\n")
        return int(made != text)
    PAGE.write_text(made, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
