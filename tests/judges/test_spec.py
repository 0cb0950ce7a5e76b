from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonwise.errors import UsageError
from bonwise.judges.registry import Spec, read_spec

WORDS = st.text(alphabet="abcxyz_", min_size=1, max_size=8)
VALUES = st.text(min_size=1, max_size=12)
PLAIN = st.builds(
    Spec, WORDS, st.dictionaries(WORDS.filter(lambda one: one != "of"), VALUES, max_size=3), rest=st.text()
)


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("local:length", Spec("local", rest="length")),
        ("pointwise", Spec("pointwise")),
        ("pointwise:openai/org/m:free", Spec("pointwise", rest="openai/org/m:free")),
        ("pairwise,orders=1:openai/m", Spec("pairwise", {"orders": "1"}, rest="openai/m")),
        ("pointwise,prompt=a%2Cb%3Ac.md:x/y", Spec("pointwise", {"prompt": "a,b:c.md"}, rest="x/y")),
        ("resampled,draws=3,of=interval:x/y", Spec("resampled", {"draws": "3"}, of="interval:x/y")),
        ("resampled,of=local:length", Spec("resampled", of="local:length")),
        ("quantized,bins=5,of=resampled,of=pointwise,prompt=p:x/y",
         Spec("quantized", {"bins": "5"}, of="resampled,of=pointwise,prompt=p:x/y")),
        ("pointwise:x/y,of=z", Spec("pointwise", rest="x/y,of=z")),
    ],
    ids=str,
)  # fmt: skip
def test_a_judge_is_read_as_it_is_written(text, spec):
    """Kind, options, and either the rest or the inner judge."""
    assert read_spec(text) == spec


@given(PLAIN, st.lists(PLAIN, max_size=2))
def test_what_is_written_can_be_read(inner, outer):
    """Reading undoes writing, whatever is in the values and however deep judges are nested."""
    spec = inner
    for one in outer:
        spec = Spec(one.kind, one.options, of=str(spec))
    assert read_spec(str(spec)) == spec


@pytest.mark.parametrize("text", ["", ":x/y", "a,b:x/y", "a,b=:x/y", "a,=1:x/y", "a,b=1,b=2:x/y", "a,of=", ",of=b"])
def test_what_cannot_be_read_is_refused(text):
    """No kind, an option without name or value, or one stated twice is a usage error with a hint."""
    with pytest.raises(UsageError) as caught:
        read_spec(text)
    assert caught.value.hint
