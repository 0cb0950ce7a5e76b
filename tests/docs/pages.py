"""The blocks of a page that a reader may type."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

ROOT = Path(__file__).parents[2]


def blocks(page, language):
    """Return the fenced blocks of one language."""
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), flags=re.DOTALL)


def commands(page):
    """Return every bonwise command of a page, comments and redirections taken off."""
    lines = [line for block in blocks(page, "sh") for line in block.replace("\\\n", " ").splitlines()]
    lines += (
        re.findall(r"`(bonwise [^`]+)`", (ROOT / page).read_text(encoding="utf-8")) if page == "README.md" else []
    )
    words = [shlex.split(line.replace("\n", " "), comments=True) for line in lines if line.startswith("bonwise ")]
    return [w[: w.index(">")] if ">" in w else w for w in words]


def without_a_page(docs, metrics):
    """Return the metrics that no page of an estimand names."""
    text = "".join(page.read_text("utf-8") for page in sorted((docs / "estimands").glob("*.md")))
    return [name for name in metrics if f"`{name}`" not in text]


def without_outputs(words):
    """Remove the files that a command writes, in a folder where those that it reads have the same names."""
    for flag in ("--out", "--pairs", "--scores", "--fix"):
        if words[1] in {"doctor", "judge", "stack"} and flag in words:
            Path(words[words.index(flag) + 1]).unlink(missing_ok=True)
