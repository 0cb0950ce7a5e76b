"""Effects at equal label and their costs once more, in plain loops from their definitions.

A prompt is a list of candidates, each with score, label, attribute.
"""

from __future__ import annotations

import numpy as np


def slope(prompts, levels):
    """Fit by a column for each prompt, each label but the lowest, and the attribute."""
    rows, scores = [], []
    for x, prompt in enumerate(prompts):
        for score, label, value in prompt:
            rows.append(
                [float(x == y) for y in range(len(prompts))] + [float(label == o) for o in levels[1:]] + [value]
            )
            scores.append(score)
    return float(np.linalg.lstsq(np.array(rows), np.array(scores), rcond=None)[0][-1])


def spread(prompts):
    """Return the standard deviation of scores within prompts."""
    squares = freedom = 0.0
    for prompt in prompts:
        mean = sum(score for score, _, _ in prompt) / len(prompt)
        squares += sum((score - mean) ** 2 for score, _, _ in prompt)
        freedom += len(prompt) - 1
    return (squares / freedom) ** 0.5


def in_sd(prompts, levels):
    """Return the effect in sd and its jackknife error by deletion, each prompt deleted and all fitted again."""
    left = []
    for x in range(len(prompts)):
        rest = prompts[:x] + prompts[x + 1 :]
        left.append(slope(rest, levels) / spread(rest))
    mean = sum(left) / len(left)
    error = ((len(left) - 1) / len(left) * sum((one - mean) ** 2 for one in left)) ** 0.5
    return slope(prompts, levels) / spread(prompts), error


def worth(prompt, key):
    """Return the expected label of the pick by a key."""
    best = max(round(key(one), 9) for one in prompt)
    picked = [label for one in prompt for label in [one[1]] if round(key(one), 9) == best]
    return sum(picked) / len(picked)


def costs(prompts, slopes):
    """Return the cost in recovery and in label points, with a slope for each prompt; ties stay ties."""
    gained = room = 0.0
    for prompt, b in zip(prompts, slopes, strict=True):
        alike = {}
        for score, _, value in prompt:
            alike.setdefault(round(score, 9), []).append(value)
        means = {score: sum(values) / len(values) for score, values in alike.items()}
        before = worth(prompt, lambda one: one[0])
        after = worth(prompt, lambda one, b=b, means=means: one[0] - b * means[round(one[0], 9)])
        gained += after - before
        labels = [label for _, label, _ in prompt]
        room += max(labels) - sum(labels) / len(labels)
    return gained / room, gained / len(prompts)
