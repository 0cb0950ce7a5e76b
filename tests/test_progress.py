"""One line says how far what takes long has come, on a terminal alone."""

from __future__ import annotations

import io
import itertools
import re
from types import SimpleNamespace

import pandas as pd
import pytest

import bonwise as bw
from bonwise import progress
from bonwise.testing import simulate, simulate_ratings
from routing.tables import weak_judge
from stacks.stack_tables import judged


class Terminal(io.StringIO):
    """What is written to a terminal."""

    def isatty(self):
        """Say that somebody looks on."""
        return True


@pytest.fixture
def clock(monkeypatch):
    """Return a clock to be set."""
    now = [100.0]
    monkeypatch.setattr(progress, "monotonic", lambda: now[0])
    monkeypatch.setattr(progress, "_LINE", progress._Line())
    return now


@pytest.fixture
def terminal(monkeypatch):
    """Make standard error a terminal of 60 columns."""
    monkeypatch.setenv("COLUMNS", "60")
    shown = Terminal()
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=shown))  # pytest sets that of sys anew for each test
    return shown


def lines(shown):
    """Return what stood in the line, one after the other."""
    return [text.rstrip() for text in shown.getvalue().split("\r") if text.strip()]


def test_what_is_quick_shows_nothing(clock, terminal):
    """Nothing is written within two seconds, not even an end."""
    with progress.counting("split", 5) as step:
        for _ in range(5):
            clock[0] += 0.3
            step()
    assert terminal.getvalue() == ""


def test_what_takes_long_says_how_long_yet(clock, terminal):
    """Done, total and the time left; and nothing stays behind, on one line."""
    with progress.counting("split", 4) as step:
        for _ in range(3):
            clock[0] += 10
            step()
    assert lines(terminal) == [
        "bonwise: split 1 of 4, about 30 s left",
        "bonwise: split 2 of 4, about 20 s left",
        "bonwise: split 3 of 4, about 10 s left",
    ]
    assert terminal.getvalue().endswith("\r" + " " * len("bonwise: split 3 of 4, about 10 s left") + "\r")
    assert "\n" not in terminal.getvalue()


def test_steps_within_a_step_count_for_the_time_left(clock, terminal):
    """Half of the first of two parts is a quarter of all."""
    with progress.counting("judge", 2), progress.counting("resample", 1000) as step:
        clock[0] += 5
        step(500)
    assert lines(terminal) == ["bonwise: judge 0 of 2, resample 500 of 1,000, about 15 s left"[:59]]


def test_parts_that_follow_each_other_are_waited_for_once(clock, terminal):
    """Three parts of one second each are three seconds."""
    for _ in range(3):
        with progress.counting("part", 2) as step:
            clock[0] += 0.9
            step()
    assert lines(terminal) == ["bonwise: part 1 of 2, about 1 s left"]


def test_an_error_finds_the_line_clean(clock, terminal):
    """What is raised is written where the line was, and the next computation begins anew."""
    with pytest.raises(ValueError, match="no"), progress.counting("a", 9) as step:  # noqa: PT012 - the point
        clock[0] += 5
        step()
        raise ValueError("no")
    assert terminal.getvalue().endswith(" \r")
    assert progress._LINE.counts == []


@pytest.mark.parametrize("stream", [None, io.StringIO()])
def test_where_nobody_looks_on_nothing_is_written(clock, monkeypatch, stream):
    """A file, a pipe, or no standard error at all."""
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=stream))
    with progress.counting("split", 2) as step:
        clock[0] += 60
        step()
    assert stream is None or stream.getvalue() == ""


def scores():
    """Return a small table of scores and labels, with several draws of each score."""
    return simulate("arena", n=120, seed=1).frame()


def ratings():
    """Return a few ratings."""
    return simulate_ratings(1, prompts=40, judges=3, labelled=0.5).frame()


LONG = {
    "audit": (lambda: bw.audit(scores(), interval="bootstrap", resamples=1500), ["resample"]),
    "factors": (
        lambda: bw.fit_factors(ratings(), human="human", rank=1, restarts=2),
        ["stage 1: fit", "start", "stage 2: fit", "interval: sweep"],
    ),
    "factor study": (
        lambda: bw.study_factors(
            ratings(), human="human", budgets=[0.4], splits=2, rank=1, prior=1.0, restarts=1, rater_shares=[]
        ),
        ["share"],
    ),
    "calibration": (lambda: bw.study_calibration(scores()), ["method", "refit"]),
    "stack": (lambda: bw.fit_stack(judged(prompts=60)), ["fit", "smaller stack"]),
    "route": (
        lambda: bw.route(
            pd.concat(weak_judge(80, draws=4, judge=name) for name in ("a", "b")), mean_calls=6, strong_cost=5
        ),
        ["judge", "draw"],
    ),
    "mix": (lambda: bw.study_mix(judged(prompts=60), control="c0"), ["judge"]),
    "discretisation": (lambda: bw.study_discretisation(judged(prompts=60), draws=3), ["judge"]),
}
"""What may take long, and what is counted in it."""


@pytest.mark.parametrize("what", LONG)
def test_what_takes_long_says_how_long_yet_on_a_terminal(what, monkeypatch, terminal):
    """Where two seconds go by at each look at the clock, the line names each part and the time left."""
    compute, words = LONG[what]
    monkeypatch.setattr(progress, "_LINE", progress._Line())
    monkeypatch.setattr(progress, "monotonic", itertools.count(100.0, 2.0).__next__)
    monkeypatch.setenv("COLUMNS", "200")
    compute()
    shown = lines(terminal)
    assert all(
        re.fullmatch(r"bonwise: .+ [\d,]+ of [\d,]+, (about \d+ (s|min)|time) left( unknown)?", one) for one in shown
    )
    assert any("about" in line for line in shown)
    assert [word for word in words if not any(f" {word} " in line for line in shown)] == []
    assert "\n" not in terminal.getvalue()


@pytest.mark.parametrize("what", ["stack", "route", "mix", "factors"])
def test_within_two_seconds_nothing_is_shown(what, clock, terminal):
    """Where the clock stands still."""
    LONG[what][0]()
    assert terminal.getvalue() == ""


@pytest.mark.parametrize("what", ["stack", "route", "mix", "factors"])
def test_elsewhere_than_on_a_terminal_nothing_is_shown(what, monkeypatch):
    """However long it takes."""
    monkeypatch.setattr(progress, "_LINE", progress._Line())
    monkeypatch.setattr(progress, "monotonic", itertools.count(100.0, 2.0).__next__)
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=io.StringIO()))
    LONG[what][0]()
    assert progress.sys.stderr.getvalue() == ""
