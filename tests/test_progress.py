"""One line says how far what takes long has come, on a terminal alone."""

from __future__ import annotations

import io
from types import SimpleNamespace

import pytest

import bonwise as bw
from bonwise import progress
from bonwise.testing import simulate, simulate_ratings


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
}


@pytest.mark.parametrize("what", LONG)
def test_what_may_take_long_is_counted(what, monkeypatch, terminal):
    """Each shows its line on a terminal, and says nothing else there."""
    compute, words = LONG[what]
    monkeypatch.setattr(progress, "PATIENCE", -1.0)
    monkeypatch.setattr(progress, "PAUSE", -1.0)
    compute()
    shown = lines(terminal)
    assert all(line.startswith("bonwise: ") for line in shown)
    assert [word for word in words if not any(word in line for line in shown)] == []
    assert "\n" not in terminal.getvalue()
