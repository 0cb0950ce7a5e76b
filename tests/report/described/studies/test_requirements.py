from __future__ import annotations

import pytest

from bonwise.report.blocks import Part
from bonwise.report.show import describe, text
from bonwise.studies.requirements.result import RequirementsStudy
from documents.studied import result


def answer(tmp_path, within_r, recovery, difference=(-0.1, -0.3, 0.1)):
    """Return word, state and sentences of the verdict on a judge with these figures."""
    several = result("requirements", tmp_path)
    plain = several.of_one_judge(next(iter(several.judges))).to_dict()
    (judge,) = plain["judges"].values()
    names = ("estimate", "low", "high")
    for key, found in (("within_r", within_r), ("recovery", recovery), ("difference", difference)):
        judge["judge"][key].update(zip(names, found, strict=True))
    judge["targets"][0]["target"] = 0.25
    judge["targets"][0]["within_r"].update(estimate=0.2, low=0.19, high=0.21)
    document = RequirementsStudy.model_validate(plain)
    (verdict,) = (one for one in describe(document).blocks if isinstance(one, Part) and one.role == "verdict")
    return verdict.title, verdict.state, verdict.blocks[0].text, " ".join(text(document).split())


LITTLE = (0.1, 0.05, 0.15)


@pytest.mark.parametrize(
    ("within_r", "said"),
    [
        ((0.1, 0.05, 0.15), "Its within_r of 0.10 [0.05, 0.15] is too low: 25% takes 0.200 [0.190, 0.210]."),
        ((0.22, 0.1, 0.34), "Its within_r is 0.22 [0.10, 0.34]; 0.200 [0.190, 0.210] is enough for 25% where "),
        (
            (0.4, 0.3, 0.5),
            "Its within_r of 0.40 [0.30, 0.50] is not what it lacks: 0.200 [0.190, 0.210] is enough for 25% where ",
        ),
    ],
)
def test_a_judge_that_falls_short_is_told_by_its_recovery(tmp_path, within_r, said):
    """The word is about recovery; whether within_r is what is missing follows from the interval of within_r."""
    word, state, says, shown = answer(tmp_path, within_r, LITTLE)
    assert (word, state) == ("recovers less than 25%", "bad")
    assert says.startswith("The judge recovers less than 25% of the possible gain: 10% [5%, 15%]. ")
    assert said in says
    assert shown.startswith("Verdict: recovers less than 25% The judge recovers")
    assert "cost more than plain noise" not in says


def test_errors_that_cost_more_than_plain_noise_are_named(tmp_path):
    """They are named where the interval of the difference lies below 0, and not before."""
    says = answer(tmp_path, (0.4, 0.3, 0.5), LITTLE, (-0.2, -0.3, -0.1))[2]
    assert says.endswith("Its errors cost more than plain noise would, as ties, coarse scores and uneven errors can.")


@pytest.mark.parametrize(
    ("recovery", "word", "state", "said"),
    [
        (
            (0.2, 0.1, 0.3),
            "not settled",
            "open",
            "The judge is not shown to recover 25%: it recovers 20% [10%, 30%].",
        ),
        (
            (0.4, 0.3, 0.49),
            "reaches 25%",
            "good",
            "The judge reaches a wanted recovery of 25%: it recovers 40% [30%, 49%].",
        ),
    ],
)
def test_other_verdicts(tmp_path, recovery, word, state, said):
    """An interval around the smallest target settles nothing; one above it reaches it, and says no more."""
    found = answer(tmp_path, (0.4, 0.3, 0.5), recovery)
    assert found[:2] == (word, state)
    assert found[2].startswith(said)
    assert ("within_r" in found[2]) == (state == "open")
