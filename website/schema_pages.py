"""The page of JSON Schemas, and each schema as a file of the site."""

from __future__ import annotations

import json
from functools import cache

from bonwise.declared import words
from bonwise.loading import json_schema
from website.made_page import MadePage

__all__ = ["schema_files", "schema_pages"]


@cache
def schema_files() -> dict[str, str]:
    """Return the text of each schema by its path."""
    return {f"schemas/{word}.json": json.dumps(json_schema(word), indent=2) + "\n" for word in words()}


@cache
def schema_pages() -> dict[str, MadePage]:
    """Return title and text of the page by its path."""
    rows = []
    for word in words():
        about = " ".join(json_schema(word)["description"].split()).replace("|", "\\|")
        rows.append(f"| [`bonwise.{word}/1`]({word}.json) | {about} | [keys](../json.md#bonwise{word}1) |")
    text = (
        "# JSON Schema\n\nEvery document that `--json` writes names its schema, and the schema is a file here "
        "(JSON Schema 2020-12). `bonwise schema audit` prints the same text. "
        "[The JSON documents](../json.md) explains the keys.\n\n"
        "| schema | document | keys |\n|---|---|---|\n" + "\n".join(rows) + "\n"
    )
    return {"schemas/index.md": MadePage("Schemas of all documents", text)}
