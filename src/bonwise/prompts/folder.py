"""Where the built-in prompt files are: in the installed package, or in the checkout that it runs from."""

from __future__ import annotations

from pathlib import Path

from bonwise.errors import FileError

__all__ = ["builtin_names", "prompts_folder"]


def prompts_folder() -> Path:
    """Return the folder of the built-in prompt files.

    Raises
    ------
    bonwise.errors.FileError
        The installation lacks them.

    Examples
    --------
    >>> (prompts_folder() / "pointwise.md").is_file()
    True
    """
    here = Path(__file__).resolve()
    packaged, checkout = here.parent / "files", here.parents[3]
    if packaged.is_dir():
        return packaged
    # An editable install runs from the checkout, where nothing was copied. Any folder may be called prompts:
    # the project file beside it tells that this one is ours.
    if (checkout / "pyproject.toml").is_file() and (checkout / "prompts").is_dir():
        return checkout / "prompts"
    raise FileError(f"{packaged}: this installation lacks its prompt files", hint="install bonwise again")


def builtin_names() -> tuple[str, ...]:
    """Return the names of the built-in prompts, sorted.

    Examples
    --------
    >>> "pairwise" in builtin_names()
    True
    """
    return tuple(sorted(path.stem for path in prompts_folder().glob("*.md")))
