from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bonwise as bw
from bonwise.stats.routing import SHARES, Outcomes, routed_part, routed_recovery
from bonwise.testing import simulate
from routing.tables import weak_judge


def test_by_hand():
    """Half of two kinds of prompts are sent: of 0.5 to gain over a random pick 0.1 on average is still lost."""
    gain = np.tile([0.4, 0.2], 40)
    outcomes = Outcomes(0.9 - gain, gain, np.ones(80))
    random = np.full(80, 0.4)
    signal = np.tile([1.0, 0.0], 40)
    at = {share: routed_recovery(signal, outcomes, random, share).estimate for share in (0.0, 0.25, 0.5, 1.0)}
    assert at == pytest.approx({0.0: 0.4, 0.25: 0.6, 0.5: 0.8, 1.0: 1.0})


def test_nothing_to_gain():
    """Without a prompt where labels differ recovery is undefined; where all prompts are alike it has no interval."""
    flat = Outcomes(np.ones(30), np.zeros(30), np.ones(30))
    assert "needs" in routed_recovery(np.zeros(30), flat, np.ones(30), 0.5).reason
    alike = Outcomes(np.full(30, 0.8), np.full(30, 0.2), np.ones(30))
    found = routed_recovery(np.zeros(30), alike, np.full(30, 0.5), 0.0)
    assert found.estimate == pytest.approx(0.6)
    assert found.low is None


def test_without_sending_it_is_the_recovery_of_the_audit():
    """At share 0 estimate and interval are those of the audit, and at 1 there is nothing left to gain."""
    frame = simulate("arena", n=200, seed=5).frame()
    routed = bw.route(frame).recovery_by_share()["judge"]
    own = bw.audit(frame)["recovery"]
    first, last = routed.recoveries[0], routed.recoveries[-1]
    assert (first.estimate, first.low, first.high) == pytest.approx((own.estimate, own.low, own.high), abs=1e-9)
    assert (last.estimate, last.low, last.high) == (1.0, 1.0, 1.0)
    assert routed.shares == SHARES
    assert np.diff([one.estimate for one in routed.recoveries]).min() > -1e-9


@given(
    st.lists(
        st.tuples(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1), st.integers(0, 3), st.floats(0.5, 2)),
        min_size=25,
        max_size=40,
    ),
    st.sampled_from(SHARES),
)
def test_a_plain_loop_agrees(prompts, share):
    """Prompts in the order of the signal are sent until the share is filled, those at its edge in part."""
    random = [0.3 * one for one, *_ in prompts]
    value = [r + 0.3 * v for r, (_, v, *_) in zip(random, prompts, strict=True)]
    gain = [0.05 + g for _, _, g, *_ in prompts]
    weight = [w for *_, w in prompts]
    signal = np.array([float(s) for *_, s, _ in prompts])
    outcomes = Outcomes(np.array(value), np.array(gain), np.array(weight))
    found = routed_recovery(signal, outcomes, np.array(random), share)
    left = share * sum(weight)
    sent = [0.0] * len(prompts)
    for level in sorted(set(signal), reverse=True):
        group = [at for at, one in enumerate(signal) if one == level]
        mass = sum(weight[at] for at in group)
        part = min(max(left / mass, 0.0), 1.0)
        for at in group:
            sent[at] = part
        left -= part * mass
    above = sum(w * (v + p * g - r) for w, v, p, g, r in zip(weight, value, sent, gain, random, strict=True))
    below = sum(w * (v + g - r) for w, v, g, r in zip(weight, value, gain, random, strict=True))
    if found.estimate is not None:
        assert found.estimate == pytest.approx(above / below, abs=1e-6)


@pytest.mark.parametrize("tables", [150, pytest.param(1000, marks=pytest.mark.slow)], ids=["thinned", "full"])
@pytest.mark.parametrize("share", [0.0, 0.25, 0.5])
def test_intervals_cover_the_recovery_of_the_population(share, tables):
    """Over simulated tables of 150 prompts at least 91 % of the intervals hold what the rule recovers in 40,000."""
    study = bw.route(weak_judge(40_000, seed=1, labelled=None), share=0.25)
    large = study.source_of("prompts")["weak"].prompts
    random, outcomes = large.random, large.outcomes
    signal = large.features["width"]
    p = routed_part(signal, share, np.ones(len(signal)))
    truth = (outcomes.value + p * outcomes.gain - random).mean() / (outcomes.value + outcomes.gain - random).mean()
    held, rng = 0, np.random.default_rng(7)
    for _ in range(tables):
        at = rng.integers(0, len(signal), 150)
        found = routed_recovery(
            signal[at], Outcomes(outcomes.value[at], outcomes.gain[at], np.ones(150)), random[at], share
        )
        held += found.low <= truth <= found.high
    assert 0.91 <= held / tables <= 0.995
