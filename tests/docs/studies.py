"""What the page of a study in the docs must hold."""

from __future__ import annotations

import re

__all__ = ["check_study_page"]


def check_study_page(folder, name):
    """Check that the page of a study is there, has a title, and shows the command; return the command.

    Parameters
    ----------
    folder : pathlib.Path
        The docs.
    name : str
        Of the study.
    """
    page = folder / f"study_{name.replace('-', '_')}.md"
    assert page.is_file(), f"the study {name} has no page {page.name}"
    text = page.read_text("utf-8")
    assert text.startswith("# ")
    found = re.search(rf"^bonwise study {re.escape(name)} .*$", text, re.MULTILINE)
    assert found, f"{page.name} shows no command bonwise study {name}"
    return found[0]
