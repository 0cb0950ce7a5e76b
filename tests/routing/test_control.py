from __future__ import annotations

import hashlib
import math
import random
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats

from bonwise.errors import UsageError
from bonwise.routing.control import BAND, EARLY, GAIN, HASTE, SLACK, STEEP, ShareControl

SHARES = (0.1, 0.25, 0.5)
LENGTH = 5000
FEW = 4  # streams of a law in the everyday suite
MANY = 100


# Streams: a signal, and the expected gain of a prompt given its signal.


def heaped(rng, n):
    """Widths of intervals in steps of 0.02; the gain grows threefold from the narrowest to the widest fifth."""
    hard, level, other = rng.normal(size=(3, n))
    width = np.round((0.04 + 0.08 * np.exp(0.25 * hard - 0.05 * level + 0.5 * other)) / 0.02) * 0.02
    return width, 0.1 + width


def steep(rng, n):
    """A smooth signal; the gain of the highest few is many times that of the others."""
    z = rng.normal(size=n)
    centre, scale = 0.7 * z / math.sqrt(2), math.sqrt(0.7**2 / 2 + 0.7**2)
    lower = np.exp(centre + scale**2 / 2) * stats.norm.cdf((centre + scale**2) / scale)
    return np.exp(z), lower - stats.norm.cdf(centre / scale)


def five_levels(rng, n):
    """A signal of five values, each gaining half as much again as the one below."""
    level = np.digitize(rng.normal(size=n), [-1.0, 0.0, 0.8, 1.6]).astype(float)
    return level, 1.5**level


LAWS = {"heaped": heaped, "steep": steep, "five_levels": five_levels}
"""Laws of a signal with the gain that is to be expected given it."""

SHIFTS = {
    "up": lambda z: z + 1,
    "down": lambda z: z - 1,
    "wider": lambda z: 2 * z,
    "narrower": lambda z: 0.4 * z,
    "far up": lambda z: z + 50,
    "far down": lambda z: z - 50,
}
"""What may happen to a signal in the middle of a stream."""


def sent(signal, share, seed=0, calibration=(), **settings):
    """Run a stream through a control, holding it to the cap at every prompt."""
    control = ShareControl(share, seed, calibration, **settings)
    found = np.zeros(len(signal), dtype=bool)
    for at, one in enumerate(signal.tolist()):
        found[at] = control.decide(one, f"p{at}").send
        assert control.sent <= share * (at + 1) + 1
    assert control.sent == found.sum()
    assert control.seen == len(signal)
    return found


def offline(signal, gain, share):
    """Sum the gain of the highest signals, ties in expectation."""
    count = round(share * len(signal))
    lowest = np.sort(signal)[-count]
    above, tied = signal > lowest, signal == lowest
    return gain[above].sum() + (count - above.sum()) * gain[tied].mean()


def share_and_value(law, share, stream, calibrated):
    """Return the share that was sent, its expected gain over that of the offline pick, and a drawn one's."""
    rng = np.random.default_rng([stream, 20261121])
    signal, gain = law(rng, LENGTH + 100)
    drawn = gain * rng.exponential(2.0, size=len(gain)) * (rng.random(len(gain)) < 0.5)
    earlier, (signal, gain, drawn) = signal[LENGTH:], (one[:LENGTH] for one in (signal, gain, drawn))
    found = sent(signal, share, stream, earlier[:calibrated])
    ratios = (one[found].sum() / offline(signal, one, share) for one in (gain, drawn))
    return (found.mean(), *ratios)


def hold_share_and_value(law, share, calibrated, streams, least):
    """Hold every stream to the share, and their mean to the least value."""
    found = np.array([share_and_value(LAWS[law], share, stream, calibrated) for stream in range(streams)])
    assert np.abs(found[:, 0] - share).max() < 0.01
    assert found[:, 1].mean() >= least
    return found


@pytest.mark.parametrize("calibrated", [0, 100])
@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("law", LAWS)
def test_the_share_and_the_value_hold(law, share, calibrated):
    """A stream is sent at its share, never above the cap, and keeps almost all that hindsight would gain."""
    hold_share_and_value(law, share, calibrated, FEW, least=0.975)


@pytest.mark.slow
@pytest.mark.parametrize("calibrated", [0, 100])
@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("law", LAWS)
def test_the_share_and_the_value_hold_over_many_streams(law, share, calibrated):
    """Over a hundred streams 98 % of the value of hindsight is kept, of gains expected and of gains drawn."""
    found = hold_share_and_value(law, share, calibrated, MANY, least=0.98)
    error = found[:, 2].std(ddof=1) / math.sqrt(MANY)
    assert found[:, 2].mean() >= 0.98 - 2 * error


def shares_after(shift, share, stream, calibrated=0):
    """Return the shares of prompts 1-500 and 501-1,000 after a shift at the middle, and of the whole stream."""
    rng = np.random.default_rng([stream, 2])
    signal = rng.normal(size=LENGTH)
    signal[LENGTH // 2 :] = shift(signal[LENGTH // 2 :])
    found = sent(signal, share, stream, rng.normal(size=calibrated))
    middle = found[LENGTH // 2 :]
    return middle[:500].mean(), middle[500:1000].mean(), found.mean()


def hold_after_a_shift(shift, share, streams):
    """Hold every stream to the share after a shift."""
    found = np.array([shares_after(SHIFTS[shift], share, stream) for stream in range(streams)])
    assert np.abs(found[:, 1] - share).max() < 0.03
    assert np.abs(found[:, 2] - share).max() < 0.01
    return found


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("shift", SHIFTS)
def test_the_share_comes_back_after_a_shift(shift, share):
    """From the 501st prompt after a shift of the signal the share is within 3 points again."""
    hold_after_a_shift(shift, share, 2)


@pytest.mark.slow
@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("shift", SHIFTS)
def test_the_share_comes_back_after_a_shift_in_many_streams(shift, share):
    """The same over a hundred streams."""
    hold_after_a_shift(shift, share, MANY)


@pytest.mark.shared
@pytest.mark.parametrize("name", ["pilot_like", "one_model"])
def test_the_widths_of_a_judge_are_routed_as_well_as_in_hindsight(name, shared):
    """On simulated interval widths the prompts that are sent gain, on average over streams, 98 % of hindsight's."""
    signal, gain = judged(shared, name)
    for share in SHARES:
        found = [drawn_stream(signal, gain, share, stream) for stream in range(2 * FEW)]
        assert max(abs(one - share) for one, _ in found) < 0.01
        assert np.mean([value for _, value in found]) >= 0.98


def judged(shared, name):
    """Return the mean width of each prompt of a shared table, and the gain of choosing by its labels."""
    table = pd.read_parquet(shared / "data" / "simulated" / f"{name}_20000.parquet")
    labels, scores = (table[column].to_numpy().reshape(-1, 4) for column in ("oracle_label", "draw_0"))
    top = np.round(scores, 9) == np.round(scores, 9).max(axis=1, keepdims=True)
    widths = np.round(table["ci_width"].to_numpy().reshape(-1, 4).mean(axis=1), 9)
    return widths, labels.max(axis=1) - (labels * top).sum(axis=1) / top.sum(axis=1)


def drawn_stream(signal, gain, share, stream, calibrated=100):
    """Return the share sent of a random stream of the prompts, and its mean gain over hindsight's.

    The gain of a prompt is that of all prompts with its width: which of them a stream holds is luck.
    """
    by_width = pd.Series(gain).groupby(signal).transform("mean").to_numpy()
    order = np.random.default_rng([stream, 3]).permutation(len(signal))
    mine, earlier = order[:LENGTH], order[LENGTH : LENGTH + calibrated]
    found = sent(signal[mine], share, stream, signal[earlier])
    return found.mean(), by_width[mine][found].sum() / offline(signal[mine], by_width[mine], share)


# The plain-loop twin.


def twin(signals, keys, share, seed, calibration, window, cap):
    """Decide by counting in lists, straight from the definition."""
    kept = list(calibration)
    random.Random(seed).shuffle(kept)  # noqa: S311 - the shuffle that is defined
    decisions, count = [], 0
    for number, (signal, key) in enumerate(zip(signals, keys, strict=True), start=1):
        value = math.inf if signal is None else signal
        text = f"{seed}\0{key}" if key else f"{seed}\0\0{number}"
        luck = (int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest()) + 1) / 2**64
        below, tied = (sum(test(one) for one in kept) for test in (value.__gt__, value.__eq__))
        u = (below + luck * (tied + 1)) / (len(kept) + 1)
        gain = max(GAIN, HASTE / number**0.5)
        deviation = (share * (1 - share) / (2 * gain)) ** 0.5
        lag = share * number - (SLACK * deviation * number / (number + EARLY) if cap else 0) - count
        wanted_share = share + gain * lag
        if lag > BAND * deviation:
            wanted_share += STEEP * (lag - BAND * deviation)
        if lag < -BAND * deviation:
            wanted_share -= STEEP * (-lag - BAND * deviation)
        send = u > 1 - max(0, min(1, wanted_share)) or (signal is None and cap and share > 0)
        if cap and count + 1 > share * number + 1:
            send = False
        decisions.append(send)
        count += send
        kept = [*kept, value][-window:]
    return decisions


LEVELS = st.sampled_from([-2.0, 0.0, 0.5, 0.5000001, 3.0])


@given(
    stream=st.lists(
        st.tuples(st.none() | LEVELS | st.floats(-5, 5), st.sampled_from(["", "a", "b", "ä"])), max_size=80
    ),
    share=st.floats(0, 1),
    seed=st.integers(0, 3),
    calibration=st.lists(LEVELS, max_size=6),
    window=st.integers(6, 30),
    cap=st.booleans(),
)
@example(stream=[(0.5, "")] * 80, share=0.1, seed=0, calibration=[], window=6, cap=True)
@example(stream=[(None, "a")] * 80, share=1.0, seed=0, calibration=[], window=6, cap=True)
def test_decisions_are_those_of_the_plain_loop(stream, share, seed, calibration, window, cap):
    """Sorted windows and running counts decide as counting in lists does."""
    signals, keys = [one for one, _ in stream], [key for _, key in stream]
    control = ShareControl(share, seed, calibration, window, cap=cap)
    found = [control.decide(signal, key).send for signal, key in stream]
    assert found == twin(signals, keys, share, seed, sorted(calibration), window, cap)


@given(
    signals=st.lists(st.none() | st.floats(allow_nan=True), max_size=200),
    share=st.floats(0, 1),
    calibration=st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=20),
)
def test_the_cap_holds_at_every_prompt(signals, share, calibration):
    """Whatever comes, no more than share times the prompts so far, and one, are sent; a send is never held back."""
    control = ShareControl(share, calibration=calibration)
    for number, signal in enumerate(signals, start=1):
        decision = control.decide(signal)
        assert control.sent <= share * number + 1
        assert not (decision.send and decision.held_back)


def test_the_same_stream_gives_the_same_decisions():
    """Seed and keys alone decide ties; another seed breaks them otherwise."""
    signal = np.zeros(400)
    first, again, other = (sent(signal, 0.25, seed) for seed in (1, 1, 2))
    assert (first == again).all()
    assert (first != other).any()


def test_a_key_keeps_its_luck():
    """Where all signals tie, the prompts that are sent are much the same in another order."""
    keys = [f"p{at}" for at in range(2000)]
    chosen = []
    for order in (keys, keys[::-1]):
        control = ShareControl(0.25, calibration=[0.0] * 500)
        chosen.append({key for key in order if control.decide(0.0, key).send})
    both = len(chosen[0] & chosen[1]) / min(map(len, chosen))
    assert both > 0.8


def test_equal_signals_are_sent_at_the_share_wherever_they_stand():
    """Of signals that all tie a fair sample is sent: no run of the stream is favoured."""
    found = np.mean([sent(np.zeros(1000), 0.25, seed) for seed in range(40)], axis=0)
    assert 0.19 < found[:100].mean() < 0.25
    for start in range(200, 1000, 200):
        assert abs(found[start : start + 200].mean() - 0.25) < 0.02


def test_a_rank_is_uniform_from_the_first_prompt_on():
    """Without earlier signals the first prompts are already sent at a share near the one asked for."""
    counts = [sent(np.random.default_rng(seed).normal(size=40), 0.25, seed).sum() for seed in range(100)]
    assert 6.5 < np.mean(counts) < 10


def test_calibration_saves_the_first_prompts_from_guessing():
    """With earlier signals a prompt among the first is sent for its signal, without them rather by luck."""
    values = {0: [], 500: []}
    for seed in range(60):
        signal = np.random.default_rng([seed, 4]).normal(size=540)
        for calibrated, found in values.items():
            chosen = sent(signal[500:], 0.25, seed, signal[:calibrated])
            found.extend(signal[500:][chosen])
    assert np.mean(values[500]) > np.mean(values[0]) + 0.1


def test_a_long_calibration_is_kept_as_quantiles():
    """Of more earlier signals than the window holds, the window keeps evenly spaced ones."""
    control = ShareControl(0.5, calibration=range(1000), window=10)
    assert control._ordered == [50.0, 150.0, 250.0, 350.0, 450.0, 550.0, 650.0, 750.0, 850.0, 950.0]
    assert Counter(control._latest) == Counter(control._ordered)


def test_an_unknown_signal_goes_ahead_within_the_cap():
    """A prompt without a signal is sent whenever the cap allows, and a stream of them at the share."""
    control = ShareControl(0.25, calibration=[0.0] * 100)
    first = control.decide(None)
    second = control.decide(math.nan)
    assert first.send
    assert (second.send, second.held_back) == (False, True)
    decisions = [control.decide(None).send for _ in range(998)]
    assert control.sent == 251
    assert sum(decisions) == 250


def test_unknown_signals_do_not_crowd_out_the_others_for_long():
    """After an outage in which nothing was known the share holds and high signals are sent again."""
    control = ShareControl(0.25)
    for _ in range(300):
        control.decide(None)
    signal = np.random.default_rng(5).normal(size=2000)
    found = np.array([control.decide(one, f"p{at}").send for at, one in enumerate(signal)])
    assert abs(found[500:].mean() - 0.25) < 0.01
    assert signal[500:][found[500:]].mean() > 1


def test_without_a_cap_the_share_is_steered():
    """Without the cap bursts go through and the count still follows the share."""
    signal = np.random.default_rng(6).normal(size=3000)
    control = ShareControl(0.25, cap=False)
    decisions = [control.decide(one, f"p{at}") for at, one in enumerate(signal)]
    assert not any(one.held_back for one in decisions)
    assert abs(control.sent - 750) < 15
    for _ in range(1000):
        control.decide(None)
    assert abs(control.sent - 1000) < 30


def test_the_threshold_is_where_the_share_lies():
    """The threshold is the signal above which the next prompt is sent, and unknown while none is."""
    assert ShareControl(0.25).threshold is None
    control = ShareControl(0.25, calibration=range(100), cap=False)
    assert control.threshold == 75
    for _ in range(600):
        control.decide(None)
    assert control.threshold is None


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_the_ends_of_the_share_are_exact(share):
    """A share of 0 sends nothing, not even the unknown, and a share of 1 everything."""
    control = ShareControl(share)
    found = [control.decide(signal).send for signal in (None, 0.0, 0.0, -1.0, 2.0, math.nan) * 20]
    assert set(found) == {share == 1.0}


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"share": 1.5}, "share is 1.5"),
        ({"share": math.nan}, "share is nan"),
        ({"share": True}, "share is True"),
        ({"share": 0.5, "window": 0}, "window is 0"),
        ({"share": 0.5, "calibration": [0.1, math.nan]}, "not finite"),
    ],
)
def test_a_setting_that_means_nothing_is_refused(settings, words):
    """A share, window or calibration that means nothing is an error with a hint."""
    with pytest.raises(UsageError, match=words) as caught:
        ShareControl(**settings)
    assert caught.value.hint
