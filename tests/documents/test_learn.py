from __future__ import annotations

import pytest

from bonwise.selection.learnt import LearnDocument
from documents.round_trips import read_back, refusal


def learnt(**more):
    """Return what a pilot says, with other values where they are given."""
    price = {"lower_price": 0.0089, "higher_price": 0.0091, "share_at_lower": 0.75}
    return LearnDocument.model_validate(
        {
            "source": "pilot.csv",
            "judge": "j",
            "first_calls": "draw_0",
            "prompts": 40,
            "candidates": 160,
            "draws": 4,
            "prompts_left_out": 0,
            "call_sd": 0.1144,
            "candidate_sd": 0.0082,
            "reliability": 0.005,
            "beta": 0.357,
            "prices": [{"mean_calls": calls, **price} for calls in (5.0, 6.0)],
            "settings": {"max_draws": 8, "version": "1.2.3"},
            **more,
        }
    )


def test_what_is_written_is_read_back(tmp_path):
    """The document is read back; its frame has one row per number of calls."""
    assert list(read_back(learnt(), tmp_path).to_frame()["mean_calls"]) == [5.0, 6.0]


@pytest.mark.parametrize(
    ("keys", "value", "named"),
    [
        ("prices", [], "prices"),
        ("prices.0.share_at_lower", 1.5, "prices[0].share_at_lower"),
        ("prices.0.mean_calls", 0.0, "prices[0].mean_calls"),
        ("reliability", -0.1, "reliability"),
        ("call_sd", -1.0, "call_sd"),
        ("settings.max_draws", ..., "settings.max_draws"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path, keys, value, named):
    """A figure that no pilot has is refused by its key."""
    assert f"tampered.json: {named} " in refusal(learnt(), tmp_path, keys, value)
