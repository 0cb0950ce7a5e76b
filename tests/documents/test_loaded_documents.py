from __future__ import annotations

import json

import pandas as pd
import pytest

import bonwise as bw
from bonwise.declared import words
from bonwise.errors import UsageError
from bonwise.report.blocks import Drawing
from bonwise.report.show import is_described
from documents.samples import samples_of, shapes_of

EVERY = samples_of(set(words()))
KINDS = shapes_of(set(words()))
NAMED = {"ids": lambda sample: sample.name}


@pytest.mark.parametrize("sample", EVERY, **NAMED)
def test_a_document_comes_back_as_it_was_written(sample, tmp_path):
    """Loaded and written again, a document of a command is the same, keys in their order; so is its JSON."""
    found = bw.load(sample.write(tmp_path))
    written = json.dumps(sample.document, indent=2) + "\n"
    assert json.dumps(found.to_dict(), indent=2) + "\n" == found.to_json() == written
    assert found.schema_ == found["schema"] == f"bonwise.{sample.word}/1"


@pytest.mark.parametrize("sample", EVERY, **NAMED)
def test_a_loaded_document_is_read_like_a_result(sample, tmp_path):
    """It prints itself, as Markdown too, and has a table; one that no person reads prints as JSON."""
    found = bw.load(sample.write(tmp_path))
    assert isinstance(found.to_frame(), pd.DataFrame)
    text = str(found)
    assert text.strip()
    if is_described(found):
        assert found.to_markdown().strip()
        assert '"schema":' not in text
    else:
        assert text == found.to_json()
        assert found._repr_html_() is None
        with pytest.raises(UsageError, match="read by programs alone"):
            found.to_markdown()


@pytest.mark.parametrize("sample", KINDS, **NAMED)
def test_a_loaded_document_is_shown_like_a_result(sample, tmp_path):
    """Each kind of document has its page, a part for notebooks, and drawings with their numbers."""
    found = bw.load(sample.write(tmp_path))
    if not is_described(found):
        pytest.skip("read by programs alone")
    found.to_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    assert page.lower().startswith("<!doctype html>")
    assert found._repr_html_()
    assert all(isinstance(one, Drawing) for one in found.drawings)
    assert [one.key for one in found.drawings if one.to_frame().empty] == []
