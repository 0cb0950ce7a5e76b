from __future__ import annotations

import pytest

from auditing.tables import two_judges
from bonwise.auditing.audit import audit
from bonwise.report.audit_markdown import markdown, markdown_error

MOST = 900_000
LONG = "|" * 299
"""Of each of these letters six bytes are written."""


@pytest.fixture(scope="module")
def base():
    """Return an audit's document of two judges."""
    return audit(two_judges(20)).to_dict()


def many(base, count, *, drops=0):
    """Return a document of many judges with long names, as many not audited, and prompts dropped of each."""
    judge = base["judges"]["first"]
    dropped = [{"prompt_id": "p", "reason": f"{at}{LONG}"} for at in range(drops)]
    judge = {**judge, "data": {**judge["data"], "dropped": dropped}}
    return {
        **base,
        "judges": {f"{at}{LONG}": judge for at in range(count)},
        "not_audited": {f"n{at}{LONG}": f"no score: {LONG}" for at in range(count)},
    }


def gates(count):
    """Return gates of many judges with long names."""
    gate = {"metric": "recovery", "value": 0.2, "state": "met"}
    return [{**gate, "judge": f"{at}{LONG}", "sentence": LONG} for at in range(count)]


def test_lists_of_judges_are_counted_beyond_the_first(base):
    """Of 60 judges that were not audited, and of 60 with dropped prompts, 50 are listed and 10 counted."""
    lines = markdown(many(base, 60, drops=1)).splitlines()
    assert sum(line.startswith("Not audited: ") for line in lines) == 50
    assert sum("Dropped 1 prompt" in line for line in lines) == 50
    assert "... 10 more judges not audited" in lines
    assert "... 10 more judges with dropped prompts" in lines
    assert not any("more judge" in line for line in markdown(many(base, 50, drops=1)).splitlines())


@pytest.mark.parametrize(("count", "drops"), [(500, 0), (500, 8), (2000, 8)])
def test_no_summary_is_larger_than_a_build_shows(base, count, drops):
    """Whatever the names and however many judges, gates and drops: 900,000 bytes, and its end says what lacks."""
    document = {**many(base, count, drops=drops), "gates": gates(count)}
    text = markdown(document)
    assert len(text.encode()) <= MOST + 300
    assert text.splitlines()[-1].startswith("Left out, for a build shows no longer summary: ")


def test_gates_have_room_before_the_rest(base):
    """Gates, which decide the build, are all there where everything before them is too long."""
    document = {**many(base, 500, drops=8), "gates": gates(100)}
    text = markdown(document)
    assert sum(line.startswith(r"| recovery &gt; 0.2 |") for line in text.splitlines()) == 100
    assert "of the summary" in text.splitlines()[-1]
    assert "of the gates" not in text.splitlines()[-1]


def test_what_fits_is_whole(base):
    """An ordinary summary has no line of what was left out, and its gates stand last."""
    text = markdown({**base, "gates": [{**one, "judge": "first"} for one in gates(1)]})
    assert "Left out" not in text
    assert text.splitlines()[-1].startswith("| recovery")


def test_an_error_is_text():
    """A name in an error makes no markup and no further paragraph."""
    text = markdown_error("<b>a\n\n# b", "a: *no* such file", "")
    assert text == "## Audit of &lt;b&gt;a\\\\n\\\\n\\# b: bad input\n\na: \\*no\\* such file\n"
