"""False alarms within a year and delays of all signals together: thinned here, in full under ``-m slow``."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from stats.drift.laws import SIX, alarm_day

SHARE = 0.05 / 7
THIN, FULL = 8, 200


def false_alarms(replications, baseline, days, **changes):
    """Return the share of streams of six signals that raise any alarm although nothing changes."""
    alarms = [
        any(
            alarm_day(replace(law, **changes), baseline + days, baseline, (3, baseline, one, at), SHARE, days)
            is not None
            for at, law in enumerate(SIX.values())
        )
        for one in range(replications)
    ]
    return float(np.mean(alarms))


def most(replications):
    """Return what a chance of .05 exceeds once in a thousand times."""
    return 0.05 + 3.1 * math.sqrt(0.05 * 0.95 / replications)


def test_a_short_year_of_six_still_signals_rarely_alarms():
    """Days of correlated picks after a baseline of a week, a year of 60 looks."""
    assert false_alarms(THIN, 7, 60) <= most(THIN)


@pytest.mark.slow
@pytest.mark.parametrize("baseline", [7, 30])
@pytest.mark.parametrize(
    "changes", [{}, {"traffic": "weekly"}, {"traffic": "growing"}, {"traffic": "shrinking"}], ids=str
)
def test_a_year_of_six_still_signals_rarely_alarms(baseline, changes):
    """Days of correlated picks, under even and under changing traffic, 365 daily looks."""
    assert false_alarms(FULL, baseline, 365, **changes) <= most(FULL)


def test_a_large_shift_is_seen_within_ten_days():
    """A tie rate of 4 % that becomes 12 %, after thirty days of baseline and thirty still ones."""
    law = replace(SIX["tie rate"], level=0.04, after=3.0, at=60)
    found = [alarm_day(law, 75, 30, (5, one), SHARE) for one in range(10)]
    assert all(day is not None and day >= 60 for day in found)
    assert np.median(found) - 60 + 1 <= 10


@pytest.mark.slow
def test_rare_events_of_days_with_changing_traffic_do_not_pass_for_drift():
    """Without looks of one size every such stream alarmed: an unscored share of .5 % while traffic grows tenfold."""
    law = replace(SIX["unscored share"], traffic="growing", picks=50)
    alarms = [alarm_day(law, 395, 30, (9, one), SHARE) is not None for one in range(FULL)]
    assert np.mean(alarms) <= SHARE + 3.1 * math.sqrt(SHARE / FULL)
