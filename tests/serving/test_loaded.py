"""What is loaded when: nothing of a server before somebody serves; without the extra the line to type."""

from __future__ import annotations

import subprocess
import sys

from bonwise import extras
from cli.commands import typed

LOADED = """
import sys
import bonwise, bonwise.hosts, bonwise.serving
from bonwise.cli.app import app_for
app_for(["serve"])
print(sorted({one.partition(".")[0] for one in sys.modules} & {"starlette", "uvicorn", "openai", "httpx", "httpx2"}))
"""


def test_nothing_is_loaded_before_somebody_serves():
    """Neither by the package, nor by the room, nor by the command line."""
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_without_the_extra(capsys, monkeypatch):
    """One sentence with the line to type, before the settings are read."""
    monkeypatch.setattr(extras, "_is_installed", lambda name: name != "uvicorn")
    done = typed(capsys, "serve", "--config", "absent.toml")
    assert done.code == 2
    said = "bonwise: bonwise serve needs bonwise[serve]: uvicorn is not installed (pip install 'bonwise[serve]')\n"
    assert done.err == said
