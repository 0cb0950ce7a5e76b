"""Gates in a suite of pytest: each outcome in a suite of its own process, as a user's would run."""

from __future__ import annotations

import os
import subprocess
import sys
from xml.etree import ElementTree as ET

import pytest

from bonwise.testing import simulate

pytest.importorskip("scipy", reason="bonwise[audit] is not installed")

SUITE = """
import pytest

FOLDER = __file__.rpartition("/")[0]

@pytest.mark.bonwise_audit("data/scores.csv", recovery=-5)
def test_met():
    pass

@pytest.mark.bonwise_audit("data/scores.csv", recovery=-5)
@pytest.mark.bonwise_audit("data/scores.csv", gain=9)
def test_one_of_two_marks():
    raise AssertionError("the test itself must not run")

@pytest.mark.bonwise_audit("data/bare.csv", labels="data/labels.csv", recovery=-5)
class TestClass:
    def test_labels_beside(self):
        pass

def test_returns_the_audit(bonwise_audit):
    audit = bonwise_audit("data/scores.csv", recovery=-5, within_r=-1, exclude="none such", confidence=0.9)
    assert audit["recovery"].n

def test_fixture(bonwise_audit):
    audit = bonwise_audit(FOLDER + "/data/scores.csv", recovery=-5, within_r=-1, confidence=0.9)
    assert audit.settings.confidence == 0.9
    assert audit["recovery"].n == 60

def test_frame(bonwise_audit):
    import pandas as pd
    bonwise_audit(pd.read_csv(FOLDER + "/data/scores.csv"), recovery=-5, design="uniform")

def test_not_met(bonwise_audit):
    bonwise_audit("data/scores.csv", recovery=0.99)

def test_not_settled(bonwise_audit):
    bonwise_audit("data/few.csv", recovery=0.1)

def test_absent(bonwise_audit):
    bonwise_audit("absent.csv", recovery=0.1)

def test_without_gate(bonwise_audit):
    bonwise_audit("data/scores.csv", confidence=0.9)

def test_no_metric(bonwise_audit):
    bonwise_audit("data/scores.csv", recal=0.1)

def test_no_number(bonwise_audit):
    bonwise_audit("data/scores.csv", recovery="0.1")

@pytest.mark.bonwise_audit(recovery=0.1)
def test_without_file():
    pass
"""

PASSED = {"test_met", "test_labels_beside", "test_fixture", "test_frame"}
SAID = {
    "test_one_of_two_marks": "gain > 9",
    "test_not_met": "of what perfect picking would gain",
    "test_not_settled": "recovery > 10%: inconclusive",
    "test_absent": "absent.csv: no such file (check the path)",
    "test_without_gate": "no gate is named (such as recovery=.2)",
    "test_no_metric": "no metric named 'recal' (choose of ",
    "test_no_number": "recovery='0.1' is no gate (a metric and a number, such as recovery=.2)",
    "test_without_file": 'no file is named (such as bonwise_audit("scores.csv", recovery=.2))',
    "test_returns_the_audit": "none such",
}


def pytest_in(folder, *arguments):
    """Run a suite as its owner would, without the settings of this one."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--strict-markers", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def suite(tmp_path_factory):
    """Return the test cases of a suite that was run, by name."""
    folder = tmp_path_factory.mktemp("suite")
    data = folder / "tests" / "data"
    data.mkdir(parents=True)
    frame = simulate("arena", n=60, seed=1).frame()
    frame.to_csv(data / "scores.csv", index=False)
    frame[frame["prompt_id"].isin(frame["prompt_id"].unique()[:8])].to_csv(data / "few.csv", index=False)
    frame.drop(columns="oracle_label").to_csv(data / "bare.csv", index=False)
    frame[["prompt_id", "candidate", "oracle_label"]].to_csv(data / "labels.csv", index=False)
    (folder / "tests" / "test_judge.py").write_text(SUITE, "utf-8")
    ran = pytest_in(folder, "--junit-xml=cases.xml", "tests")
    assert ran.returncode == 1, ran.stdout + ran.stderr
    cases = ET.parse(folder / "cases.xml").getroot().iter("testcase")  # noqa: S314 - written by this run
    return {case.get("name"): case for case in cases}


def test_every_case_was_run(suite):
    """Each test of the suite is either expected to pass or to fail."""
    assert suite.keys() == PASSED | SAID.keys()


@pytest.mark.parametrize("name", sorted(PASSED))
def test_gates_that_are_met(suite, name):
    """The test itself decides where all gates are met."""
    assert suite[name].find("failure") is None


@pytest.mark.parametrize("name", SAID)
def test_gates_that_are_not_met(suite, name):
    """The test fails, it is no error of the suite, and a sentence says why without a traceback."""
    failure = suite[name].find("failure")
    assert failure is not None
    assert SAID[name] in failure.text
    assert "Traceback" not in failure.text
    assert "pytest_audit.py" not in failure.text
    assert suite[name].find("error") is None


def test_the_sentence_of_each_gate_stands_in_the_junit_file(suite):
    """Gates that are met are told too."""
    told = {one.get("name"): one.get("value") for one in suite["test_fixture"].iter("property")}
    assert told.keys() == {"bonwise judge recovery", "bonwise judge within_r"}
    assert all(": met, the one-sided 95% lower bound is" in value for value in told.values())


def test_the_mark_is_listed(tmp_path):
    """``pytest --markers`` says what the mark is."""
    assert (
        "@pytest.mark.bonwise_audit(file, **gates): audit a table of scores"
        in pytest_in(tmp_path, "--markers").stdout
    )


def test_a_suite_that_does_not_use_it_loads_no_statistics(tmp_path):
    """Registering the mark costs nothing that a suite would notice."""
    (tmp_path / "test_other.py").write_text(
        "import sys\n\ndef test_other():\n"
        "    loaded = {'numpy', 'pandas', 'openai', 'pydantic'} & sys.modules.keys()\n"
        "    assert not loaded, loaded\n",
        "utf-8",
    )
    ran = pytest_in(tmp_path, "-p", "no:xdist", "-p", "no:hypothesispytest", "-p", "no:anyio")
    assert ran.returncode == 0, ran.stdout
