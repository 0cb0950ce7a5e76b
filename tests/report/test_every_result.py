from __future__ import annotations

import bonwise as bw


def test_every_public_result_shows_itself():
    """Whatever has a document has a page and a form for notebooks."""
    plain = {"DrawModel", "LabelDesign", "Router", "Selector"}  # settings that are saved and loaded, no findings
    results = [getattr(bw, name) for name in bw.__all__ if isinstance(getattr(bw, name), type)]
    with_document = {one.__name__ for one in results if hasattr(one, "to_dict")} - plain
    assert {one.__name__ for one in results if hasattr(one, "_repr_html_")} == with_document
