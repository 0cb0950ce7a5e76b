"""Type the pages that are typed from top to bottom, and write what each block prints below it.

::

    python tests/docs/make_outputs.py           # writes the pages
    python tests/docs/make_outputs.py --check   # writes nothing; exit 1 where a page is not current
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from docs.typed_pages import PAGES, ROOT, retyped, screen


def main(arguments):
    """Write the pages, or only compare."""
    stale = []
    for name in PAGES:
        path = ROOT / "docs" / f"{name}.md"
        text = path.read_text("utf-8")
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), screen():
            made = retyped(text)
        if made != text:
            stale.append(path.name)
            if "--check" not in arguments:
                path.write_text(made, "utf-8")
    if "--check" in arguments and stale:
        sys.stdout.write(f"not current: {', '.join(stale)}: python tests/docs/make_outputs.py\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
