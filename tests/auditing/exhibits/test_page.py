from __future__ import annotations

import re

import pytest

import bonwise as bw
from auditing.tables import cohort, two_judges
from bonwise.errors import UsageError


def test_a_study_given_beside_stands_in_place_of_the_one_of_the_page(tmp_path):
    """A study of one name is on the page once, with the settings that were asked for, and no address is twice."""
    frame = cohort(30)
    path = tmp_path / "audit.html"
    bw.audit(frame).to_html(path, also=[bw.study_requirements(frame, targets=[0.35])])
    shown = path.read_text("utf-8")
    assert len(re.findall("<h2>What a wanted recovery takes</h2>", shown)) == 1
    assert "35%" in shown
    ids = re.findall(r'<[^>]*?\bid="([^"]*)"', shown)
    assert len(ids) == len(set(ids))


def test_a_drawing_that_stands_on_a_page_twice_has_addresses_of_its_own(tmp_path):
    """The same study twice repeats no id, and every reference inside a drawing still finds its own."""
    frame = two_judges(30)
    path = tmp_path / "audit.html"
    bw.audit(frame).to_html(path, also=[bw.study_requirements(frame), bw.study_requirements(frame)])
    shown = path.read_text("utf-8")
    ids = re.findall(r'<[^>]*?\bid="([^"]*)"', shown)
    assert len(ids) == len(set(ids))
    for svg in re.findall(r"<svg.*?</svg>", shown, re.DOTALL):
        own = set(re.findall(r'\bid="([^"]*)"', svg))
        assert set(re.findall(r'url\(#([^)]*)\)|xlink:href="#([^"]*)"', svg)) <= {
            pair for name in own for pair in ((name, ""), ("", name))
        }


@pytest.mark.parametrize("also", [["x"], "x", [{"schema": "bonwise.route/1"}], None, 3])
def test_what_is_no_result_is_refused_in_one_line(tmp_path, also):
    """What has no page of its own is named in a usage error, and no page is written."""
    path = tmp_path / "audit.html"
    with pytest.raises(UsageError, match="also"):
        bw.audit(cohort(12)).to_html(path, also=also)
    assert not path.exists()
