from __future__ import annotations

import pytest

from bonwise.report.sampling_text import sampling_parts


@pytest.mark.parametrize(("narrowed", "told"), [(0.25, "25% narrower"), (-0.1, "10% wider")])
def test_percentages_are_written_in_one_way(narrowed, told):
    """What a model explains and what covariates save are whole percentages, the sign after the figure."""
    sampling = {
        "how": "drawn alike",
        "model": {"name": "ridge", "reason": "the default", "covariates": ["length"]},
        "share_explained": 0.412,
        "notes": [],
        "further_judges": ["second"],
        "narrowed": narrowed,
    }
    text = "\n".join(str(part) for part in sampling_parts(sampling))
    assert "explains 41% of the variance" in text
    assert f"with second as covariates the interval of recovery is {told}" in text
    assert " %" not in text
