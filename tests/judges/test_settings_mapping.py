from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import bonwise as bw
from bonwise.errors import BonwiseError, UsageError
from bonwise.judges.protocol import is_asking
from bonwise.judges.settings_mapping import checked_mapping, judge_from_values, judge_values
from selection.drawn_settings import JUDGES


def questions(judge):
    """Return what a judge asks about two candidates; of one that asks no model, what it says."""
    return repr(judge.asks("p", ["a", "b"]) if is_asking(judge) else judge.judge("p", ["a", "b"]))


@given(judge=JUDGES)
def test_a_judge_comes_back_from_plain_values(judge):
    """It has the same name and version and asks the same; what is written is what JSON holds."""
    written = judge_values("judge", judge)
    again = judge_from_values("judge", json.loads(json.dumps(written, allow_nan=False)))
    assert (again.name, again.version) == (judge.name, judge.version)
    assert questions(again) == questions(judge)
    assert judge_values("judge", again) == written


@given(model=st.text(max_size=12))
@example("m,of=x")
@example("m,orders=1")
@example("a:b%2Cc")
def test_a_model_of_any_name_comes_back_or_is_refused(model):
    """Never is another judge made of it."""
    try:
        judge = bw.Pairwise(f"openai/{model}")
        written = judge_values("judge", judge)
    except BonwiseError:
        return
    assert judge_from_values("judge", written) == judge


@pytest.mark.parametrize("wrapped", [lambda judge: judge, bw.Quantized, lambda judge: bw.Resampled(judge, draws=2)])
def test_what_no_name_states_stands_beside_it(wrapped):
    """Address and seed, also of an inner judge."""
    judge = wrapped(bw.Pairwise("openai/m", base_url="http://h/v1?api-version=1", seed=5))
    assert judge_values("judge", judge) == {"spec": judge.name, "base_url": "http://h/v1?api-version=1", "seed": 5}


class Doubled:
    """A judge of a plug-in, without equality, made of another judge."""

    def __init__(self, of):
        self.of = of
        self.name, self.version = f"doubled,of={of.name}", of.version

    def judge(self, prompt, candidates):
        """Ask the other one."""
        return self.of.judge(prompt, candidates)


def test_a_judge_that_is_not_installed_is_refused():
    """The hint says how a judge gets a name that makes it."""
    with pytest.raises(UsageError, match="no kind of judge 'doubled'") as caught:
        judge_values("judge", Doubled(bw.judge_from_spec("local:length")))
    assert "plug-in" in caught.value.hint


@pytest.mark.parametrize(
    ("mapping", "said"),
    [
        (None, "judge must be a mapping, not NoneType"),
        ({"spec": None}, "judge has no spec"),
        ({"spec": "local:length", "model": "m"}, "judge has no key 'model'"),
    ],
)
def test_what_is_no_such_mapping_is_refused(mapping, said):
    """And its keys are listed, or the one that is missing."""
    with pytest.raises(UsageError, match=said) as caught:
        checked_mapping("judge", mapping, ("spec", "base_url", "seed"), "spec")
    assert "spec" in caught.value.hint
