from __future__ import annotations

import pytest

from bonwise.cli.accounts import ErrorDocument, ModelCalls, RefusedParameter, describe_with
from bonwise.report.show import markdown, text
from bonwise.report.terminal import plain, renderables
from documents.test_ledger import sums
from report.described.readers import HOSTILE, harmless


def test_sums_are_told():
    """A document alone tells its sums; a failed check of the file is told too."""
    assert text(sums()).splitlines() == [
        "Ledger",
        "all models: calls 16 answered, 1 failed; 16 answers, 12,364 + 128 tokens, $0.0136",
        "integrity: ok",
    ]
    assert text(sums(integrity="row 3 missing", lost_attempts=2)).splitlines()[-2:] == [
        "2 attempts were sent and never answered; the servers may bill them",
        "integrity: row 3 missing",
    ]


@pytest.mark.parametrize(
    ("cost", "unpriced", "said"),
    [
        (0.5, 0, "$0.5000"),
        (12.5, 3, "$12.50 and 3 calls without a known price"),
        (None, 1, "cost unknown and 1 call"),
    ],
)
def test_each_model_has_a_line(cost, unpriced, said):
    """With the models at hand each is told, with what is known of its cost, in place of the sums."""
    one = ModelCalls(
        name="openai/m",
        calls={"answered": 2},
        answers=2,
        input_tokens=7,
        output_tokens=1,
        cost=cost,
        unpriced=unpriced,
    )
    gone = RefusedParameter(model="m", base_url="u", parameter="temperature", since="1970-01-02", message="no")
    lines = plain(renderables(describe_with(sums(), [one], [gone]))).splitlines()
    assert lines[1].startswith(f"openai/m: calls 2 answered; 2 answers, 7 + 1 tokens, {said}")
    assert lines[2] == "m at u does not take temperature (since 1970-01-02): no"
    assert not any("all models" in line for line in lines)


def test_an_error_is_told_with_its_hint():
    """What is wrong comes first, then what to do about it, where something is known."""
    assert text(ErrorDocument(error="no such file", hint="check the name")).splitlines()[1:] == [
        "no such file",
        "check the name",
    ]
    assert markdown(ErrorDocument(error="no such file", hint="")).endswith("no such file\n")


def test_names_stay_text():
    """What SQLite says of a file, and what an error names, is text wherever it is shown."""
    harmless(sums(integrity=HOSTILE))
    harmless(ErrorDocument(error=HOSTILE, hint=HOSTILE))
