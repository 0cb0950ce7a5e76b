"""Write the tables of files in docs/tables.md anew from what is read of them, or say that they are current.

::

    python tests/docs/make_files.py           # writes the page
    python tests/docs/make_files.py --check   # writes nothing; exit 1 where the page is not current
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "table" / "importers"))

from real_files import REAL_FILES
from refusals import REFUSALS

import bonwise as bw
from bonwise.doctoring.front import doctor
from bonwise.errors import BonwiseError

PAGE = Path(__file__).parents[2] / "docs" / "tables.md"
_MARKS = re.compile(r"<!-- (real files|readings|refusals) -->.*?<!-- end -->", re.DOTALL)


def page(text):
    """Return the page with its tables made anew."""
    made = {"real files": _files, "readings": _readings, "refusals": _refusals}
    return _MARKS.sub(lambda found: f"<!-- {found[1]} -->\n\n{_table(*made[found[1]]())}\n<!-- end -->", text)


def _table(head, rows):
    lines = [head, ["---"] * len(head), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "".join(f"|{'|'.join(line)}|\n" if line[0] == "---" else f"| {' | '.join(line)} |\n" for line in lines)


def _files():
    rows = [(f"`{one.name}`", one.tool, f"`{one.made}`", f"`{one.digest}`", reading(one)) for one in REAL_FILES]
    return ["file", "tool", "made by", "SHA-256", "read"], rows


def counted(one):
    """Return the rows, prompts, candidate names, judges and labelled rows that are read of a file."""
    if one.labels:
        audit = bw.audit(one.path, labels=one.path.with_name(one.labels))
        return audit.data.rows, audit.data.prompts, audit.data.candidates, 1, labelled_rows(audit)
    found = doctor(one.path)
    counts = found.counts
    return counts.rows, counts.prompts, counts.candidates, counts.judges, found.labels.labelled_rows


def labelled_rows(audit):
    """Return how many candidates of picks have a label: those of prompts that are labelled whole."""
    return audit.data.rows if audit.data.labelled_prompts == audit.data.prompts else 0


def reading(one):
    """Say what is read of a file, or why it is no table of scores."""
    if one.read is None:
        document = doctor(one.path)
        command = document.next_command.replace(f"{one.path}", one.name)
        why = document.not_audited.rpartition(": ")[2]
        return f"{one.votes[0]} votes: `{command}`" if one.votes else f"`{command}`" if command else why
    rows, prompts, _, judges, labels = counted(one)
    said = "1 judge" if judges == 1 else f"{judges} judges"
    flag = f", with `--labels {one.labels}`" if one.labels else ""
    return f"{rows} rows, {prompts} prompts, {said}, {labels} labels{flag}"


def _readings():
    """Return how each file that is a table of scores is read: its columns, with kind and role."""
    rows = []
    for one in REAL_FILES:
        if one.read is None or one.labels:
            continue
        looked_over = doctor(one.path)
        taken = [_taken(fact) for fact in looked_over.column_facts if fact.taken]
        read_as = (looked_over.readings or {}).get("file", "a table")
        rows.append((f"`{one.name}`", read_as, "; ".join(taken)))
    return ["file", "read as", "columns"], rows


def _taken(fact):
    role = "" if fact.taken == fact.name else f", taken for `{fact.taken}`"
    return f"`{fact.name}`: {fact.kind}{role}"


def refusal(one):
    """Return the sentence with which a file is refused."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, one.name)
        path.write_bytes(one.content())
        try:
            bw.audit(path)
        except BonwiseError as error:
            return str(error).replace(str(path), one.name)
    return "read"


def _refusals():
    return ["a file with", "is refused with"], [(f"{one.what} (`{one.name}`)", refusal(one)) for one in REFUSALS]


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
