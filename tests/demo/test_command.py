from __future__ import annotations

import contextlib
import functools
import io
import json
import re
import shlex
import shutil
import socket
import time
from pathlib import Path
from statistics import fmean

import pytest

from bonwise.auditing.front import audit
from bonwise.cli.entry import run
from bonwise.demo.run import run_demo
from bonwise.demo.tasks import label, load_tasks
from bonwise.judges.local import NAMES
from bonwise.table.verdicts import Score
from cli.commands import CONTROL, rows_of, strict, typed

LABELS = {(t.pool.prompt_id, c.id): label(t, c) for t in load_tasks() for c in t.pool.candidates}
JUDGES = [f"local:{name}" for name in NAMES]
POLICIES = {
    "greedy": (4.0, 0.0),
    "adaptive": (None, 0.0),
    "value-of-information-mean-calls-8": (None, 0.0),
    "resample": (20.0, 0.0),
    "greedy--25-to-the-checker-by-margin": (4.0, 0.25),
    "greedy--25-to-the-checker-by-interval-width": (4.0, 0.25),
}
"""Files of the policies, with the scores a task, where these are fixed, and the share that may be routed."""


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """Run the demo once, without any network, and return its folder and what it printed."""
    root = tmp_path_factory.mktemp("root")
    with pytest.MonkeyPatch.context() as patched, contextlib.redirect_stdout(io.StringIO()) as out:
        patched.chdir(root)

        def refuse(*arguments, **settings):
            raise AssertionError("the demo opened a socket")

        patched.setattr(socket, "socket", refuse)
        assert run(["demo", "--full"]) == 0
    return root / "bonwise-demo", out.getvalue()


def winners(folder, judge):
    """Read the picks of one judge."""
    lines = (folder / f"winners-{judge.replace(':', '-')}.jsonl").read_text("utf-8").splitlines()
    return [strict(line) for line in lines]


def row_of(text, name):
    """Return the cells of a row of a printed table; an interval is one cell with its estimate."""
    (line,) = (line for line in text.splitlines() if line.startswith(f"{name} "))
    return re.split(r"\s{2,}", line.strip())


def test_every_file_of_the_journey_is_written(demo):
    """The folder holds pools, labels, scores, the picks of each judge, the audit and its rows, and nothing else."""
    folder, out = demo
    expected = {"pools.jsonl", "labels.csv", "scores.csv", "audit.json", "audit.html", "per_prompt.csv"}
    expected |= {f"winners-{judge.replace(':', '-')}.jsonl" for judge in JUDGES}
    expected |= {f"picks-{name}.jsonl" for name in POLICIES}
    assert {path.name for path in folder.iterdir()} == expected
    assert "bonwise-demo" in out
    assert not CONTROL.search(out)


def test_labels_are_what_the_checkers_say(demo):
    """Each label in the file is the share of checks that the answer passes, and none is missing."""
    rows = rows_of(demo[0] / "labels.csv")
    assert {(row["prompt_id"], row["candidate"]): float(row["oracle_label"]) for row in rows} == LABELS
    assert len(rows) == len(LABELS)


def test_the_audit_is_that_of_the_files(demo, capsys, monkeypatch):
    """The audit that the demo wrote is, to the byte, what ``bonwise audit`` makes of its files."""
    folder, _ = demo
    monkeypatch.chdir(folder.parent)
    labels = ("--labels", "bonwise-demo/labels.csv", "--pools", "bonwise-demo/pools.jsonl")
    done = typed(capsys, "audit", "bonwise-demo/scores.csv", *labels, "--json", "-", "--per-prompt", "again.csv")
    assert done.out == (folder / "audit.json").read_text("utf-8")
    assert Path("again.csv").read_bytes() == (folder / "per_prompt.csv").read_bytes()
    typed(capsys, "audit", "bonwise-demo/scores.csv", *labels, "--html", "again.html")
    assert Path("again.html").read_bytes() == (folder / "audit.html").read_bytes()


def test_scores_and_picks_are_those_of_the_commands(demo, capsys):
    """The scores and picks that the demo wrote are what ``judge`` and ``select`` make of its pools."""
    folder, _ = demo
    judges = [word for judge in JUDGES for word in ("--judge", judge)]
    assert typed(capsys, "judge", folder / "pools.jsonl", *judges).out == (folder / "scores.csv").read_text("utf-8")
    for judge in JUDGES:
        done = typed(capsys, "select", folder / "pools.jsonl", "--judge", judge)
        picks = [
            {key: value for key, value in strict(line).items() if key != "latency"} for line in done.out.splitlines()
        ]
        assert picks == winners(folder, judge)


@pytest.mark.parametrize("name", POLICIES)
def test_a_policy_is_worth_what_its_log_says(demo, name):
    """A policy's row shows the audit of its picks, the scores they took and the share that was routed."""
    folder, out = demo
    file = folder / f"picks-{name}.jsonl"
    lines = [strict(line) for line in file.read_text("utf-8").splitlines()]
    found = audit(file, labels=folder / "labels.csv")["recovery"]
    scores, share = POLICIES[name]
    mean = fmean(sum(line["draws"]) for line in lines)
    routed = fmean(line["routed"] is not None and line["routed"]["strong"] is not None for line in lines)
    assert scores in {None, mean}
    assert share / 2 <= routed <= share + 1 / len(lines)
    cells = f"{mean:.1f}", f"{routed:.0%}", f"{found.estimate:.2f} [{found.low:.2f}, {found.high:.2f}]"
    assert sum(re.split(r"\s{2,}", line.strip())[1:4] == list(cells) for line in out.splitlines()) == 1


@pytest.mark.parametrize("judge", JUDGES)
def test_picks_are_worth_what_the_audit_says(demo, judge):
    """The mean label of a judge's picks is its audited value, but for how its ties at the top happened to fall."""
    folder, out = demo
    lines = winners(folder, judge)
    made = [LABELS[line["prompt_id"], line["best"]] for line in lines]
    tied = [
        [LABELS[line["prompt_id"], name] for name in line["tied"]] or [value]
        for line, value in zip(lines, made, strict=True)
    ]
    lowest, highest = fmean(map(min, tied)), fmean(map(max, tied))
    value = strict((folder / "audit.json").read_text("utf-8"))["judges"][judge]["metrics"]["value_judge"]["estimate"]
    # The audit reads labels to nine decimals, and a label may be a third.
    assert value == pytest.approx(fmean(map(fmean, tied)), abs=1e-9)
    assert lowest - 1e-12 <= fmean(made) <= highest + 1e-12
    if lowest == highest:
        assert fmean(made) == pytest.approx(value, abs=1e-9)
    assert row_of(out, judge)[-2] == f"{fmean(made):.3f}"


def test_some_judge_never_ties_at_the_top(demo):
    """The equality of picks and audited value is tested on at least one judge without any tie."""
    assert any(not any(line["tied"] for line in winners(demo[0], judge)) for judge in JUDGES)


@pytest.mark.parametrize("judge", JUDGES)
def test_the_table_shows_the_audit(demo, judge):
    """A judge's row shows the figures, intervals and verdict of its audit, rounded."""
    folder, out = demo
    found = strict((folder / "audit.json").read_text("utf-8"))["judges"][judge]
    cells = row_of(out, judge)
    for cell, key in ((cells[1], "global_r"), (cells[2], "within_r"), (cells[4], "recovery")):
        figure = found["metrics"][key]
        assert cell == f"{figure['estimate']:.2f} [{figure['low']:.2f}, {figure['high']:.2f}]"
    assert cells[3] == f"{found['metrics']['tie_rate']['estimate']:.2f}"
    assert cells[-1] == found["verdict"]["level"]


@pytest.fixture(scope="module")
def seeded(tmp_path_factory):
    """Return a function that runs the demo with a seed, once."""
    return functools.cache(lambda seed: run_demo(tmp_path_factory.mktemp("seeded"), seed=seed))


def test_two_judges_agree_from_afar_and_differ_in_picks(demo, seeded):
    """Equal global correlation within .03, recovery 0 and .6 within .05, in the result and in print, over seeds."""
    for seed in (0, 1, 2):
        flat, sharp = seeded(seed).paradox.judges.values()
        assert flat.metrics["global_r"].estimate == pytest.approx(sharp.metrics["global_r"].estimate, abs=0.03)
        assert flat.metrics["recovery"].estimate == pytest.approx(0.0, abs=0.05)
        assert sharp.metrics["recovery"].estimate == pytest.approx(0.6, abs=0.05)
    printed = {name: row_of(demo[1], name) for name in ("flat", "sharp")}
    figures = {name: [float(cell.split()[0]) for cell in cells[1:4]] for name, cells in printed.items()}
    assert figures["flat"][0] == pytest.approx(figures["sharp"][0], abs=0.03)
    assert figures["flat"][2] == pytest.approx(0.0, abs=0.05)
    assert figures["sharp"][2] == pytest.approx(0.6, abs=0.05)
    assert (printed["flat"][-1], printed["sharp"][-1]) == ("weak", "useful")


class Checker:
    """A judge that cheats: it scores by the checks, or against them."""

    version = "1"

    def __init__(self, name, sign):
        self.name, self.sign = name, sign

    def judge(self, prompt, candidates):
        """Look the answers up among the tasks."""
        task = next(task for task in load_tasks() if task.pool.prompt == prompt)
        known = {candidate.text: label(task, candidate) for candidate in task.pool.candidates}
        return [Score(self.sign * known[text]) for text in candidates]


def test_what_is_printed_follows_from_the_judges(capsys, tmp_path, monkeypatch):
    """Judges that are the checker, and its opposite, are printed as perfect and as harmful, in table and sentence."""
    made = {"checker": Checker("the checker", 1), "contrary": Checker("contrary", -1)}
    monkeypatch.setattr("bonwise.demo.run.NAMES", tuple(made))
    monkeypatch.setattr("bonwise.demo.run.from_name", made.get)
    done = typed(capsys, "demo", "--full", "--out", tmp_path / "d")
    assert done.code == 0
    checker, contrary, best = (row_of(done.out, name) for name in ("the checker", "contrary", "(best pick)"))
    # A correlation of exactly 1 has no interval; recovery, an average over prompts, has a bound.
    assert checker[1] == "1.00"
    assert checker[4].startswith("1.00 [")
    assert checker[-2] == best[-1]
    assert checker[-1] == "useful"
    assert contrary[4].startswith("-")
    assert contrary[-1] == "harmful"
    sentence = " ".join(done.out.split())
    assert "Better than a random pick: the checker; worse: contrary; useful for best of n: the checker." in sentence


def test_nothing_better_is_said_where_nothing_is(capsys, tmp_path, monkeypatch):
    """With a single contrary judge the sentence says that none is better and none useful."""
    monkeypatch.setattr("bonwise.demo.run.NAMES", ("contrary",))
    monkeypatch.setattr("bonwise.demo.run.from_name", lambda _: Checker("contrary", -1))
    sentence = " ".join(typed(capsys, "demo", "--full", "--out", tmp_path / "d").out.split())
    assert "Better than a random pick: none; worse: contrary; useful for best of n: none." in sentence


def test_the_same_seed_gives_the_same_files(demo, seeded, tmp_path, capsys):
    """Two runs of a seed write the same bytes; another seed breaks ties otherwise."""
    again = tmp_path / "again"
    typed(capsys, "demo", "--full", "--out", again)
    for file in demo[0].iterdir():
        if file.name not in {"audit.json", "audit.html"}:  # they name the folder
            assert (again / file.name).read_bytes() == file.read_bytes(), file.name
    documents = [json.loads((folder / "audit.json").read_text()) for folder in (demo[0], again)]
    assert documents[0]["judges"] == documents[1]["judges"]
    pages = [(one / "audit.html").read_text("utf-8").replace("<wbr>", "") for one in (demo[0], again)]
    assert pages[0].replace("bonwise-demo/", "") == pages[1].replace(f"{again}/", "")
    picks = "winners-local-format.jsonl"
    assert (seeded(2).folder / picks).read_bytes() != (demo[0] / picks).read_bytes()


def next_commands(out):
    """Return the words of each command that the demo prints."""
    return [shlex.split(line) for line in out.splitlines() if line.startswith("  bonwise ")]


@pytest.fixture
def again(demo, tmp_path, monkeypatch):
    """Work beside a copy of the demo's folder, and return it with what the demo printed."""
    monkeypatch.chdir(tmp_path)
    return shutil.copytree(demo[0], tmp_path / "bonwise-demo"), demo[1]


@pytest.fixture
def hostile(tmp_path, monkeypatch, capsys):
    """Run the demo into a new folder whose name a shell would run, and return it with what the demo printed."""
    monkeypatch.chdir(tmp_path)
    name = "my demo; $(touch owned)/deeper"
    return tmp_path / name, typed(capsys, "demo", "--full", "--out", name).out


@pytest.mark.parametrize("place", ["again", "hostile"])
def test_the_printed_commands_run(capsys, request, place):
    """Each command that the demo prints, typed as it stands, does what it says, whatever the folder is called."""
    folder, out = request.getfixturevalue(place)
    commands = next_commands(out)
    assert [words[1] for words in commands] == ["select", "judge", "doctor", "audit", "compare", "doctor"]
    assert commands.pop() == ["bonwise", "doctor", "YOUR.csv"]
    for words in commands:
        arguments, target = (words[: words.index(">")], words[-1]) if ">" in words else (words, None)
        done = typed(capsys, *arguments[1:])
        assert done.code == 0, done.err
        if target is not None:
            assert len(done.out.splitlines()) == len(load_tasks())
            assert target == f"{folder.relative_to(Path.cwd())}/winners.jsonl"


def test_it_first_shows_what_its_page_shows(capsys, tmp_path, monkeypatch):
    """At most 22 lines hold the judges of the page, then a useful one, and lead to a file of one's own."""
    monkeypatch.chdir(tmp_path)
    name = "my demo"
    began = time.process_time()
    done = typed(capsys, "demo", "--out", name, "--seed", "3")
    taken, out = time.process_time() - began, done.out
    stated = int(re.search(r"about (\d+) seconds", done.err)[1])
    assert taken < 2 * stated
    assert f"about {stated} seconds" in Path(__file__).parents[2].joinpath("README.md").read_text("utf-8")
    assert len(out.splitlines()) <= 22
    assert out.startswith("0 of 4 simple rules on 48 bundled tasks are useful for best-of-n.\n")
    assert "1 of 2 simulated judges is useful for best-of-n: sharp.\n" in out
    rows = [re.split(r"\s{2,}", line) for line in out.splitlines() if line.endswith(("useful", "weak", "harmful"))]
    assert sorted(row[0] for row in rows[:4]) == sorted(JUDGES)
    page = (tmp_path / name / "audit.html").read_text("utf-8").replace("<wbr>", "")
    assert all(judge in page for judge in JUDGES)
    assert "<bdi>sharp</bdi>" not in page
    assert sorted(row[0] for row in rows[4:]) == ["flat", "sharp"]
    for part in (rows[:4], rows[4:]):
        recoveries = [float(row[1].split()[0]) for row in part]
        assert recoveries == sorted(recoveries, reverse=True)
    audited, everything, own_file = next_commands(out)
    assert (own_file, out.splitlines()[-1]) == (["bonwise", "doctor", "YOUR.csv"], "  bonwise doctor YOUR.csv")
    assert everything == ["bonwise", "demo", "--out", name, "--seed", "3", "--full"]
    assert typed(capsys, *audited[1:]).code == 0
    whole = typed(capsys, *everything[1:]).out
    for judge, recovery, _, level in rows:
        assert recovery in row_of(whole, judge)
        assert row_of(whole, judge)[-1] == level


def test_a_demo_may_be_run_again(capsys, demo, again):
    """A second run in the same folder writes the same files again, and says the same."""
    folder, out = again
    for file in list(folder.iterdir())[::2]:
        file.unlink()
    done = typed(capsys, "demo", "--full")
    assert (done.code, done.out) == (0, out)
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == {
        file.name: file.read_bytes() for file in demo[0].iterdir()
    }
