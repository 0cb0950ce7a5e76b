"""Start `child.py` and read what it tells; the modules of the audit extra, and whether they are installed here."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from bonwise.extras import BOOTSTRAP, PAGES, TABLES
from processes import PATIENCE

AUDIT_MODULES = tuple(dict.fromkeys(name for feature in (TABLES, PAGES, BOOTSTRAP) for name in feature.modules))
LINE = "pip install 'bonwise[audit]'"


@dataclass(frozen=True)
class Called:
    """What came of calling a function of `library`."""

    failure: str
    loaded: list


@dataclass(frozen=True)
class Done:
    """What a command left behind."""

    code: int
    out: str
    err: str
    written: dict
    loaded: list


def installed():
    """Return the modules of the audit extra that are installed here."""
    return [name for name in AUDIT_MODULES if find_spec(name) is not None]


def in_child(folder, *commands, calls=(), absent=(), forbidden=False):
    """Call functions of `library`, then run commands, in an interpreter of their own; return how each went."""
    asked = {
        "absent": list(absent),
        "forbidden": forbidden,
        "calls": list(calls),
        "commands": [list(words) for words in commands],
    }
    done = subprocess.run(
        [sys.executable, "-W", "error", str(Path(__file__).with_name("child.py"))],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    return [*(Called(**one) for one in told["calls"]), *(Done(**one) for one in told["commands"])]
