"""The name of a metric leads to its definition, which opens, on a wide screen and on a phone."""

from __future__ import annotations

import pytest

from browser.kinds import page_of_kind
from browser.opened import NARROW, WIDE


@pytest.mark.parametrize("kind", ["audit", "audit-several", "compare", "study-mix", "study-calibration"])
@pytest.mark.parametrize("size", [WIDE, NARROW])
@pytest.mark.parametrize("script", [True, False])
def test_a_name_leads_to_its_definition(show, kinds_folder, kind, size, script):
    """What is folded opens at the definition, with a script and without one, and the way back is there."""
    with show(
        page_of_kind(kind, kinds_folder), viewport=size, java_script_enabled=script, reduced_motion="reduce"
    ) as page:
        term = page.locator("a.term:visible").first
        address = term.get_attribute("href")
        definition = page.locator(address)
        assert not definition.is_visible()
        term.click()
        definition.wait_for(state="visible")
        assert definition.inner_text() == term.inner_text().removesuffix(" *")
        place = page.evaluate("document.querySelector(location.hash).getBoundingClientRect().toJSON()")
        assert 0 <= place["top"] < place["bottom"] <= size["height"]
        page.go_back()
        assert page.evaluate("location.hash") == ""
