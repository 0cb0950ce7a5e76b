"""Blocks as a page for a browser, and as a part of a notebook."""

from __future__ import annotations

import base64
import hashlib
from itertools import count

from bonwise.release import release
from bonwise.report.blocks import Part
from bonwise.report.page.defined import with_definitions
from bonwise.report.page.environment import environment
from bonwise.report.page.few import few
from bonwise.report.page.made_on import made_on
from bonwise.report.page.view import page_view

__all__ = ["fragment", "whole_page"]

_SHOWN = count(1)
"""Outputs of this process: a notebook may show one result in two places."""


def whole_page(described: Part) -> str:
    """Return a description as one HTML page that loads nothing from elsewhere."""
    templates = environment()
    script = templates.get_template("page.js").render()
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    return templates.get_template("page.html").render(
        page=page_view(with_definitions(described)),
        script_hash=digest,
        version=release(),
        made_on=made_on(),
        whole=True,
    )


def fragment(described: Part) -> str:
    """Return the findings of a description for a notebook: no script, no headings, styles of its own alone."""
    prefix = f"b{next(_SHOWN)}-{hashlib.sha256(described.title.encode()).hexdigest()[:10]}-"
    return environment().get_template("fragment.html").render(page=page_view(few(described), prefix), whole=False)
