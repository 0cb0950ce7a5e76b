from __future__ import annotations

import numpy as np
import pytest

from bonwise.auditing.exhibits import spread


def test_points_are_prompt_means_and_deviations():
    """A point between prompts is a prompt's two means, one within a candidate's two deviations from them."""
    found = spread(np.array([0.2, 0.6, 0.5, 0.1, 0.3]), np.array([0, 1, 0.3, 0.3, 0.6]), np.array([2, 3]), seed=0)
    assert found.between.to_dict() == {"judge": [0.4, 0.3], "oracle": [0.5, 0.4]}
    assert found["within"]["judge"] == pytest.approx([-0.2, 0.2, 0.2, -0.2, 0.0])
    assert found["within"]["oracle"] == pytest.approx([-0.5, 0.5, -0.1, -0.1, 0.2])
    assert [found[key] for key in ("prompts_shown", "prompts", "cells_shown", "cells")] == [2, 2, 5, 5]


def test_many_points_are_a_seeded_sample_with_the_count():
    """Of more than 2,000 points as many are drawn, each a point that is there, the same by the same seed."""
    rng = np.random.default_rng(2)
    scores, labels = rng.random(5000), rng.random(5000)
    first, again, other = (spread(scores, labels, np.full(2500, 2), seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first["within"] != other["within"]
    assert (first["prompts_shown"], first["prompts"], first["cells_shown"], first["cells"]) == (
        2000,
        2500,
        2000,
        5000,
    )
    pairs = set(zip(first["between"]["judge"], first["between"]["oracle"], strict=True))
    means = scores.reshape(-1, 2).mean(1).round(6).tolist(), labels.reshape(-1, 2).mean(1).round(6).tolist()
    assert len(pairs) == 2000
    assert pairs <= set(zip(*means, strict=True))


def test_without_prompts_there_is_nothing_to_draw():
    """No labelled prompt, no scatter."""
    assert spread(np.zeros(0), np.zeros(0), np.zeros(0, dtype=np.int64), seed=0) is None
