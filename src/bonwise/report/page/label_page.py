"""A page on which a person labels candidates: one file, which loads nothing and sends nothing."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence

from markupsafe import Markup

from bonwise.release import release
from bonwise.report.page.environment import environment, visible

LabelledResponse = tuple[str, str, float | None]
"""Key, text, and the label so far."""


def label_page(
    prompts: Sequence[tuple[str, Sequence[LabelledResponse]]], points: Sequence[int], digest: str, export: str
) -> str:
    """Return the page to label on by `points`, 0 to 9; labels stay under `digest`, files begin with `export`."""
    templates = environment()
    script = templates.get_template("label_page.js").render()
    content = {
        "digest": digest,
        "points": list(points),
        "export": export,
        "prompts": [
            {"text": visible(text), "responses": [[key, visible(words), label] for key, words, label in responses]}
            for text, responses in prompts
        ],
    }
    return templates.get_template("label_page.html").render(
        content=_in_script(json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)),
        script_hash=base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii"),
        digest=digest,
        points=points,
        prompts=len(prompts),
        responses=sum(len(responses) for _, responses in prompts),
        version=release(),
    )


def _in_script(document: str) -> Markup:
    """Return JSON that ends no element: nothing in it looks like a tag or a comment."""
    escaped = document.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
    return Markup(escaped)  # noqa: S704 - escaped
