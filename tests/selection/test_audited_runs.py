"""An audit takes judged pools together with labels."""

from __future__ import annotations

import pytest

pytest.importorskip("pyarrow", reason="needs bonwise[audit]")

import bonwise as bw
from bonwise.errors import InputError

POOLS = [
    {"prompt_id": f"p{at}", "prompt": f"prompt {at}", "candidates": ["a" * (1 + at % 5), "b" * 3, "c" * (at % 7)]}
    for at in range(40)
]
LABELS = [
    {"prompt_id": f"p{at}", "candidate": f"c{n}", "oracle_label": (at + n) % 4} for at in range(40) for n in range(3)
]


def length(_prompt, text):
    """Judge at once."""
    return len(text)


def vowels(_prompt, text):
    """Judge by the number of an a."""
    return text.count("a")


def figures(result):
    """Return what an audit found, without the name of what it read."""
    return {name: value for name, value in result.to_dict().items() if name not in ("source", "settings")}


def test_an_audit_takes_judged_pools(tmp_path):
    """The audit of judged pools is that of the file they write."""
    found = bw.judge(POOLS, judge=[length, vowels])
    found.to_csv(tmp_path / "scores.csv")
    assert figures(bw.audit(found, labels=LABELS)) == figures(bw.audit(tmp_path / "scores.csv", labels=LABELS))
    assert found.to_table().judges == ("length", "vowels")


def test_the_table_holds_what_is_unscored(tmp_path):
    """A candidate that a judge did not score is in the table without a score."""
    table = bw.judge(POOLS, judge=bw.Pointwise("openai/m"), offline=True, run=tmp_path).to_table()
    assert len(table.frame) == 120
    assert table.frame["judge_score"].isna().all()


def test_doctor_looks_at_judged_pools():
    """`bw.doctor` takes judged pools, and its next command names the files that are still to come."""
    found = bw.doctor(bw.judge(POOLS, judge=length))
    assert (found.counts.prompts, found.counts.judges) == (40, 1)
    assert found.next_command.startswith("bonwise labels draw SCORES.csv --labels 40")


def test_a_run_without_a_score_is_refused(tmp_path):
    """Where nothing was scored an audit says so."""
    found = bw.judge(POOLS, judge=bw.Pointwise("openai/m"), offline=True, run=tmp_path)
    assert found.pending == {"not in the ledger": 114}
    with pytest.raises(InputError):
        bw.audit(found, labels=LABELS)
