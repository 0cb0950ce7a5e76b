from __future__ import annotations

from pathlib import Path

import pytest

from bonwise.studies.result import study_names
from docs.studies import check_study_page

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("name", study_names())
def test_every_study_has_its_page(name):
    """The page of each study that is registered is there and shows its command; no page is of no study."""
    check_study_page(DOCS, name)


def test_no_page_is_of_no_study():
    """Each page of a study is that of a registered one."""
    pages = {path.stem.removeprefix("study_").replace("_", "-") for path in DOCS.glob("study_*.md")}
    assert pages == set(study_names())
