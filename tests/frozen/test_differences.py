from __future__ import annotations

import json

import pytest

import frozen.make
from frozen import every_case, pinned
from frozen.differences import byte_differences, value_differences
from frozen.every_case import golden, keep
from frozen.masks import masked, settled_output

KEPT = {"schema": "x", "value": 0.25, "n": 3, "ok": True, "reason": "too few", "rows": [{"id": "a", "state": "met"}]}


def told(compare, found, name="a.json"):
    """Return what differs between the kept document and another."""
    return list(compare({name: json.dumps(KEPT) + "\n"}, {name: json.dumps(found) + "\n"}))


@pytest.mark.parametrize("compare", [byte_differences, value_differences])
@pytest.mark.parametrize(
    "change",
    [
        {"value": 0.2501},
        {"n": 3.0},
        {"n": 4},
        {"ok": 1},
        {"value": None},
        {"reason": None},
        {"reason": ""},
        {"reason": "owed: no answer"},
        {"rows": []},
        {"rows": [{"id": "a", "state": "not met"}]},
        {"rows": [{"state": "met", "id": "a"}]},
        {"more": 1},
    ],
    ids=str,
)
def test_what_is_data_may_not_change(compare, change):
    """Numbers, kinds, names, keys and their order, and whether there is a reason at all."""
    assert told(compare, {**KEPT, **change})


@pytest.mark.parametrize("compare", [byte_differences, value_differences])
def test_the_order_of_keys_may_not_change(compare):
    """Another order of the same keys is told."""
    assert told(compare, dict(reversed(KEPT.items())))


@pytest.mark.parametrize("compare", [byte_differences, value_differences])
def test_words_for_people_may_change(compare):
    """Another reason in other words is no difference."""
    assert not told(compare, {**KEPT, "reason": "fewer prompts than it takes"})


@pytest.mark.parametrize("compare", [byte_differences, value_differences])
def test_the_last_digits_do_not_count(compare):
    """A number that is off by 1e-12 is the same: another processor adds in another order; off by 1e-8 it is not."""
    for off, differs in ((1e-12, False), (1e-8, True)):
        found = {**KEPT, "value": 0.25 + off}
        assert bool(told(compare, found)) is differs


def test_the_last_digits_do_not_count_in_a_report_of_tests():
    """Properties of JUnit are data too: off by 1e-15 they are the same, off by 1e-8 or rounded they are not."""
    kept = {"gates.xml": '<property value="0.12785916313195347" />'}
    for value, differs in (("0.12785916313195353", False), ("0.12785917313195347", True), ("0.128", True)):
        assert bool(list(byte_differences(kept, {"gates.xml": f'<property value="{value}" />'}))) is differs


def test_the_layout_counts_to_the_byte_alone():
    """An indented document differs in bytes, even where words are masked."""
    kept, found = {"a.json": json.dumps(KEPT) + "\n"}, {"a.json": json.dumps(KEPT, indent=2) + "\n"}
    assert list(byte_differences(kept, found))
    assert not list(value_differences(kept, found))


@pytest.mark.parametrize(
    ("name", "before", "after", "in_value"),
    [
        ("a.csv", "id,x\na,0.5\n", "id,x\na,0.6\n", True),
        ("a.csv", "id,x\na,0.5\n", "id,x\na,0.50\n", False),
        ("a.csv", "id,unscored\na,owed: late\n", "id,unscored\na,owed: later\n", True),
        ("a.jsonl", '{"x": 1}\n', '{"x": 1}\n{"x": 2}\n', True),
        ("audit.help", "  --json FILE\n", "  --jsons FILE\n", True),
        ("audit.help", "  --json FILE\n", "  --json PATH\n", False),
        ("said.txt", "one\n", "two\n", False),
        ("page.html", "<p>one</p>\n", "<p>two</p>\n", False),
    ],
)
def test_other_files(name, before, after, in_value):
    """Tables and flags differ in value, text and pages in bytes alone."""
    assert list(byte_differences({name: before}, {name: after}))
    assert bool(list(value_differences({name: before}, {name: after}))) is in_value


@pytest.mark.parametrize("compare", [byte_differences, value_differences])
def test_a_file_more_or_less_is_told(compare):
    """Files that are no longer written, or were not before."""
    assert list(compare({"a.txt": ""}, {})) == ["a.txt is no longer written"]
    assert list(compare({}, {"a.txt": ""})) == ["a.txt was not written before"]


def test_masks_leave_data_alone():
    """Empty words, owed answers, counts and names beside masked words stay as they are."""
    value = {"sentences": [], "stopped": "owed: x", "left_out": {"a": 3, "b": "it lacks labels"}, "notes": ["n", "m"]}
    assert masked(value) == {
        "sentences": [],
        "stopped": "owed: x",
        "left_out": {"a": 3, "b": "<words>"},
        "notes": ["<words>"],
    }


def test_the_clock_and_the_version_are_taken_out():
    """What a clock says is no part of a golden file, wherever it stands; other numbers are."""
    assert settled_output("a.json", '{"latency": 0.5, "low": 0.5}') == '{"latency": "<time>", "low": 0.5}'
    assert settled_output("a.json", '{"latency": {"mean": 0.25}, "x": {"mean": 0.25}}').count("0.25") == 1
    assert settled_output("picks.html", "took 0.00123 s") == "took <time>"
    assert settled_output("said.txt", "bonwise: 0 of 5 answers, $0.00, time left unknown\nkept\n") == "kept\n"
    assert (
        settled_output("said.txt", "bonwise: 1 of 5 answers, $0.00, about 3 s left\nkept, left\n") == "kept, left\n"
    )
    rows = '{"key": "b", "call": 1}\n{"key": "a", "call": 2}\n'
    assert settled_output("0.ledger.jsonl", rows) == '{"key": "a", "call": 0}\n{"key": "b", "call": 0}\n'


def test_an_environment_is_told_from_the_pinned_one(monkeypatch, tmp_path):
    """Another version, a package that is absent, and another Python each say so."""
    text = "# made on: Python 2.7, Plan9-vax\nnumpy==0.1\nnot-there==1.0\n# for the tests alone\npytest==0.1\n"
    path = tmp_path / "constraints.txt"
    path.write_text(text, encoding="utf-8")
    monkeypatch.setattr(pinned, "CONSTRAINTS", path)
    lines = pinned.otherwise()
    assert [line.split()[0] for line in lines] == ["Python", lines[1].split()[0], "numpy", "not-there"]
    assert lines[-1] == "not-there not installed in place of 1.0"


@pytest.fixture
def goldens(tmp_path, monkeypatch):
    """Keep golden files of one case in a folder of this test."""
    monkeypatch.setattr(every_case, "GOLDEN", tmp_path / "golden")
    return tmp_path / "golden"


def test_golden_files_are_kept_and_read(goldens):
    """A large file is compressed, always to the same bytes, and read like a small one; without text it goes."""
    long = "line\n" * 10_000
    keep("case", "small.txt", "é\n")
    keep("case", "deep/large.html", long)
    packed = (goldens / "case" / "deep" / "large.html.gz").read_bytes()
    assert golden("case") == {"small.txt": "é\n", "deep/large.html": long}
    keep("case", "deep/large.html", long)
    assert (goldens / "case" / "deep" / "large.html.gz").read_bytes() == packed
    keep("case", "deep/large.html", None)
    assert golden("case") == {"small.txt": "é\n"}


def test_the_script_writes_words_and_data_only_when_told(goldens, monkeypatch, capsys):
    """--check writes nothing and ends with 1; words are written at once, data with --data alone."""
    made = {"said.txt": "words\n", "codes.json": "[]\n"}
    monkeypatch.setattr(frozen.make, "_made", lambda _name: made)
    assert frozen.make.main(["plan", "--check"]) == 1
    assert golden("plan") == {}
    assert frozen.make.main(["plan"]) == 1
    assert golden("plan") == {"said.txt": "words\n"}
    assert "codes.json holds data" in capsys.readouterr().out
    assert frozen.make.main(["plan", "--data"]) == 0
    assert golden("plan") == made
    assert frozen.make.main(["plan", "--check"]) == 0
