from __future__ import annotations

from bonwise.report.page.addresses import apart
from bonwise.report.page.layout import Part
from bonwise.report.page.section import Section


def test_no_section_takes_an_address_of_the_page():
    """A section that is named like a part of every page, or like another section, has a number behind its name."""
    names = ("prompts", "verdict", "data", "data", "prompt-search")
    (part,) = apart([Part([Section("A title", name) for name in names])])
    assert [one.anchor for one in part.sections] == ["prompts-2", "verdict-2", "data", "data-2", "prompt-search-2"]
