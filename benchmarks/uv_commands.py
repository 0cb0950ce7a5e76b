"""What the benchmarks ask of uv: a wheel of this checkout, a resolution, an environment.

uv reads its own configuration, so it asks the package index that the user has set.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from email import message_from_bytes
from pathlib import Path

from resolutions import CANNOT_BUILD, NO_SOLUTION, Resolution, read_versions

__all__ = ["CHECKOUT", "BuildError", "Uv", "UvError", "Wheel", "add_uv_option", "read_wheel", "uv_of"]

CHECKOUT = Path(__file__).resolve().parents[1]
OURS_AFRESH = (
    "--refresh-package",
    "bonwise",
)  # a wheel of another checkout may be in the cache, with the same version


class UvError(RuntimeError):
    """A command of uv that failed for another reason than requirements that exclude each other."""


class BuildError(UvError):
    """A source distribution that uv cannot build."""


@dataclass(frozen=True, slots=True)
class Wheel:
    """A wheel in a folder of its own.

    Parameters
    ----------
    folder : Path
        Where it lies.
    version : str
        The version of the package in it.
    needs : tuple of str
        The names of the packages that it needs itself, with the extra ``audit`` and without.
    """

    folder: Path
    version: str
    needs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Uv:
    """The uv command.

    Parameters
    ----------
    command : str
        How it is called.
    """

    command: str

    def version(self) -> str:
        """Return its version."""
        return self._run("--version").stdout.split()[1]

    def wheel(self, folder: Path) -> Wheel:
        """Build the wheel of this checkout."""
        self.checked("build", "--quiet", "--wheel", "--out-dir", str(folder), str(CHECKOUT))
        (file,) = folder.glob("*.whl")
        return read_wheel(file)

    def resolve(self, requirements: list[str], python: str, wheel: Wheel, *, build: bool = True) -> Resolution:
        """Choose versions for the requirements without installing anything.

        Parameters
        ----------
        requirements : list of str
            In the order in which a user would name them: uv prefers the newest version of what is named first.
        python : str
            The version of Python, such as ``3.11``.
        wheel : Wheel
            The wheel that ``bonwise`` stands for. It is found by name, as in a package index: a requirement with a
            path would be resolved before all others.
        build : bool
            Whether uv may build a source distribution to read what it requires.
        """
        options = ["--no-header", "--no-annotate", "--python-version", python, "--find-links", str(wheel.folder)]
        options += ["--python", sys.executable, *OURS_AFRESH] + ([] if build else ["--no-build"])
        done = self._run(
            "pip", "compile", "--quiet", "-", *options, given="\n".join(requirements), folder=wheel.folder
        )
        if done.returncode:
            if NO_SOLUTION in done.stderr:
                return Resolution(message=done.stderr)
            raise (BuildError if CANNOT_BUILD in done.stderr else UvError)(done.stderr.strip())
        found = read_versions(done.stdout)
        if found.get("bonwise", wheel.version) != wheel.version:
            return Resolution(
                message=f"uv takes bonwise {found['bonwise']} from the package index, not this checkout"
            )
        return Resolution(found)

    def install(self, folder: Path, requirement: str, python: str, wheel: Wheel) -> Path:
        """Make an environment with one requirement in it, and return its interpreter."""
        self.checked("venv", "--quiet", "--python", python, str(folder))
        interpreter = folder / "bin" / "python"
        options = ["--quiet", "--find-links", str(wheel.folder), *OURS_AFRESH]
        self.checked("pip", "install", *options, "--python", str(interpreter), requirement)
        return interpreter

    def installed(self, interpreter: Path) -> dict[str, str]:
        """Return the version of each package in an environment."""
        return read_versions(self.checked("pip", "freeze", "--python", str(interpreter)))

    def checked(self, *words: str) -> str:
        """Run uv and return what it prints; an error is what it said."""
        done = self._run(*words)
        if done.returncode:
            raise UvError(done.stderr.strip())
        return done.stdout

    def _run(self, *words: str, given: str = "", folder: Path | None = None) -> subprocess.CompletedProcess[str]:
        command = [self.command, *words]
        return subprocess.run(command, input=given, capture_output=True, text=True, check=False, cwd=folder)


def read_wheel(file: Path) -> Wheel:
    """Read what a wheel says about itself."""
    with zipfile.ZipFile(file) as archive:
        (name,) = [entry for entry in archive.namelist() if entry.endswith(".dist-info/METADATA")]
        metadata = message_from_bytes(archive.read(name))
    halves = [line.partition(";") for line in metadata.get_all("Requires-Dist", [])]
    of_users = [needed for needed, _, marker in halves if "extra" not in marker or "'audit'" in marker]
    return Wheel(file.parent, metadata["Version"], tuple(re.split(r"[^\w.-]", needed)[0] for needed in of_users))


def add_uv_option(parser: argparse.ArgumentParser) -> None:
    """Let the user name uv."""
    parser.add_argument("--uv", metavar="FILE", help="the uv command (default: the one on the PATH)")


def uv_of(parser: argparse.ArgumentParser, named: str | None) -> Uv:
    """Return uv, or end with the line to type."""
    found = shutil.which(named or "uv")
    if found is None:
        parser.error(f"{named or 'uv'} was not found: type `pip install uv`, or name the command with --uv")
    return Uv(found)
