from __future__ import annotations

import importlib.util
import re
from pathlib import Path

from bonwise.declared import words

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "json.md"


def with_keys(text):
    """Return a page with the keys of every schema, as the site has it."""
    spec = importlib.util.spec_from_file_location("json_keys", ROOT / "website" / "json_keys.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.with_keys(text)


def test_every_schema_has_a_section():
    """On the site each schema is in one section, with its keys; what is written by hand stays."""
    written = PAGE.read_text("utf-8")
    made = with_keys(written)
    for word in words():
        assert len(re.findall(rf"^## `bonwise\.{word}/1`$", made, re.MULTILINE)) == 1
    assert all(line in made.splitlines() for line in written.splitlines())
    assert made.count("| key | type | always | meaning |") > len(words())


def test_the_page_in_the_tree_is_written_by_hand():
    """No table of keys is kept: they are made with the site."""
    assert "| key | type | always | meaning |" not in PAGE.read_text("utf-8")


def test_a_section_is_made_where_it_is_missing():
    """Under the heading of a schema, after what is written by hand; else at the end."""
    made = with_keys("# Title\n\n## `bonwise.router/1`\n\nBy hand.\n\n## Last\n\nAlso by hand.\n")
    router, last = made.index("By hand."), made.index("## Last")
    assert router < made.index("| `threshold` | number | yes | Value of the signal") < last
    assert last < made.index("## `bonwise.confidence/1`")
    assert made.count("Also by hand.") == 1
