"""The benchmarks run and their contenders agree; what they measure is never asserted."""

from __future__ import annotations

import ast
import asyncio
import importlib.util
import inspect
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import bonwise
import bonwise as bw

AUDIT = Path(__file__).parents[1] / "benchmarks" / "audit.py"
CALLS = AUDIT.with_name("calls.py")
SELECTION = AUDIT.with_name("selection.py")
STALLS = AUDIT.with_name("loop_stalls.py")
LOAD = AUDIT.with_name("load.py")
SOAK = AUDIT.with_name("soak.py")
HOT_PATH = AUDIT.with_name("hot_path.py")
LABELS = AUDIT.with_name("labels.py")
PAGES = AUDIT.with_name("pages.py")
REQUIREMENTS = AUDIT.with_name("requirements.py")
CHANGES = AUDIT.with_name("changes_of_file.py")
GROWTH = AUDIT.with_name("growth.py")
PERFORMANCE = AUDIT.with_name("performance.py")
FACTORS = AUDIT.with_name("factors.py")
WHOLE = AUDIT.with_name("whole_audit.py")
LINES = AUDIT.with_name("lines_of_tests.py")
REAL_DATA = AUDIT.with_name("real_data.py")
CONTENDERS = [
    "bonwise, default",
    "bonwise, bootstrap, 200 resamples",
    "pandas bootstrap, 200 resamples",
    "scipy bootstrap, 200 resamples",
    "scipy bootstrap in batches, 200 resamples",
    "scipy bootstrap of all metrics, 200 resamples",
]

MOST_CHANGES = {"pick": 480, "audit": 584}
"""Of file, that a warm pick and a warm audit may take."""
MOST_TYPES = 40
"""Classes whose methods run in a warm pick."""
MOST_FUNCTION_CALLS = {"pick": 266, "first turn": 12}
"""Of Python functions: a warm pick among four by a function, and one of a crowd before it waits for its turn."""


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """Run the smoke run once: what it printed, and the document it wrote."""
    file = tmp_path_factory.mktemp("benchmarks") / "audit.json"
    done = subprocess.run(
        [sys.executable, str(AUDIT), "--quick", "--json", str(file)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, json.loads(file.read_text(encoding="utf-8"))


@pytest.fixture
def audit(monkeypatch):
    """Return the benchmark of the audit as a module."""
    return module_of(AUDIT, monkeypatch)


@pytest.fixture
def calls(monkeypatch):
    """Return the benchmark of calls as a module."""
    return module_of(CALLS, monkeypatch)


@pytest.fixture
def selection(monkeypatch):
    """Return the benchmark of selection as a module."""
    return module_of(SELECTION, monkeypatch)


def module_of(file, monkeypatch):
    """Load a benchmark; no package holds it, and it imports what lies beside it, not the tests of the same name."""
    monkeypatch.syspath_prepend(file.parent)
    for beside in file.parent.glob("*.py"):
        monkeypatch.setitem(sys.modules, beside.stem, None)
        monkeypatch.delitem(sys.modules, beside.stem)
    spec = importlib.util.spec_from_file_location(f"benchmark_of_{file.stem}", file)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module


def body_of(printed):
    """Return the rows of a printed table, without its header."""
    rows = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in printed.splitlines() if "|" in line]
    header, _, *body = rows
    assert all(len(row) == len(header) for row in body)
    return body


def test_the_table_has_one_row_a_contender(quick):
    """The table of the smoke run holds every contender once, in order."""
    printed, _ = quick
    rows = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in printed.splitlines() if "|" in line]
    header, _, *body = rows
    assert header[:2] == ["size", "what"]
    assert [row[:2] for row in body] == [["4,000 x 4", contender] for contender in CONTENDERS]
    assert all(len(row) == len(header) for row in body)


def test_the_intervals_of_all_bootstraps_agree(quick):
    """Independent draws of the same bootstrap give the same interval, whoever wrote it."""
    printed, document = quick
    agreement = document["agreement"]
    assert list(agreement["intervals"]) == CONTENDERS[1:]
    assert all(set(found) == {"within_r", "recovery"} for found in agreement["intervals"].values())
    assert agreement["agree"], agreement
    assert "They agree" in printed


def test_every_row_has_seconds_and_a_peak_above_its_base(quick):
    """What is measured exists; how large it is is no test's business."""
    _, document = quick
    for row in document["rows"]:
        assert row["seconds"] > 0
        assert row["peak_mb"] >= row["base_mb"] > 0


def test_a_contender_too_slow_at_a_size_is_scaled_or_left_out(audit):
    """A scaled time says so, and from how many resamples."""
    large = {job.contender: job for job in audit.plan((1_000_000,), 1_000, seed=0)}
    assert list(large) == ["bonwise, default", "bonwise, bootstrap", "pandas bootstrap"]
    assert large["bonwise, bootstrap"].scale == 1
    assert large["pandas bootstrap"].scale == 200
    assert audit.label(large["pandas bootstrap"]) == "pandas bootstrap, 1,000 resamples, scaled from 5"


def test_at_5000_prompts_nothing_is_scaled_or_left_out(audit):
    """The size at which intervals are compared runs everything in full."""
    jobs = list(audit.plan((5_000,), 1_000, seed=0))
    assert [job.contender for job in jobs] == list(audit.CONTENDERS)
    assert {job.resamples for job in jobs} == {1_000}


def test_ratios_are_to_the_run_of_the_same_interval(audit):
    """A bootstrap is compared with a bootstrap first, then against the default."""
    seconds = {"bonwise, default": 1.0, "bonwise, bootstrap": 2.0, "pandas bootstrap": 6.0}
    jobs = [job for job in audit.plan((5_000,), 1_000, seed=0) if job.contender in seconds]
    rows = [audit.Row(job, seconds[job.contender], 100.0, 200.0, {}) for job in jobs]
    body = audit.table(rows).splitlines()[2:]
    ratios = [[cell.strip() for cell in line.split("|")[4:6]] for line in body]
    assert ratios == [["1.0", "1.0"], ["1.0", "2.0"], ["3.0", "6.0"]]


def test_intervals_further_apart_than_the_tolerance_are_called_out(audit):
    """A disagreement is printed as one."""
    jobs = [job for job in audit.plan((5_000,), 1_000, seed=0) if job.contender != audit.DEFAULT][:2]
    rows = [audit.Row(job, 1.0, 1.0, 1.0, {"recovery": (0.1, 0.2 + 0.02 * k)}) for k, job in enumerate(jobs)]
    found = audit.agreement(rows)
    assert not found["agree"]
    assert found["furthest"] == pytest.approx(0.02)
    assert "DISAGREE" in audit.agreement_text(found)


def test_the_benchmark_of_calls_measures_every_contender(calls, tmp_path):
    """Its smoke run answers every call of every contender, in memory and from a server of its own."""
    file = tmp_path / "calls.json"
    done = subprocess.run(
        [sys.executable, str(CALLS), "--quick", "--json", str(file)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    expected = [[place, name] for place, names in calls.CONTENDERS.items() for name in names]
    assert [row[:2] for row in body_of(done.stdout)] == expected
    for row in json.loads(file.read_text(encoding="utf-8"))["rows"]:
        assert all(cost["user"] + cost["system"] > 0 and cost["wall"] > 0 for cost in row["costs"])


def test_calls_are_compared_round_by_round(calls):
    """A machine that is slow in one round is slow for all: what counts is the median of the ratios in a round."""
    create, bonwise = (calls.Job(calls.LOOPBACK, name) for name in ("create", calls.BONWISE))
    slow = [calls.Row(create, [calls.Cost(0.002, 0, 1), calls.Cost(0.02, 0, 1), calls.Cost(0.002, 0, 1)])]
    quick = calls.Row(bonwise, [calls.Cost(0.001, 0, 1), calls.Cost(0.01, 0, 1), calls.Cost(0.0005, 0.0005, 1)])
    assert [row[-1] for row in body_of(calls.table([*slow, quick]))] == ["-", "2.00 x the calls"]


def test_the_cost_on_top_of_a_raw_post_is_a_difference(calls):
    """In memory the first row is part of every other, so it is subtracted."""
    raw, bonwise = (calls.Job(calls.IN_MEMORY, name) for name in ("raw post", calls.BONWISE))
    rows = [calls.Row(raw, [calls.Cost(0.0003, 0, 1)]), calls.Row(bonwise, [calls.Cost(0.0006, 0.0001, 1)])]
    assert [row[-1] for row in body_of(calls.table(rows))] == ["-", "+0.400 ms"]


def test_the_benchmark_of_selection_measures_every_contender(selection, tmp_path, capsys):
    """Its smoke run makes every selection of every contender, with a local judge and with a model in memory."""
    file = tmp_path / "selection.json"
    selection.main(["--quick", "--json", str(file)])
    expected = [[kind, name] for kind, names in selection.CONTENDERS.items() for name in names]
    _, costs, waits = capsys.readouterr().out.split("\n\n")
    assert [row[:2] for row in body_of(costs)] == expected
    document = json.loads(file.read_text(encoding="utf-8"))
    assert all(len(row["cpu"]) == selection.QUICK_ROUNDS and min(row["cpu"]) >= 0 for row in document["rows"])
    assert [row[0].strip("`") for row in body_of(waits)] == [*selection.blocking(0)] == [*document["waits"]]


def test_the_time_of_functions_that_block_is_a_ratio_within_a_round(selection):
    """By hand: 2, 4 and 8 times as quick as the bare function of the same round."""
    table = selection.table_of_waits({"function": [1.0, 4.0, 2.0], "workers": [0.5, 1.0, 0.25]})
    assert body_of(table) == [["`function`", "2.00", "1.0"], ["`workers`", "0.50", "4.0"]]


def test_a_selection_is_held_against_the_loop_of_its_round(selection):
    """A machine that is slow in one round is slow for all: what counts are the differences within a round."""
    loop = selection.Row("local judge", "bare loop", [0.001, 0.01, 0.002])
    other = selection.Row("local judge", "bw.select", [0.002, 0.02, 0.003])
    rows = [row[2:] for row in body_of(selection.table([loop, other]))]
    assert rows == [["2.000", "-", "-"], ["3.000", "+1.000", "2.00"]]


def test_the_benchmark_of_stalls_measures_every_contender(tmp_path):
    """Its smoke run picks from every pool of every contender, with two versions of the code that take turns."""
    file, source = tmp_path / "stalls.json", Path(bonwise.__file__).parents[1]
    command = [sys.executable, str(STALLS), "--quick", "--before", str(source), "--json", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rows = json.loads(file.read_text(encoding="utf-8"))["rows"]
    judges = ["async function", "function", "model in memory", "model over loopback"]
    assert [(row["judge"], row["code"]) for row in rows] == [(one, at) for one in judges for at in ("before", "here")]
    assert [row[:2] for row in body_of(done.stdout)] == [[row["judge"], row["code"]] for row in rows]
    for row in rows:
        assert all(one["stall"] >= 0 and one["cpu"] > 0 and one["wall"] > 0 for one in row["rounds"])


def test_the_benchmark_of_load_measures_both_contenders(tmp_path):
    """Its smoke run lets clients pick from every service, under every kind of fault."""
    file = tmp_path / "load.json"
    command = [sys.executable, str(LOAD), "--seconds", "0.3", "--rounds", "1", "--json", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    runs = json.loads(file.read_text(encoding="utf-8"))
    asked = [(runs[at]["service"], runs[at]["faults"]) for at in range(0, len(runs), 2)]
    assert len(runs) == 14
    assert len(set(asked)) == 7
    assert {one["contender"] for one in runs} == {"bonwise", "AsyncOpenAI and tenacity"}
    for one in runs:
        assert 0 < one["judged"] <= one["picks"]
        assert 0 < one["p50"] <= one["p99"]


def test_the_benchmark_of_the_hot_path_measures_every_contender():
    """Its smoke run asks through the SDK, through bonwise and through aiohttp."""
    pytest.importorskip("aiohttp", reason="bonwise[fast] is not installed")
    command = [sys.executable, str(HOT_PATH), "--quick", "--at-once", "1", "8", "--latency", "0"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rows = [line.split(" | ") for line in done.stdout.splitlines()[2:]]
    assert [row[0].strip("| ") for row in rows] == ["1"] * 3 + ["8"] * 3
    assert [row[1] for row in rows[:3]] == ["create", "bonwise", "bonwise by aiohttp"]
    assert all(float(row[2]) > 0 for row in rows)


def test_the_interval_of_a_median_holds_what_it_says(monkeypatch):
    """Order statistics 4 and 12 of 15 hold the median with 96.5 %; of 5, the ends hold it with 93.8 %."""
    hot_path = module_of(HOT_PATH, monkeypatch)
    assert hot_path.median_interval(range(1, 16)) == (4, 12)
    assert hot_path.median_interval(range(1, 6)) == (1, 5)


@pytest.mark.parametrize("seconds", [15, pytest.param(60, marks=pytest.mark.slow)])
def test_a_service_that_picks_all_the_time_holds_nothing_more(seconds):
    """Tasks, sockets and files do not grow with the picks, of which there are many more than these bounds."""
    command = [sys.executable, str(SOAK), "--seconds", str(seconds)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rows = {row[0]: [float(cell) for cell in row[1:3]] for row in body_of(done.stdout)}
    assert rows["picks a second"][0] > 1
    for name in ("tasks", "sockets", "files"):
        middle, slope = rows[name]
        assert slope * seconds / 3600 < max(0.5 * middle, 5), name


def test_the_benchmark_of_factor_models_measures_stage_one(tmp_path):
    """Its smoke run fits a small set by numpy, in a process of its own."""
    file = tmp_path / "factors.json"
    command = [sys.executable, str(FACTORS), "--quick", "--backend", "numpy", "--rank", "1", "--json", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (one,) = json.loads(file.read_text(encoding="utf-8"))
    assert (one["ratings"], one["rank"], one["backend"]) == (480, 1, "numpy")
    assert min(one[name] for name in ("cpu", "wall", "peak", "steps", "loss")) > 0
    assert "480" in done.stdout


def test_the_benchmark_of_labels_measures_widths_and_cost():
    """Its smoke run gives a width to each contender that needs no other package, and a cost at each size."""
    done = subprocess.run([sys.executable, str(LABELS), "--quick"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rows = [
        [cell.strip() for cell in line.strip("| ").split(" | ")] for line in done.stdout.splitlines() if "|" in line
    ]
    widths = {row[0]: float(row[1]) for row in rows[2:4]}
    assert list(widths) == ["labels alone", "bonwise"]
    assert all(width > 0 for width in widths.values())
    assert [float(row[-1]) > 0 for row in rows[6:]] == [True]


def test_the_benchmark_of_pages_measures_every_contender():
    """Each contender has CPU seconds, a ratio and bytes."""
    command = [sys.executable, str(PAGES), "--prompts", "200", "--repeats", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    _, *rows = done.stdout.splitlines()
    assert [row.split("  ")[0] for row in rows] == ["page of an audit", "the audit", "bare drawings and table"]
    assert all(float(row[26:].split(" s ")[0]) > 0 and row.endswith("bytes") for row in rows)


def test_the_benchmark_of_a_whole_audit_measures_both_processes(tmp_path):
    """Every size has the CPU and the memory of the script and of the audit."""
    file = tmp_path / "whole.json"
    command = [sys.executable, str(WHOLE), "--rows", "80,400", "--repeats", "1", "--json", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(file.read_text(encoding="utf-8"))
    assert [one["rows"] for one in found] == [80, 400]
    assert all(one["audit_seconds"] == pytest.approx(one["ratio"] * one["script_seconds"]) for one in found)
    assert all(min(one["script_megabytes"], one["audit_megabytes"]) > 20 for one in found)


def test_the_benchmark_of_growth_measures_every_size(tmp_path):
    """Studies are measured at each number of prompts, audits at each number of judges."""
    file = tmp_path / "growth.json"
    command = [
        sys.executable,
        str(GROWTH),
        "--sizes",
        "400,800",
        "--fewer",
        "400,800",
        "--draws",
        "5",
        "--judges",
        "2,3",
        "--prompts",
        "100",
    ]
    done = subprocess.run([*command, "--json", str(file)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(file.read_text(encoding="utf-8"))
    studies = ("route", "labels compare", "study calibration", "stack fit")
    audits = [("audit", 2), ("audit", 3), ("audit with holes", 2), ("audit with holes", 3)]
    sizes = [*((study, size) for study in studies for size in (400, 800)), *audits]
    assert sorted((one["what"], one["size"]) for one in found) == sorted(sizes)
    assert all(one["seconds"] > 0 and one["ratio"] > 0 for one in found)
    assert len(done.stdout.splitlines()) == 1 + len(sizes)


def test_the_table_of_changed_labels_is_made_again():
    """Each change has what every target takes, and rounding ties more pairs; the same seed prints the same table."""
    command = [sys.executable, str(REQUIREMENTS), "--prompts", "200"]
    first, again = (subprocess.run(command, capture_output=True, text=True, check=False) for _ in range(2))
    assert first.returncode == 0, first.stderr
    assert first.stdout == again.stdout
    body = body_of(first.stdout)
    assert [row[0].split()[0] for row in body] == ["none", "spread", "one", "rounded"]
    for row in body:
        needed = [[float(figure) for figure in cell.split()] for cell in row[1:3]]
        assert all(len(one) == 4 and one == sorted(one) and 0 < one[0] < one[-1] < 1 for one in needed)
    assert int(body[0][3].rstrip("%")) < int(body[3][3].rstrip("%"))


@pytest.fixture
def performance(monkeypatch):
    """Return the benchmark of performance as a module."""
    return module_of(PERFORMANCE, monkeypatch)


def test_the_table_of_performance_is_of_ratios(performance, capsys):
    """Its smoke run of commands and picks prints a ratio and the command that measures it in each row."""
    performance.main(["--quick", "--only", "picks", "--only", "commands"])
    rows = body_of(capsys.readouterr().out)
    assert len(rows) == 8
    assert all(isinstance(float(row[2].split()[0]), float) for row in rows)
    assert {row[3] for row in rows} == {
        f"`python benchmarks/performance.py --only {part}`" for part in ("picks", "commands")
    }


def test_a_pick_by_a_function_calls_few_functions(performance):
    """Half of what it was: the count does not depend on how busy the machine is."""
    with bw.Selector(lambda _prompt, text: len(text)) as selector:
        selector.select("warm", performance.texts_of(4))
        called = performance.functions_called(lambda: selector.select("p", performance.texts_of(4)))
    assert called <= MOST_FUNCTION_CALLS["pick"]


def test_the_first_turn_of_a_crowd_is_short(performance, monkeypatch):
    """A thousand picks that begin at once do next to nothing before each waits for its turn, where nobody traces."""
    monkeypatch.delitem(sys.modules, "opentelemetry.trace", raising=False)

    async def judge(_prompt, text):
        return len(text)

    async def main():
        called = []
        async with bw.Selector(judge) as selector:
            await selector.aselect("warm", ["a", "bb"])
            tasks = [asyncio.create_task(selector.aselect(f"p{at}", ["a", "bb"])) for at in range(1_000)]
            sys.setprofile(lambda _frame, event, _argument: called.append(event))
            await asyncio.sleep(0)
            sys.setprofile(None)
            await asyncio.gather(*tasks)
        return called.count("call") / len(tasks)

    assert asyncio.run(main()) <= MOST_FUNCTION_CALLS["first turn"]


@pytest.fixture
def changes(monkeypatch):
    """Return the benchmark of changes of file as a module."""
    return module_of(CHANGES, monkeypatch)


def test_a_change_of_file_is_a_call_from_another_file_or_from_none(changes, tmp_path, monkeypatch):
    """Calls through functions of others count by who is above them; comprehensions and calls within a file do not."""
    monkeypatch.setattr(changes, "HOME", tmp_path)
    sources = {
        "a.py": "import b\ndef work():\n    return [b.one(at) for at in range(3)] + list(map(near, b.two()))\n"
        "def near(value):\n    return value\n",
        "b.py": "def one(at):\n    return at\ndef two():\n    yield one(1)\n    yield one(2)\n",
    }
    for name, source in sources.items():
        (tmp_path / name).write_text(source, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    names = {file: importlib.util.spec_from_file_location(file, tmp_path / f"{file}.py") for file in "ba"}
    modules = {file: importlib.util.module_from_spec(spec) for file, spec in names.items()}
    for file, module in modules.items():
        monkeypatch.setitem(sys.modules, file, module)
        names[file].loader.exec_module(module)
    passed = changes.passed_by(modules["a"].work)
    # Three calls of one; two is resumed until it ends, beneath `map`; near is called within its own file.
    assert dict(passed.pairs) == {("", "a.py"): 1, ("a.py", "b.py"): 6}
    assert passed.functions == {("a.py", "work"), ("a.py", "near"), ("b.py", "one"), ("b.py", "two")}


@pytest.mark.shared
def test_changes_of_file_of_a_pick_and_of_an_audit_are_counted(shared, tmp_path):
    """Both workloads run, and what they pass is counted by pair."""
    file = tmp_path / "changes.json"
    table = shared / "data" / "arena100" / "scores.csv"
    command = [sys.executable, str(CHANGES), "--table", str(table), "--pairs", "1", "--json", str(file)]
    changed = {"pick": [], "audit": []}
    types = []
    # On a busy machine answers come one by one that come together otherwise, and each wakes whoever waits for it.
    for _ in range(8):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        document = json.loads(file.read_text(encoding="utf-8"))
        types.append(document["pick"]["type_names"])
        for name, counts in changed.items():
            counts.append(document[name]["changes"])
            assert f"{name}: {document[name]['changes']} changes of file" in done.stdout
            assert sum(pair[-1] for pair in document[name]["pairs"]) == document[name]["changes"] > 0
        assert document["package"]["lines"] > 10 * document["package"]["files"] > 0
        if changed["pick"][-1] <= MOST_CHANGES["pick"] and len(types[-1]) <= MOST_TYPES:
            break
    # A reader who follows one of them changes files no more often than that, and meets no more classes.
    assert all(min(changed[name]) <= most for name, most in MOST_CHANGES.items())
    assert "calls/engine.py Engine" in types[-1]
    assert len(min(types, key=len)) <= MOST_TYPES, "\n".join(min(types, key=len))


LINED = """
import pytest
from bonwise.stats.catalog import ratio
from bonwise.stats.sums import compared

@pytest.fixture(scope="module")
def values():
    return compared(np.array([1.0, 2.0]))

def test_one(values):
    assert ratio(values, values).tolist() == [1.0, 1.0]

def test_other(values):
    assert len(values) == 2

def test_that_fails():
    assert not ratio(np.ones(2), np.ones(2)).any()
"""


def test_lines_of_the_package_are_kept_by_test(tmp_path):
    """A fixture of a module counts for every test that uses it; a test that fails is not kept."""
    pytest.importorskip("coverage", reason="benchmarks/lines_of_tests.py needs it, no test of the package does")
    (tmp_path / "test_lined.py").write_text(f"import numpy as np\n{LINED}", encoding="utf-8")
    flags = ["-q", "-p", "no:cacheprovider", "-p", LINES.stem, "--lines-of", "lines.json"]
    paths = os.pathsep.join([str(LINES.parent), *sys.path])
    command = [sys.executable, "-m", "pytest", *flags, "test_lined.py"]
    done = subprocess.run(
        command, cwd=tmp_path, env=os.environ | {"PYTHONPATH": paths}, capture_output=True, text=True, check=False
    )
    assert "1 failed, 2 passed" in done.stdout, done.stdout
    kept = json.loads((tmp_path / "lines.json").read_text(encoding="utf-8"))
    assert [name.partition("::")[2] for name in kept] == ["test_one", "test_other"]
    of_one, of_other = (test["lines"] for test in kept.values())
    assert (set(of_one), set(of_other)) == ({"stats/catalog.py", "stats/sums.py"}, {"stats/sums.py"})
    assert of_one["stats/sums.py"] == of_other["stats/sums.py"] != []
    assert all(test["seconds"] >= 0 for test in kept.values())


@pytest.fixture
def real_data(monkeypatch):
    """Return the module that audits public data."""
    return module_of(REAL_DATA, monkeypatch)


def test_the_table_of_public_data_is_that_of_the_page(real_data, shared, capsys):
    """What the command prints stands in the page, a row for each judge; no data set takes more than eight lines."""
    assert real_data.main([str(shared / "data")]) == 0
    printed = capsys.readouterr().out
    assert f"{real_data.MARKS[0]}{printed}{real_data.MARKS[1]}" in real_data.PAGE.read_text("utf-8")
    assert printed.count("\n| ") >= len(real_data.DATA) + 1
    assert all(body_lines(data.audit) <= 8 for data in real_data.DATA)


def body_lines(function):
    """Return how many lines a function has below its docstring."""
    (tree,) = ast.parse(inspect.getsource(function)).body
    return tree.end_lineno - tree.body[0].end_lineno


def test_public_data_that_is_not_there_or_another_file_has_no_row(real_data, tmp_path, capsys):
    """What is not there is said and left out; a file with another checksum is refused by its name."""
    assert real_data.main([str(tmp_path)]) == 0
    assert capsys.readouterr().err.count("is not there") == len(real_data.DATA)
    (tmp_path / "arena100").mkdir()
    (tmp_path / "arena100" / "scores.csv").write_text("prompt_id,candidate\n", encoding="utf-8")
    with pytest.raises(SystemExit, match=r"scores\.csv is another file than the page lists"):
        real_data.main([str(tmp_path)])
