"""Judges, strategies, routers and settings of a selector, drawn by hypothesis."""

from __future__ import annotations

from pathlib import Path

from hypothesis import strategies as st

import bonwise as bw
from bonwise.calls.providers.protocol import Connection

PROMPT = Path(__file__).parents[2] / "prompts" / "pointwise.md"
MODELS = st.sampled_from(["openai/gpt-5-mini", "openai/org/model:free", "anthropic/claude-opus-5"])
ADDRESSES = st.sampled_from(
    [None, "http://127.0.0.1:8000/v1", "https://gateway.example/openai/v1?api-version=2024-10-21", "http://[::1]:80"]
)
TEMPERATURES = st.none() | st.floats(0, 2)
AMOUNTS = st.floats(0, 1e9, allow_nan=False)
COUNTS = st.integers(0, 10**12)


def asking(kind, **options):
    """Judges of a kind that ask a model."""
    shared = {
        "base_url": ADDRESSES,
        "price": st.just((0.25, 2.0)),
        "temperature": TEMPERATURES,
        "max_tokens": st.integers(1, 10**5),
        "longest": st.integers(1, 10**6),
    }
    return st.builds(kind, MODELS, **shared, **options)


LOCAL = st.sampled_from(["length", "lexical", "format", "consensus"]).map(
    lambda one: bw.judge_from_spec(f"local:{one}")
)
SCORING = st.one_of(
    asking(bw.Pointwise, prompt=st.sampled_from(["pointwise", "pointwise-reason", PROMPT])), asking(bw.Interval)
)
COMPARING = asking(bw.Pairwise, orders=st.sampled_from([1, 2]), seed=st.integers(0, 99))
ALONE = SCORING | LOCAL
WRAPPED = st.builds(bw.Resampled, ALONE, draws=st.integers(2, 9), temperature=TEMPERATURES) | st.builds(
    bw.Quantized, ALONE, bins=st.integers(2, 99)
)
JUDGES = ALONE | COMPARING | WRAPPED
"""Judges of every built-in kind that has options of another form."""

RULES = st.one_of(
    st.just(bw.Greedy()),
    st.builds(
        bw.Adaptive, margin=AMOUNTS, max_draws=st.integers(1, 9), repick=st.booleans(), temperature=TEMPERATURES
    ),
    st.builds(bw.Resample, draws=st.integers(2, 9)),
    st.builds(bw.ValueOfInformation, price=AMOUNTS, max_draws=st.integers(2, 9), temperature=TEMPERATURES),
    st.builds(bw.ValueOfInformation, mean_calls=st.floats(4.5, 9)),
    st.builds(bw.TieBreak, COMPARING, knockout=st.booleans()),
)
"""Strategies that take a judge that scores."""


def routers(judges=COMPARING | SCORING, seconds=SCORING):
    """Routers that are steered by a name."""
    steering = {
        "share": st.none() | st.floats(0.001, 1),
        "among": st.sampled_from(["all", "contenders"]),
        "seed": st.integers(0, 99),
        "window": st.integers(1, 999),
        "cap": st.booleans(),
        "on_missing": st.sampled_from(["keep", "random"]),
    }
    plain = st.builds(bw.Router, judges, st.sampled_from(["interval_width", "margin", "draw_sd"]), **steering)
    return plain | st.builds(bw.Router, judges, st.just("disagreement"), second=seconds, **steering)


CONNECTIONS = st.builds(
    Connection, timeout=st.floats(1, 999), connect_timeout=st.floats(1, 99), connections=st.integers(1, 99)
)
PLAIN = {
    "deadline": st.none() | st.floats(0.001, 1e6),
    "on_failure": st.sampled_from(["raise", "first", "random", "owe"]),
    "ledger": st.none() | st.sampled_from(["runs/a", Path("runs/b")]),
    "max_concurrency": st.integers(1, 999),
    "max_calls": st.none() | COUNTS,
    "max_tokens": st.none() | COUNTS,
    "max_cost": st.none() | AMOUNTS,
    "attempts": st.integers(1, 99),
    "reask": st.integers(0, 1),
    "offline": st.booleans(),
    "seed": st.integers(-9, 2**53),
}
"""Settings that are plain values already, but for a path."""

SETTINGS = st.fixed_dictionaries(
    {"judge": ALONE | WRAPPED}, optional={**PLAIN, "strategy": RULES, "router": routers(), "connection": CONNECTIONS}
) | st.fixed_dictionaries({"judge": COMPARING}, optional=PLAIN)
"""Keywords of a selector that mean something together."""


def length(_prompt, text):
    """Score by length: a function that can be pickled."""
    return len(text)
