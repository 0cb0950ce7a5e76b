from __future__ import annotations

import json

import pytest

from bonwise.studies.requirements.front import study_requirements
from bonwise.testing import simulate
from cli.commands import strict, typed


@pytest.fixture
def source(tmp_path):
    """Write simulated scores and labels."""
    path = tmp_path / "scores.csv"
    simulate("arena", n=120, seed=2).frame().to_csv(path, index=False)
    return path


def test_the_command_gives_the_document_of_the_call(capsys, source):
    """Strict JSON on standard output, the same as in Python, and words on standard error."""
    done = typed(
        capsys,
        "study",
        "requirements",
        source,
        "--target",
        "0.5",
        "--target",
        "0.8",
        "--within-r",
        "0.31",
        "--json",
        "-",
    )
    called = study_requirements(source, targets=[0.5, 0.8], within_r=[0.31]).to_dict()
    assert done.code == 0
    assert strict(done.out) == json.loads(json.dumps(called))
    assert "A judge at within_r 0.31 recovers about" in done.err


def test_the_targets_of_the_paper_are_the_default(capsys, source):
    """Without --target the four of the paper's Table 25 are answered."""
    done = typed(capsys, "study", "requirements", source)
    assert done.code == 0
    for target in ("25%", "50%", "75%", "90%"):
        assert f"\n{target} " in done.out


def test_a_percentage_is_refused(capsys, source):
    """A target beyond 1 is bad usage, in one line."""
    done = typed(capsys, "study", "requirements", source, "--target", "25")
    assert done.code == 2
    assert "a target must lie in [0, 1], not 25" in done.err
