from __future__ import annotations

import re

from bonwise.loading import words
from docs.make_json import PAGE, main, page


def test_the_page_of_documents_is_current(capsys):
    """Its tables are those of the models; if not, the message says what makes them anew."""
    assert main(["--check"]) == 0, capsys.readouterr().out


def test_every_schema_has_a_section():
    """Each schema is in one section, with its keys; made twice, the page is the same."""
    text = PAGE.read_text("utf-8")
    for word in words():
        assert len(re.findall(rf"^## `bonwise\.{word}/1`$", text, re.MULTILINE)) == 1
        assert text.count(f"<!-- keys of {word} -->") == 1
    assert page(page(text)) == page(text)


def test_a_section_is_made_where_it_is_missing():
    """Under the heading of a schema, after what is written by hand; else at the end."""
    made = page("# Title\n\n## `bonwise.router/1`\n\nBy hand.\n\n## Last\n\nAlso by hand.\n")
    router, last = made.index("By hand."), made.index("## Last")
    assert router < made.index("<!-- keys of router -->") < last < made.index("## `bonwise.confidence/1`")
    assert "| `threshold` | number | yes | Value of the signal" in made
    assert made.count("Also by hand.") == 1
