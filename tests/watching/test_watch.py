"""What moved in the picks of production: figures, refusals, drawings, and the command."""

from __future__ import annotations

import json
import shutil
from dataclasses import FrozenInstanceError
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import bonwise as bw
from bonwise.cli.entry import run
from bonwise.errors import FileError, RowError, UsageError
from bonwise.report.show import text
from bonwise.table.reading_options import ReadingOptions
from bonwise.testing import simulate
from bonwise.watching.pick_log import divided, files_of, read_log
from bonwise.watching.result import Watch
from bonwise.watching.signals import labelled_picks
from bonwise.watching.view import course_figure
from cli.commands import pool_file, strict, typed
from cli.served import served
from report.painted import painted
from watching.logs import day_name, write_log

NAMES = ["tie_rate", "margin", "order_effect", "unscored_share", "cost_per_pick", "length", "recovery"]


def test_nothing_moved_in_a_still_log(tmp_path):
    """Six signals of forty days are watched; the seventh says what it lacks."""
    write_log(tmp_path / "p", 40)
    found = bw.watch(f"{tmp_path}/p/*.jsonl")
    assert found.verdict == "nothing moved"
    assert list(found.signals) == NAMES
    assert {name: one.status for name, one in found.signals.items()} == dict.fromkeys(NAMES[:-1], "not moved") | {
        "recovery": "not watched"
    }
    assert "--labels" in found.signals["recovery"].reason
    assert found.sentences[0].startswith("Nothing moved: 6 signals watched over 26 periods, 2026-10-15 to")


@pytest.mark.parametrize(
    ("signal", "change", "direction"),
    [
        ("tie_rate", {"tied": 0.5}, "rose"),
        ("margin", {"gap": 0.1}, "fell"),
        ("unscored_share", {"unscored": 0.3}, "rose"),
        ("cost_per_pick", {"cost": 0.05}, "rose"),
        ("length", {"length": 200}, "fell"),
    ],
)
def test_what_was_shifted_moved(tmp_path, signal, change, direction):
    """The alarm comes within a fortnight of the shift, names its direction and begins near it."""
    write_log(tmp_path / "p", 50, shift_at=35, shifted=change)
    alarm = bw.watch(f"{tmp_path}/p/*.jsonl").signals[signal].alarm
    assert alarm.direction == direction
    assert day_name(35) <= alarm.period <= day_name(49)
    assert day_name(30) <= alarm.since <= day_name(38)


def test_alarms_of_a_growing_log_stay(tmp_path):
    """Asked every day, the first alarm is the one that all days together give, and evidence so far is the same."""
    write_log(tmp_path / "p", 46, shift_at=30, shifted={"length": 200})
    files = sorted((tmp_path / "p").iterdir())
    whole = bw.watch(files).signals["length"]
    first = None
    for days in range(16, 47, 3):
        part = bw.watch(files[:days]).signals["length"]
        told = [look.log10_e for look in part.looks if look.log10_e is not None]
        assert told == [look.log10_e for look in whole.looks if look.log10_e is not None][: len(told)]
        first = first or part.alarm
    assert first.period == whole.alarm.period
    assert first.since == whole.alarm.since


def test_earlier_picks_are_the_baseline_and_not_watched(tmp_path):
    """A pattern of all days whose first ones are named as the baseline."""
    write_log(tmp_path / "p", 30)
    found = bw.watch(f"{tmp_path}/p/*.jsonl", baseline=f"{tmp_path}/p/2026-10-0*.jsonl")
    assert (len(found.data.baseline_periods), len(found.data.periods)) == (9, 21)
    assert found.signals["tie_rate"].baseline_source == "files of earlier picks"


def test_recovery_that_fell_with_a_few_labels(tmp_path):
    """Five labelled picks a day: right 95 times of 100, then 20."""
    labels = write_log(tmp_path / "p", 70, shift_at=35, shifted={"right": 0.2}, right=0.95)
    found = bw.watch(f"{tmp_path}/p/*.jsonl", labels=pd.DataFrame(labels)).signals["recovery"]
    assert found.method == "ranks"
    assert found.alarm.direction == "fell"
    assert day_name(35) <= found.alarm.period
    assert found.alarm.level.estimate < 0.5 < found.baseline.estimate
    assert found.undefined == {"no labels": 70 * 35}


def test_recovery_that_rises_is_no_alarm(tmp_path):
    """Only a fall is watched."""
    labels = write_log(tmp_path / "p", 60, shift_at=30, shifted={"right": 1.0}, right=0.3)
    assert bw.watch(f"{tmp_path}/p/*.jsonl", labels=pd.DataFrame(labels)).signals["recovery"].status == "not moved"


@pytest.fixture
def audited(tmp_path):
    """Audit a table, and return the file of its document with tie rate and recovery."""
    audit = bw.audit(simulate("arena", n=300, seed=4).frame())
    path = tmp_path / "audit.json"
    path.write_text(json.dumps(audit.to_dict()), encoding="utf-8")
    return path, audit["top1_tie_rate"], audit["recovery"]


def test_an_audit_is_the_baseline_of_what_it_holds(tmp_path, audited):
    """The tie rate of the audit is far above that of the log; other signals have the first days of the log."""
    path, ties, recovery = audited
    labels = write_log(tmp_path / "p", 40, tied=0.05, right=0.9)
    found = bw.watch(f"{tmp_path}/p/*.jsonl", baseline=path, labels=pd.DataFrame(labels))
    tied, margin, held = (found.signals[name] for name in ("tie_rate", "margin", "recovery"))
    assert (tied.method, tied.baseline.estimate, tied.alarm.direction) == ("bound", ties.estimate, "fell")
    assert (margin.method, margin.baseline_source) == ("ranks", "the first 14 periods of the log")
    assert (held.method, held.baseline.estimate, held.status) == ("bound", recovery.estimate, "not moved")


def test_recovery_below_that_of_an_audit(tmp_path, audited):
    """Picks that are always wrong recover less than the audit."""
    path, *_ = audited
    labels = write_log(tmp_path / "p", 200, picks=5, right=0.0)
    found = bw.watch(f"{tmp_path}/p/*.jsonl", baseline=path, labels=pd.DataFrame(labels))
    assert found.signals["recovery"].alarm.direction == "fell"


def test_days_of_a_timestamp_and_weeks(tmp_path):
    """Lines of one file in any order fall into days by their time; weeks and numbers of picks are other periods."""
    write_log(tmp_path / "p", 60)
    lines = []
    for path in sorted((tmp_path / "p").iterdir()):
        texts = path.read_text("utf-8").splitlines()
        lines += [{**json.loads(text), "timestamp": f"{path.stem}T12:00:00+02:00"} for text in texts]
    np.random.default_rng(2).shuffle(lines)
    one = tmp_path / "all.jsonl"
    one.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    days = bw.watch(one)
    assert (days.settings.by, days.settings.time) == ("day", "timestamp")
    assert days.data.periods[0] == day_name(14)
    assert bw.watch(one, by="week", first=5).data.periods[-1] == "2026-W48"
    parts = bw.watch(one, by=70)
    assert parts.data.left_out == 2400 % 70
    assert parts.data.periods[0] == "picks 981 to 1,050"


def test_days_that_follow_the_day_before_are_told_with_the_remedy(tmp_path):
    """Lengths in blocks of ten days: the sentence names weeks, and what they need where a period is a file."""
    for day in range(0, 40, 10):
        write_log(tmp_path / "p", 10, picks=20, start=day, length=400 + 100 * (day // 10 % 2))
    found = bw.watch(f"{tmp_path}/p/*.jsonl", first=30)
    (said,) = [one for one in found.sentences if "follows that of the period before" in one]
    assert said.startswith("The length of a period")
    assert said.endswith("Use --by week --year 52, which needs a time in each line.")


def test_too_few_days_are_too_early(tmp_path):
    """A log that its own baseline takes up."""
    write_log(tmp_path / "p", 10)
    found = bw.watch(f"{tmp_path}/p/*.jsonl")
    assert found.verdict == "too early"
    assert found.sentences[0] == "Too early to say: the log has 10 periods, and the baseline takes all of them."


def test_lines_of_other_tools_tell_what_they_can(tmp_path):
    """Three keys alone: every signal says why it is not watched."""
    for day in range(20):
        text = '{"prompt_id": "p", "ids": ["a", "b"], "best": "b"}\n'
        (tmp_path / f"{day:02}.jsonl").write_text(text, encoding="utf-8")
    found = bw.watch(f"{tmp_path}/*.jsonl")
    assert found.verdict == "too early"
    assert found.signals["tie_rate"].reason == "the line holds no scores"
    assert found.signals["length"].reason == "the line holds no text"


def test_changed_settings_are_told(tmp_path):
    """The day on which another version of the judge began to pick."""
    write_log(tmp_path / "p", 20, shift_at=17, shifted={"settings": {"judge": "j", "judge_version": "2", "seed": 3}})
    changes = bw.watch(f"{tmp_path}/p/*.jsonl").data.changes
    assert [(one.period, one.changed) for one in changes] == [(day_name(17), ["judge_version", "strategy"])]


def replaced(folder, changed=32, days=40):
    """Write a still log whose judge is replaced on a day."""
    write_log(folder, days)
    for at, path in enumerate(sorted(folder.iterdir())):
        lines = [json.loads(text) for text in path.read_text("utf-8").splitlines()]
        settings = {"judge": "a" if at < changed else "b"}
        path.write_text("".join(json.dumps({**line, "settings": settings}) + "\n" for line in lines), "utf-8")


def test_a_replaced_judge_leads_the_verdict_and_is_drawn(tmp_path, capsys):
    """No watch is green or 0 eight days after: the fact is first, each course has a line there, the JSON stays."""
    replaced(tmp_path / "p")
    found = bw.watch(f"{tmp_path}/p/*.jsonl")
    answer = found.answer
    assert (found.verdict, answer.word, answer.state) == ("nothing moved", "the judge was changed", "open")
    assert answer.facts[0].startswith(f"The judge was changed in {day_name(32)} (judge): ")
    assert text(found).splitlines()[:2][1].startswith("The judge was changed in")
    assert typed(capsys, "watch", f"{tmp_path}/p/*.jsonl").code == 3
    (command,) = answer.commands
    assert command == f"bonwise watch '{tmp_path}/p/*.jsonl' --baseline-from {day_name(32)}"
    frame = found.figure_data("course-tie-rate")
    (at,) = frame.index[frame["changed"]]
    look = found.signals["tie_rate"].looks[at]
    assert look.first <= day_name(32) <= look.last
    assert any(line.get_label() == "settings changed" for line in found.plot("course-tie-rate").lines)
    replaced(tmp_path / "q", 5, 45)
    still = bw.watch(f"{tmp_path}/q/*.jsonl", baseline_from=day_name(5)).answer
    assert typed(capsys, "watch", f"{tmp_path}/q/*.jsonl", "--baseline-from", day_name(5)).code == 0
    assert (still.state, still.facts, still.commands) == ("good", [], [])


def test_a_baseline_begins_where_it_is_told(tmp_path, capsys):
    """Earlier picks are left out; what is left is what a log without them gives; no such period is one line."""
    replaced(tmp_path / "p", 10, 30)
    later = bw.watch(f"{tmp_path}/p/*.jsonl", baseline_from=day_name(10), first=8)
    asked = ("watch", f"{tmp_path}/p/*.jsonl", "--first", "8", "--baseline-from")
    assert typed(capsys, *asked, day_name(10)).code == {"nothing moved": 0, "too early": 3}[later.verdict]
    assert typed(capsys, *asked, "x").code == 2
    for path in sorted((tmp_path / "p").iterdir())[:10]:
        path.unlink()
    alone = bw.watch(f"{tmp_path}/p/*.jsonl", first=8)
    assert later.signals["margin"].looks == alone.signals["margin"].looks
    assert later.data.baseline_periods == [day_name(at) for at in range(10, 18)]
    assert (later.settings.baseline_from, alone.settings.baseline_from) == (day_name(10), None)
    files = f"{tmp_path}/p/*.jsonl"
    with pytest.raises(UsageError, match=r"no period is named 'x'.*name one of the log's periods, "):
        bw.watch(files, baseline_from="x")
    with pytest.raises(UsageError, match="both a baseline of picks and its first period"):
        bw.watch(files, baseline=str(min((tmp_path / "p").iterdir())), baseline_from=day_name(12))


def test_bad_input_is_one_line(tmp_path):
    """Dates out of order, a file twice, a pattern of nothing, a line that is no pick, a time that is none."""
    write_log(tmp_path / "p", 3)
    files = sorted((tmp_path / "p").iterdir())
    with pytest.raises(UsageError, match="its name says that it is earlier"):
        bw.watch(files[::-1])
    with pytest.raises(UsageError, match="given twice"):
        bw.watch([*files, files[0]])
    with pytest.raises(FileError, match="no file fits"):
        bw.watch(f"{tmp_path}/q*.jsonl")
    with pytest.raises(UsageError, match="need a time"):
        bw.watch(files, by="day")
    with pytest.raises(UsageError, match="all of them are the baseline"):
        bw.watch(files, baseline=files)
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"prompt_id": "p", "ids": ["a"], "best": "z"}\n', encoding="utf-8")
    with pytest.raises(RowError, match="row 1"):
        bw.watch(bad)
    bad.write_text('{"prompt_id": "p", "ids": ["a"], "best": "a", "at": "soon"}\n', encoding="utf-8")
    with pytest.raises(RowError, match="not a time"):
        bw.watch(bad, time="at", by="day")


def test_the_document_comes_back(tmp_path):
    """What is written is what is read; text, Markdown, page and frame are made of it."""
    write_log(tmp_path / "p", 40, shift_at=25, shifted={"length": 150})
    found = bw.watch(f"{tmp_path}/p/*.jsonl")
    path = tmp_path / "watch.json"
    path.write_text(found.to_json(), encoding="utf-8")
    read = bw.load(path)
    assert isinstance(read, Watch)
    assert read == found
    assert read.to_text(full=True) == found.to_text(full=True)
    assert "Length fell" in found.to_markdown()
    found.to_html(tmp_path / "page.html")
    assert "course" in "".join(found.figure_names)
    frame = found.to_frame()
    assert frame.groupby("signal")["alarm"].sum()["length"] == 1
    assert found.moved == ("length",)
    assert repr(found) == "<Watch over 26 periods: length>"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Work in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_exit_codes(folder, capsys):
    """Nothing moved, moved, too early, and an unquoted pattern that would watch the baseline."""
    write_log("still", 30)
    write_log("moved", 40, shift_at=25, shifted={"length": 150})
    assert run(["watch", "still/*.jsonl"]) == 0
    assert "Verdict: nothing moved" in capsys.readouterr().out
    assert run(["watch", "moved/*.jsonl", "--json", "watch.json", "--html", "watch.html"]) == 1
    printed = capsys.readouterr().out
    assert "Length fell" in printed
    assert printed.index("Length fell") < printed.index("Signals")
    assert json.loads((folder / "watch.json").read_text("utf-8"))["verdict"] == "moved"
    assert run(["watch", "still/*.jsonl", "--first", "30"]) == 3
    early = sorted(map(str, (folder / "still").glob("2026-10-0*.jsonl")))
    late = sorted(map(str, (folder / "still").glob("2026-10-2*.jsonl")))
    assert run(["watch", *late, "--baseline", *early]) == 2
    assert "quote a pattern that follows --baseline" in capsys.readouterr().err


def test_json_alone_on_standard_output(folder, capsys):
    """A daily job reads the document and the words step aside."""
    write_log("p", 30)
    assert run(["watch", "p/*.jsonl", "--json", "-"]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["schema"] == "bonwise.watch/1"
    assert "Verdict" in said.err


def test_a_result_replaces_no_picks(folder, capsys):
    """An output that is an input is refused, also where a pattern names it."""
    write_log("p", 30)
    assert run(["watch", "p/*.jsonl", "--json", "p/2026-10-03.jsonl"]) == 2
    assert "read or written already" in capsys.readouterr().err


def test_hostile_names_and_values_stay_text(folder, capsys):
    """Escapes in settings, reasons and names of files reach neither the terminal nor a page."""
    write_log("p", 20)
    path = folder / "p" / "2026-10-20.jsonl"
    lines = [json.loads(text) for text in path.read_text("utf-8").splitlines()]
    for one in lines:
        one["settings"] = {"judge": "j", "<script>alert(1)</script>\x1b[31m": 1}
    path.unlink()
    hostile = folder / "p" / "2026-10-20-\x1b[2J<b>.jsonl"
    hostile.write_text("".join(json.dumps(one) + "\n" for one in lines), encoding="utf-8")
    assert run(["watch", "p/*.jsonl", "--html", "page.html"]) == 3
    assert "\x1b[2J" not in capsys.readouterr().out
    page = (folder / "page.html").read_text("utf-8")
    assert "<script>alert(1)" not in page
    assert "2026-10-20-\x1b[2J<b>" not in page


DAYS = 8
POOLS = {f"p{at}": ["a first answer", "another answer of more words", f"no {at}"] for at in range(3)}


def test_the_order_effect_of_a_pairwise_judge_is_watched(capsys, tmp_path, monkeypatch):
    """Lines that `select` writes with a pairwise judge tell it: one value per pair that was asked in both orders."""
    monkeypatch.chdir(tmp_path)
    told = []
    with served(monkeypatch, tmp_path):
        for day in range(DAYS):
            pools = pool_file("pools.jsonl", {f"{day}-{name}": texts for name, texts in POOLS.items()})
            done = typed(capsys, "select", pools, "--judge", "pairwise:openai/m", "--strategy", "round_robin")
            assert done.code == 0, done.err
            (tmp_path / f"2026-10-0{day + 1}.jsonl").write_text(done.out, encoding="utf-8")
            told += [one["order_effect"] for text in done.out.splitlines() for one in strict(text)["comparisons"]]
    assert len(told) == DAYS * len(POOLS) * 3
    done = typed(capsys, "watch", "2026-10-*.jsonl", "--first", "5", "--json", "watch.json")
    assert done.code == 0, done.err
    found = json.loads((tmp_path / "watch.json").read_text("utf-8"))["signals"]["order_effect"]
    after = told[5 * len(POOLS) * 3 :]
    assert found["status"] == "not moved"
    assert found["undefined"] == {}
    assert max(after) > min(after)
    assert abs(found["now"]["estimate"] - sum(after) / len(after)) < 1e-9
    assert bw.load("watch.json").signals["order_effect"].now.picks == (DAYS - 5) * len(POOLS)


def test_a_baseline_ends_before_the_watched_picks_begin(tmp_path):
    """Where picks state their time, and both hold one day, whoever named the files is told which."""
    for day in range(6):
        write_log(tmp_path, 1, picks=12, start=day, at=day_name(day))
    files = sorted(tmp_path.glob("*.jsonl"))
    watched = bw.watch(files[3:], baseline=files[:3], time="at")
    assert watched.to_dict()["data"]["periods"] == [day_name(day) for day in (3, 4, 5)]
    shutil.copy(files[3], tmp_path / "again.jsonl")
    with pytest.raises(
        UsageError, match=f"baseline ends at {day_name(3)} and the watched picks begin at {day_name(3)}"
    ):
        bw.watch(files[3:], baseline=[*files[:3], tmp_path / "again.jsonl"], time="at")


def signal(values, unit, level=0.0):
    """Return a watched signal of as many looks, the first two of the baseline."""
    looks = [
        SimpleNamespace(first=f"{at}", last=f"{at}", value=value, log10_e=None if at < 2 else 0.0)
        for at, value in enumerate(values)
    ]
    before = SimpleNamespace(estimate=level, low=None, high=None)
    return SimpleNamespace(looks=looks, alarm=None, unit=unit, baseline=before)


@pytest.mark.parametrize("unit", ["share", "dollars"])
def test_a_signal_that_is_always_0_has_no_tick_below_it(unit):
    """No share and no cost lies below 0; the marks at 0 are whole."""
    (axes,) = painted(lambda: course_figure("s", "s", signal([0.0] * 6, unit)))
    low, high = axes.get_ylim()
    assert -0.1 * high < low < 0
    assert all(tick >= 0 for tick in axes.get_yticks() if low <= tick <= high)


def test_what_a_drawing_is_made_from_does_not_change():
    """A drawing is painted when a page needs it; what it shows is what it was made from."""
    (drawing,) = course_figure("s", "s", signal([0.0] * 6, "share"))
    with pytest.raises(FrozenInstanceError):
        drawing.data.level = 1.0


def test_a_signal_that_goes_below_0_is_drawn_there():
    """An order effect may be negative."""
    (axes,) = painted(lambda: course_figure("s", "s", signal([-0.2, 0.0, 0.1, -0.1], "number")))
    assert axes.get_ylim()[0] < -0.2


@pytest.mark.parametrize(("unpicked", "worth"), [("random", None), ("first", "a"), ("drop", None)])
def test_a_pool_without_a_pick_is_worth_what_is_said(tmp_path, unpicked, worth):
    """A random pick by default, else its first candidate, or it is no part of recovery; it is counted."""
    labels = pd.DataFrame(write_log(tmp_path / "p", 60, right=0.7))
    for path in sorted((tmp_path / "p").iterdir()):
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        lines[0] |= {"best": None, "scores": [None] * 3}
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    watched = bw.watch(f"{tmp_path}/p/*.jsonl", labels=labels, unpicked=unpicked)
    found = watched.signals["recovery"]
    assert watched.data.unpicked == (None if unpicked == "drop" else 60)
    for shown in (text(watched), text(watched, full=True)):
        assert ("60 labelled pools without a pick" in " ".join(shown.split())) == (unpicked != "drop")
    assert found.undefined.get("no pick to compare", 0) == (60 if unpicked == "drop" else 0)
    gain = room = 0.0
    for name, of_pool in labels.groupby("prompt_id", sort=False)["oracle_label"].apply(list).items():
        lost, mean = str(name).endswith("-0"), sum(of_pool) / 3
        if lost and unpicked == "drop":
            continue
        gain += of_pool[2 if not lost else 0] - mean if not lost or worth == "a" else 0.0
        room += max(of_pool) - mean
    log = divided(read_log(files_of(f"{tmp_path}/p/*.jsonl"), None)[0], "file", None)
    signal = labelled_picks(log, ReadingOptions(labels=labels, unpicked=unpicked), "log").signal
    assert (signal.u.sum(), signal.v.sum()) == pytest.approx((gain, room))
