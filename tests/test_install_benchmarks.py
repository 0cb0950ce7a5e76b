"""The two tables of the page on installing: made from what uv says and what is measured, and written to one place."""

from __future__ import annotations

import importlib
import itertools
import json
import sys
import zipfile
from pathlib import Path

import pytest

from bonwise.cli.entry import run

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
MODULES = ("compatibility", "installing", "marked_page", "resolutions", "uv_commands")

# What uv 0.13.9 printed.
SGLANG = """error: No solution found when resolving dependencies
  cause: Because sglang>=0.5.23 depends on openai==2.8.0 and bonwise==0.1.0 depends on openai>=2.30, we can \
conclude that bonwise==0.1.0 and sglang>=0.5.23 are incompatible.
         And because only bonwise[audit]==0.1.0 is available, we can conclude that sglang>=0.5.23 and all versions \
of bonwise[audit] are incompatible.
         And because you require sglang==0.5.23 and bonwise[audit], we can conclude that your requirements are \
unsatisfiable.
"""
GRAPHRAG = """error: No solution found when resolving dependencies
  cause: Because all versions of bonwise depend on openai>=3 and litellm==1.100.1 depends on openai>=2.20.0,<3.0.0, \
we can conclude that all versions of bonwise and litellm==1.100.1 are incompatible.
         And because graphrag-llm>=3.3.0 depends on litellm==1.100.1 and graphrag>=3.3.0 depends on \
graphrag-llm==3.3.0, we can conclude that all versions of bonwise and graphrag>=3.3.0 are incompatible.
         And because you require graphrag==3.3.0 and bonwise, we can conclude that your requirements are \
unsatisfiable.
"""
UNKNOWN = """error: No solution found when resolving dependencies
  cause: Because nobody was not found in the package registry and you require nobody, we can conclude that your \
requirements are unsatisfiable.
"""
NO_WHEEL = """error: Failed to build `sklearn==0.0.post12`
  cause: The build backend returned an error
"""
COMPILED = """agent==1.0
SQLAlchemy_Utils==0.42   # as some write it
litellm[proxy]==1.106.2
-e ./somewhere
torch==2.9.0+cpu
"""
STAND_IN = """#!{python} -IS
import json, os, sys, zipfile
words = sys.argv[1:]
if words == ["--version"]:
    print("uv 0.13.9 (recorded)")
elif words[0] == "build":
    folder = words[words.index("--out-dir") + 1]
    with zipfile.ZipFile(os.path.join(folder, "bonwise-0.1.0-py3-none-any.whl"), "w") as wheel:
        metadata = ["Name: bonwise", "Version: 0.1.0", "Requires-Dist: openai>=2.30"]
        wheel.writestr("bonwise-0.1.0.dist-info/METADATA", "\\n".join(metadata))
else:
    asked = " ".join(sys.stdin.read().split()) + (" without building" if "--no-build" in words else "")
    answer = json.load(open({answers!r}))[asked]
    if isinstance(answer, str):
        sys.exit(answer)
    print("\\n".join(answer))
"""


@pytest.fixture
def load(monkeypatch):
    """Import a benchmark as its command does, beside its siblings."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    for name in MODULES:
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield importlib.import_module
    for name in MODULES:
        sys.modules.pop(name, None)


@pytest.fixture
def compatibility(load):
    """Return the benchmark of compatibility as a module."""
    return load("compatibility")


@pytest.fixture
def uv(tmp_path):
    """Return a stand-in for uv that answers from a file of recorded answers, and a way to write that file."""
    answers = tmp_path / "answers.json"
    command = tmp_path / "uv"
    command.write_text(STAND_IN.format(python=sys.executable, answers=str(answers)), encoding="utf-8")
    command.chmod(0o755)

    def record(**hosts):
        known = {"bonwise[audit]": ["openai==3.54.0", "bonwise==0.1.0"]}
        for name, answered in hosts.items():
            known |= {one.replace("HOST", name): answer for one, answer in answered.items()}
        answers.write_text(json.dumps(known), encoding="utf-8")
        return str(command)

    return record


def beside(version, *others, after=None):
    """Return the recorded answers of a host that has one version alone and others beside bonwise."""
    host = f"HOST=={version}"
    lines = ["bonwise==0.1.0", *others]
    both = {f"HOST {tier}": [host, *lines] for tier in ("bonwise", "bonwise[audit]")}
    turned = {f"{tier} HOST": [f"HOST=={after or version}", *lines] for tier in ("bonwise", "bonwise[audit]")}
    return {
        one: [line.replace("HOST", "crewai") for line in answer]
        for one, answer in {"HOST": [host, "openai==3.54.0"], **both, **turned}.items()
    }


def rows_of(printed):
    """Return the rows of a printed table, without its header."""
    lines = [line for line in printed.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def test_versions_are_read_by_normalized_name(load):
    """Extras, comments and editable lines do not hide a version."""
    found = load("resolutions").read_versions(COMPILED)
    assert found == {"agent": "1.0", "sqlalchemy-utils": "0.42", "litellm": "1.106.2", "torch": "2.9.0+cpu"}


def test_versions_sort_by_age(load):
    """Development, alpha, beta and candidate versions come before the version, post versions after it."""
    key = load("resolutions").version_key
    ordered = [
        "0.9",
        "0.10.dev1",
        "0.10a2",
        "0.10b1",
        "0.10rc1.dev3",
        "0.10rc1",
        "0.10",
        "0.10.post1",
        "0.11",
        "1!0.1",
    ]
    assert all(key(one) < key(other) for one, other in itertools.pairwise(ordered))
    assert key("2.0") == key("2.0.0") == key("2.0+cpu")
    with pytest.raises(ValueError, match="'latest' is not a version"):
        key("latest")


def test_only_what_gets_older_is_lowered(load):
    """What is newer beside, gone, or the host itself is not named."""
    alone = {"host": "2.0", "up": "1.0", "down": "1.10", "gone": "1.0", "even": "1.0"}
    found = load("resolutions").lowered(
        alone, {"host": "1.0", "up": "1.1", "down": "1.9", "even": "1.0"}, but=["host"]
    )
    assert found == {"down": ("1.10", "1.9")}


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (SGLANG, ["sglang>=0.5.23 needs openai==2.8.0, bonwise needs openai>=2.30"]),
        (GRAPHRAG, ["litellm==1.100.1 needs openai>=2.20.0,<3.0.0, bonwise needs openai>=3"]),
        (UNKNOWN, []),
    ],
)
def test_the_pin_is_named_that_excludes_bonwise(load, message, expected):
    """The explanation of uv holds both requirements, of the package or of one that it needs."""
    assert load("resolutions").pins(message, "bonwise") == expected


def test_a_table_replaces_only_what_stands_between_its_markers(load, tmp_path):
    """Every byte outside stays, line ends included, and writing twice is writing once."""
    page = tmp_path / "page.md"
    before, after = "# Ünlike\r\n\ntext <!-- other: start -->\n", "\n\nlast line without an end"
    page.write_bytes(f"{before}<!-- sizes: start -->\nold\n<!-- sizes: end -->{after}".encode())
    write = load("marked_page").write_between
    for content in ("new", "| newer |", "| newer |"):
        write(page, "sizes", content)
    expected = f"{before}<!-- sizes: start -->\n| newer |\n<!-- sizes: end -->{after}"
    assert page.read_bytes().decode() == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<!-- sizes: start -->",
        "<!-- sizes: end --> <!-- sizes: start -->",
        "<!-- sizes: start --> <!-- sizes: start --> <!-- sizes: end -->",
    ],
)
def test_a_page_without_one_place_for_the_table_is_refused(load, text):
    """A missing, doubled or turned marker is an error, not a guess."""
    module = load("marked_page")
    with pytest.raises(module.MarkerError, match="sizes"):
        module.replaced(text, "sizes", "table")


def test_columns_of_a_table_line_up(load):
    """Each cell is as wide as the widest of its column."""
    printed = load("marked_page").markdown_table(["a", "bb"], [["ccc", "d"]])
    assert printed.splitlines() == ["| a   | bb |", "| --- | -- |", "| ccc | d  |"]


def test_a_wheel_says_what_its_users_need(load, tmp_path):
    """The extras of developers are not counted."""
    lines = ["openai>=2.30", "scikit-learn>=1.5; extra == 'audit'", "pytest[x]>=8; extra == 'test'"]
    metadata = "Name: bonwise\nVersion: 1.2\n" + "".join(f"Requires-Dist: {line}\n" for line in lines)
    with zipfile.ZipFile(tmp_path / "bonwise-1.2-py3-none-any.whl", "w") as wheel:
        wheel.writestr("bonwise-1.2.dist-info/METADATA", metadata)
    found = load("uv_commands").read_wheel(tmp_path / "bonwise-1.2-py3-none-any.whl")
    assert (found.version, found.needs) == ("1.2", ("openai", "scikit-learn"))


def test_a_package_that_keeps_its_version_passes(compatibility, uv, capsys):
    """Its row says so, and names what bonwise gets older there."""
    command = uv(crewai=beside("1.15.30", "openai==2.54.0"))
    assert compatibility.main(["--uv", command, "--only", "crewai"]) == 0
    (row,) = rows_of(capsys.readouterr().out)
    assert row == ["crewai", "1.15.30", "same", "same", "openai 2.54.0", "openai 2.54.0, alone 3.54.0"]


def test_a_package_that_gets_older_in_one_order_fails(compatibility, uv, capsys):
    """The row says which order, and what to type; the exit code is 1."""
    answers = beside("1.15.30", "openai==3.54.0", after="0.1")
    answers |= {f"HOST==1.15.30 {tier}": ["crewai==1.15.30"] for tier in ("bonwise", "bonwise[audit]")}
    assert compatibility.main(["--uv", uv(crewai=answers), "--only", "crewai"]) == 1
    printed = capsys.readouterr()
    (row,) = rows_of(printed.out)
    assert row[2] == "same; 0.1 if bonwise is named first"
    assert row[-1] == "name it before bonwise, or ask for `crewai==1.15.30`"
    assert "crewai does not get the version that it gets alone" in printed.err


def test_a_package_that_bonwise_excludes_is_named_with_the_pin(compatibility, uv, capsys):
    """Where a package may get older, its row says why, and the exit code stays 0."""
    answers = {"HOST": ["sglang==0.5.23"]}
    for tier in ("bonwise", "bonwise[audit]"):
        answers |= {f"HOST {tier}": ["sglang==0.5.2"], f"{tier} HOST": SGLANG, f"HOST==0.5.23 {tier}": SGLANG}
    assert compatibility.main(["--uv", uv(sglang=answers), "--only", "sglang"]) == 0
    (row,) = rows_of(capsys.readouterr().out)
    assert row[2:4] == ["0.5.2; no solution if bonwise is named first"] * 2
    assert row[-1] == "sglang>=0.5.23 needs openai==2.8.0, bonwise needs openai>=2.30"


def test_another_release_of_bonwise_is_no_solution(compatibility, uv, capsys):
    """An older bonwise from the index would keep a package new: that is not this checkout."""
    answers = beside("1.15.30", "openai==3.54.0")
    older = ["crewai==1.15.30", "bonwise==0.0.1"]
    answers |= {"HOST bonwise": older, "HOST==1.15.30 bonwise": older}
    assert compatibility.main(["--uv", uv(crewai=answers), "--only", "crewai"]) == 1
    (row,) = rows_of(capsys.readouterr().out)
    assert row[2] == "no solution; same if bonwise is named first"
    assert row[-1] == "uv takes bonwise 0.0.1 from the package index, not this checkout"


def test_what_cannot_be_built_is_resolved_without_building(compatibility, uv, capsys):
    """Like is compared with like, and the row says how."""
    answers = {f"{asked} without building": answer for asked, answer in beside("1.0", "openai==3.54.0").items()}
    assert compatibility.main(["--uv", uv(crewai={"HOST": NO_WHEEL, **answers}), "--only", "crewai"]) == 0
    (row,) = rows_of(capsys.readouterr().out)
    assert row[2:] == ["same", "same", "", "resolved without building source distributions"]


def test_a_package_without_a_solution_alone_fails(compatibility, uv, capsys):
    """What cannot be compared does not pass."""
    assert compatibility.main(["--uv", uv(crewai={"HOST": UNKNOWN}), "--only", "crewai"]) == 1
    (row,) = rows_of(capsys.readouterr().out)
    assert row[1:4] == ["no solution", "-", "-"]
    assert row[-1].startswith("no solution alone: Because nobody was not found")


def test_a_failure_of_uv_is_no_verdict(compatibility, uv, capsys):
    """A network that is down says nothing about versions: exit code 2, and no table."""
    command = uv(crewai={"HOST": "error: Request failed after 3 retries"})
    assert compatibility.main(["--uv", command, "--only", "crewai"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "Request failed after 3 retries" in printed.err


def test_both_lists_are_written_into_the_page(compatibility, uv, tmp_path, capsys, monkeypatch):
    """The page holds what was printed, one row per package."""
    names = ["crewai", "dspy", "trl"]
    monkeypatch.setattr(compatibility, "MUST_HOLD", tuple(names[:2]))
    monkeypatch.setattr(compatibility, "ALSO", tuple(names[2:]))
    answers = {
        name: {
            asked: [line.replace("crewai", name) for line in answer]
            for asked, answer in beside("1.0", "openai==3.54.0").items()
        }
        for name in names
    }
    page = tmp_path / "install.md"
    page.write_text("<!-- compatibility: start -->\n<!-- compatibility: end -->\n", encoding="utf-8")
    assert compatibility.main(["--uv", uv(**answers), "--write", str(page)]) == 0
    printed = capsys.readouterr().out
    assert [row[0] for row in rows_of(printed)] == names
    assert printed.strip() in page.read_text("utf-8")


@pytest.mark.parametrize("name", ["compatibility", "installing"])
def test_a_missing_uv_is_one_line_to_type(load, name, capsys):
    """The message says how to get it."""
    with pytest.raises(SystemExit, match="2"):
        load(name).main(["--uv", "no-such-uv"])
    assert "no-such-uv was not found: type `pip install uv`" in capsys.readouterr().err


def test_one_package_does_not_replace_the_table(compatibility, tmp_path, capsys):
    """A table of one row would take all others away."""
    with pytest.raises(SystemExit, match="2"):
        compatibility.main(["--only", "crewai", "--write", str(tmp_path / "page.md")])
    assert "--write replaces the whole table" in capsys.readouterr().err


def test_what_is_measured_are_commands_that_work(load, tmp_path, monkeypatch, capsys):
    """The files suit the commands: all rows are audited, and every pool gets a pick."""
    module = load("installing")
    module.write_data(tmp_path)
    monkeypatch.chdir(tmp_path)
    commands = [
        words[1:] for words in module.TASKS.values() if words[0] == "bonwise" and words[1] in {"audit", "select"}
    ]
    assert sorted(words[0] for words in commands) == ["audit", "select"]
    printed = {}
    for words in commands:
        assert run(list(words)) == 0
        printed[words[0]] = capsys.readouterr().out
    assert "100 prompts x 4 candidates, 400 rows" in printed["audit"]
    assert len(printed["select"].splitlines()) == 100


def test_cpu_seconds_are_those_of_the_process(load, tmp_path):
    """Waiting costs nothing, work does; a command that fails is not measured."""
    module = load("installing")
    spin = "import time\nwhile time.process_time() < 0.2: pass"
    assert module.cpu_seconds([sys.executable, "-c", spin], tmp_path, 1) >= 0.2
    assert module.cpu_seconds([sys.executable, "-ISc", "import time; time.sleep(1)"], tmp_path, 1) < 0.5
    with pytest.raises(module.MeasurementError, match="ended with 3: no reason"):
        module.cpu_seconds(
            [sys.executable, "-c", "import sys; print('no reason', file=sys.stderr); sys.exit(3)"], tmp_path, 1
        )


def test_a_folder_weighs_what_du_says(load, tmp_path):
    """Megabytes are rounded up."""
    (tmp_path / "file").write_bytes(b"x" * 2_500_000)
    assert load("installing").megabytes(tmp_path) == 3


def test_a_package_is_as_large_as_it_and_its_libraries(load, tmp_path):
    """Folders of one name count together; what is small, and single files, are not named."""
    for name, size in {"big": 20, "big.libs": 8, "other": 24, "small": 3}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "data").write_bytes(b"x" * size * 2**20)
    (tmp_path / "file.py").write_bytes(b"x" * 30 * 2**20)
    sizes = load("installing").largest(tmp_path)
    assert list(sizes) == ["big", "other"]
    assert sizes == pytest.approx({"big": 29, "other": 25}, abs=2)


def test_the_table_of_sizes_has_a_column_for_each_installation(load):
    """What an installation cannot do has no time."""
    module = load("installing")
    names = list(module.TASKS)
    small = module.Measured({"a": "1"}, 1, 2, {}, dict.fromkeys(names[:-1], 0.25))
    large = module.Measured({"a": "1", "b": "2"}, 3, 4, {"b": 3}, dict.fromkeys(names, 0.5))
    assert module.largest_of(large) == "Of the 4 MB: b 3 MB, all others 1 MB."
    rows = rows_of(module.table([small, large]))
    assert [row[1:] for row in rows[:3]] == [["1", "2"], ["1 MB", "3 MB"], ["2 MB", "4 MB"]]
    assert [row[1:] for row in rows[3:]] == [["0.25 s", "0.50 s"]] * (len(names) - 1) + [["-", "0.50 s"]]
