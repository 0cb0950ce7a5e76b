"""The commands about ledgers: typed, as documents, in words."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from bonwise.calls.bill import Usage
from bonwise.calls.ledger.ledger import Ledger
from bonwise.calls.ledger.records import DroppedParameter, ModelTally
from bonwise.cli.accounts import ErrorDocument, LedgerDocument, describe_with
from bonwise.cli.running import shown_count
from bonwise.report.show import markdown, text
from bonwise.report.terminal import plain, renderables
from cli.commands import CONTROL, pool_file, strict, typed
from cli.served import served
from report.readers import HOSTILE, harmless
from results.round_trips import read_back, refusal

FILE = "bonwise-run/ledger.sqlite"


@pytest.fixture
def folder(tmp_path, monkeypatch, capsys):
    """Leave a run folder behind in which a server took no temperature."""
    monkeypatch.chdir(tmp_path)
    pool_file("pools.jsonl", {"p1": ["one", "two"], "p2": ["three", "four"]})
    with served(monkeypatch, tmp_path, refuses_parameters={"temperature"}):
        assert typed(capsys, "judge", "pools.jsonl", "--judge", "pointwise:openai/m").code == 0
    return tmp_path


def damage(statement, *values):
    """Change the file as another program might."""
    with closing(sqlite3.connect(FILE)) as connection, connection:
        connection.execute(statement, values)


def test_a_hostile_file_prints_no_control_characters(capsys, folder):
    """Names, notes and readings of a ledger reach a terminal only as printable text."""
    evil = "x\x1b[2J\nevil\u202e"
    for table, column in (
        *(("call", name) for name in ("model", "provider", "base_url", "note", "answered_model")),
        *(("dropped", name) for name in ("model", "base_url", "parameter", "message")),
    ):
        damage(f"UPDATE {table} SET {column} = ?", evil)  # noqa: S608 - names of this test
    damage("UPDATE sample SET reading = ?", f'"{evil}"')
    for words in (("stats",), ("show",)):
        done = typed(capsys, "ledger", *words)
        assert done.code == 0
        assert not CONTROL.search(done.out + done.err)
        assert "\\x1b[2J" in done.out


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("call", "effective", "{bad"),
        ("call", "effective", "[1]"),
        ("call", "effective", "[" * 100_000),
        ("call", "cost", float("inf")),
        ("sample", "reading", "{bad"),
        ("sample", "reading", "1e999"),
        ("request", "body", b"\x00\xff"),
        ("response", "raw", "text"),
    ],
    ids=lambda part: str(part)[:9],
)
def test_a_damaged_call_is_one_line(capsys, folder, table, column, value):
    """A column that holds something else ends show and export with 2 and one line that names the call."""
    ((key, call),) = _rows("SELECT lower(hex(key)), max(call) FROM sample")
    damage(f"UPDATE {table} SET {column} = ? WHERE {'id' if table == 'call' else 'call'} = ?", value, call)  # noqa: S608
    old = '{"key": "0", "choice": 0, "reading": null, "call": 1, "state": "answered"}\n'
    Path("calls.jsonl").write_text(old, encoding="utf-8")
    for words in (("show", "--key", key[:12]), ("export", "--out", "calls.jsonl"), ("export",)):
        done = typed(capsys, "ledger", *words)
        assert done.code == 2
        assert len(done.err.splitlines()) == 1
        assert f"call {call} is damaged" in done.err
        assert len(done.err) < 500
    assert Path("calls.jsonl").read_text("utf-8") == old
    assert not list(Path().glob(".bonwise.*"))


def test_a_damaged_cost_is_one_line(capsys, folder):
    """A cost that is not a number ends the sums with 2 and one line."""
    damage("UPDATE call SET cost = 9e999")
    done = typed(capsys, "ledger", "stats", "--json", "sums.json")
    assert done.code == 2
    assert "cost of openai/m" in done.err
    assert strict(Path("sums.json").read_text("utf-8"))["schema"] == "bonwise.error/1"


def test_a_sum_that_cannot_be_is_one_line(capsys, folder):
    """Tokens below 0 end the sums with 2 and one line that names them."""
    damage("UPDATE call SET uncached = -7000")
    done = typed(capsys, "ledger", "stats", "--json", "-")
    assert done.code == 2
    assert "is damaged: input_tokens should be at least 0" in done.err
    assert done.err.count("\n") == 1


def test_a_damaged_answer_is_not_asked_from(capsys, folder, monkeypatch):
    """Judging from a damaged ledger, and foreseeing it, ends with 2 and the call, and no traceback."""
    damage("UPDATE call SET effective = '{bad'")
    with served(monkeypatch, folder):
        monkeypatch.setenv("OPENAI_BASE_URL", _rows("SELECT base_url FROM call")[0][0])
        for more in (("--dry-run",), ()):
            done = typed(capsys, "judge", "pools.jsonl", "--judge", "pointwise:openai/m", *more)
            assert done.code == 2
            assert "is damaged" in done.err
            assert "ledger.sqlite" in done.err
            assert "Traceback" not in done.err


def test_nothing_that_a_reader_found_stops_an_export(capsys, folder):
    """A reading that is NaN, as a reader may find one, is exported by its name: JSON has no such number."""
    damage("UPDATE sample SET reading = 'NaN' WHERE call = 2")
    lines = typed(capsys, "ledger", "export").out.splitlines()
    assert [strict(line)["reading"] for line in lines if strict(line)["call"] == 2] == ["NaN"]


def test_an_export_is_the_same_wherever_it_goes(capsys, folder):
    """A file and standard output get the same rows, and the file is whole."""
    printed = typed(capsys, "ledger", "export").out
    assert typed(capsys, "ledger", "export", "--out", "calls.jsonl").code == 0
    assert Path("calls.jsonl").read_text("utf-8") == printed
    refused = typed(capsys, "ledger", "export", "--out", "nowhere/calls.jsonl")
    assert (refused.code, len(refused.err.splitlines())) == (2, 1)


def test_an_export_holds_one_row_at_a_time(capsys, folder, monkeypatch):
    """Rows are written as they are read, however many there are."""
    events = []
    rows = Ledger.rows

    def walked(self, **chosen):
        for row in rows(self, **chosen):
            events.append("read")
            yield row

    monkeypatch.setattr(Ledger, "rows", walked)
    monkeypatch.setattr("bonwise.cli.arguments.emit", lambda _text: events.append("written"))
    assert typed(capsys, "ledger", "export").code == 0
    assert events == ["read", "written"] * (len(events) // 2)
    assert len(events) >= 8


def test_a_refused_parameter_can_be_forgotten(capsys, folder):
    """The sums name what servers do not take and since when; forgetting takes it off, for a model or a parameter."""
    shown = typed(capsys, "ledger", "stats").out.replace("\n", " ")
    damage("UPDATE dropped SET learnt_at = 86400.0")
    assert "does not take temperature (since 20" in shown
    assert "(since 1970-01-02)" in typed(capsys, "ledger", "stats").out.replace("\n", " ")
    for more in (("--model", "another"), ("--parameter", "seed")):
        assert "0 parameters forgotten" in typed(capsys, "ledger", "forget", *more).err
    assert "1 parameters forgotten" in typed(capsys, "ledger", "forget", "bonwise-run", "--model", "m").err
    assert "does not take" not in typed(capsys, "ledger", "stats").out
    damage("INSERT INTO dropped VALUES ('u', 'm', 'n', '', 'never')")
    assert "since an unknown day" in typed(capsys, "ledger", "stats").out.replace("\n", " ")


def _rows(statement):
    with closing(sqlite3.connect(FILE)) as connection:
        return connection.execute(statement).fetchall()


def test_a_flipped_digit_is_never_a_score(capsys, folder):
    """The run ends with exit code 2 and the name of the call; after a repair it asks again, and only for that."""
    Path("scores.csv").unlink(missing_ok=True)
    with closing(sqlite3.connect(FILE)) as connection:
        (call,) = connection.execute("SELECT min(id) FROM call WHERE state = 'answered'").fetchone()
    damage("UPDATE response SET raw = CAST(replace(raw, '1', '7') AS BLOB) WHERE call = ?", call)
    again = ("judge", "pools.jsonl", "--judge", "pointwise:openai/m", "--out", "scores.csv")
    done = typed(capsys, *again)
    assert done.code == 2
    assert f"call {call} is damaged" in done.err
    assert not Path("scores.csv").exists()
    done = typed(capsys, "ledger", "check")
    assert done.code == 2
    assert f"call {call}: its answer is not what was written" in done.err
    assert "bonwise ledger repair bonwise-run drops it" in done.err
    done = typed(capsys, "ledger", "repair")
    assert done.code == 0
    assert f"1 answer of call {call} dropped: a run that needs them asks again" in done.err
    done = typed(capsys, "ledger", "check")
    assert (done.code, "3 answers: each is what was written" in done.err) == (0, True)
    assert "nothing was changed" in typed(capsys, "ledger", "repair").err


def test_an_export_says_how_far_it_is(capsys, folder, monkeypatch):
    """A long export says how many rows there are so far."""
    monkeypatch.setattr("bonwise.cli.running.COUNT_PAUSE", 0.0)
    lines = list(shown_count(range(3000), "row"))
    assert len(lines) == 3000
    assert capsys.readouterr().err.splitlines()[0].endswith("1,000 rows so far")


def sums(**more):
    """Return the sums of a ledger, with other values where they are given."""
    return LedgerDocument.model_validate(
        {
            "calls": {"answered": 16, "failed": 1},
            "answers": 16,
            "input_tokens": 12364,
            "output_tokens": 128,
            "cost": 0.0136,
            "calls_without_a_price": 0,
            "lost_attempts": 0,
            "integrity": "ok",
            **more,
        }
    )


def test_what_is_written_is_read_back(tmp_path):
    """Sums and errors are read back; the sum of no costs is the integer 0."""
    read_back(sums(), tmp_path)
    assert '"cost": 0,' in read_back(sums(cost=0, calls={}), tmp_path).to_json()
    read_back(ErrorDocument(error="no such file", hint=""), tmp_path)


@pytest.mark.parametrize(
    ("keys", "value", "named"),
    [
        ("calls", {"lost": 1}, "calls.lost"),
        ("calls.answered", -1, "calls.answered"),
        ("cost", None, "cost"),
        ("integrity", ..., "integrity"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path, keys, value, named):
    """A sum that no ledger has is refused by its key."""
    assert f"tampered.json: {named} " in refusal(sums(), tmp_path, keys, value)


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
    [(0.5, 0, "$0.5000"), (12.5, 3, "$12.50 and 3 calls without a known price"), (0.0, 1, "cost unknown and 1 call")],
)
def test_each_model_has_a_line(cost, unpriced, said):
    """With the models at hand each is told, with what is known of its cost, in place of the sums."""
    tally = ModelTally(
        "openai", "m", {"answered": 2}, 2, Usage(uncached=7, output=1), cost, unpriced, attempts=2, lost_attempts=0
    )
    dropped = DroppedParameter("u", "m", "temperature", "no", learnt_at=86_400.0)
    lines = plain(renderables(describe_with(sums(), [tally], [dropped]))).splitlines()
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
