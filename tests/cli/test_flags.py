"""Options are declared once, with the words and defaults of the functions; help; dry runs."""

from __future__ import annotations

import json
import math
import random
import re
import shlex
import time
from contextlib import suppress
from dataclasses import fields
from inspect import Parameter, signature
from pathlib import Path

import pytest
import typer
from pyarrow import parquet
from typer.testing import CliRunner

import bonwise as bw
from bonwise.calls.settings import CallSettings
from bonwise.cli import arguments as given
from bonwise.cli import dry_run as large_pools
from bonwise.cli.app import app_for, examples
from bonwise.cli.judge import judge
from bonwise.cli.model_flags import ModelFlags, PoolModelFlags
from bonwise.cli.select import select
from bonwise.cli.shared_flags import Reading, option_flags, shared_flags
from bonwise.flags import options_of
from bonwise.judges import ask_forms
from bonwise.selection.learning import learn
from bonwise.selection.settings import Engines
from bonwise.table import reading_options
from bonwise.table.checks import CONFIDENCE, SEED
from bonwise.table.reading_options import ReadingOptions, keywords_of
from bonwise.table.roles import COLUMN_FLAGS
from bonwise.testing import Faults, simulate, simulate_ratings
from cli.commands import every_command, pool_file, rows_of, strict, typed, written
from cli.served import served
from docs.pages import blocks

# What ``--help`` lists is whole sentences, also in a narrow terminal.


@pytest.mark.parametrize("group", [["labels"], ["study"], ["prompts"], ["ledger"]])
def test_commands_are_listed_with_whole_sentences(group):
    """At 80 columns no sentence is cut, and each ends with a full stop."""
    shown = CliRunner().invoke(app_for(group), [*group, "--help"], env={"COLUMNS": "80"})
    assert shown.exit_code == 0
    listed = shown.output.partition("Commands:\n")[2].strip("\n").split("\n")
    assert len(listed) > 1
    assert [line for line in listed if "..." in line or not line.endswith(".")] == []


LOOKED_UP = ["judges", "strategies", "prompts", "schema", "ledger"]


def test_five_commands_are_in_front(capsys, monkeypatch):
    """One screen of 40 lines at 80 columns: where to start, the rest by job, what is only looked up."""
    monkeypatch.setenv("COLUMNS", "80")
    lines = typed(capsys, "--help").out.splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 80
    listed, heading = {}, ""
    for line in lines:
        if re.fullmatch(r"[A-Z].*:", line):
            heading = line.removesuffix(":")
        elif heading and line.startswith("  "):
            listed.setdefault(heading, []).append(line.split()[0])
            assert line.endswith("."), line
    assert list(listed) == ["Start here", "Judge", "Label", "Study", "Fuse", "Run", "Look up"]
    assert listed["Start here"] == ["demo", "doctor", "audit", "select", "route"]
    assert listed["Look up"] == LOOKED_UP
    named = [name for names in listed.values() for name in names]
    assert sorted(named) == sorted({name.partition(" ")[0] for name in COMMANDS})


def clicked(name):
    """Return a command as click has it, by what is typed."""
    words = name.split()
    command = typer.main.get_command(app_for(words))
    for word in words:
        command = command.commands[word]
    return command


def flags_in(text):
    """Return the flags that a help lists."""
    return [line.split()[0] for line in text.splitlines() if re.match(r"  --[a-z0-9-]+( |$)", line)]


def test_help_in_short_is_short(capsys):
    """Of many flags at most 14 are shown, under headings, with two examples; --help-all shows every flag."""
    for name in COMMANDS:
        command = clicked(name)
        flags = {flag for option in command.options for flag in option.opts}
        shown, whole = (typed(capsys, *name.split(), flag).out for flag in ("--help", "--help-all"))
        assert set(flags_in(whole)) - {"--help"} == flags, name
        assert len(flags_in(shown)) <= 15, name
        if len(flags) > 14:
            assert len(flags_in(shown)) <= 14, name
            assert len(examples(f"bonwise {name}")) >= 2, name
            assert all(line in shown for line in examples(f"bonwise {name}"))
            assert f"{len(command.rare)} more flags: bonwise {name} --help-all" in shown
        else:
            assert set(flags_in(shown)) == {*flags, "--help"}, name


def test_examples_can_be_typed(tmp_path, monkeypatch):
    """Each example of the help is of a command, and has flags and values that it takes."""
    monkeypatch.chdir(tmp_path)
    for name in COMMANDS:
        for line in examples(f"bonwise {name}"):
            words = shlex.split(line.partition(" > ")[0])[1:]
            clicked(name).make_context(name, words[len(name.split()) :])


WITHOUT_RESULT = {
    *("demo", "judge", "select", "serve", "mcp", "judges", "strategies", "schema"),
    *("prompts list", "prompts show", "prompts check"),
    *("ledger show", "ledger export", "ledger check", "ledger repair", "ledger prune", "ledger forget"),
}
"""Commands that make no document: they write files, lines of picks, or lists."""


def test_every_result_goes_everywhere():
    """A command with a result writes it as page, Markdown, table and JSON, by flags that are declared once."""
    forms = {"html": given.HtmlTarget, "markdown": given.MarkdownTarget, "json": given.JsonTarget}
    for name in COMMANDS.keys() - WITHOUT_RESULT:
        shown = signature(COMMANDS[name]).parameters
        assert {*forms, "out", "force"} <= shown.keys(), name
        for form, declared in forms.items():
            assert shown[form].annotation.__metadata__[0].help == declared.__metadata__[0].help, (name, form)
        out = shown["out"].annotation.__metadata__[0].help
        assert out == given.TableTarget.__metadata__[0].help or name == "labels draw"
    assert all("json" not in signature(COMMANDS[name]).parameters for name in WITHOUT_RESULT)


@pytest.mark.parametrize(
    "command", ["audit s.csv", "study draws d.csv", "plan --question recovery>0 --candidates 4 --within-r 0.3"]
)
def test_one_result_in_every_form(capsys, tmp_path, monkeypatch, command):
    """Page, Markdown, JSON and three kinds of table are written, and the tables agree."""
    monkeypatch.chdir(tmp_path)
    simulate("arena", n=40, seed=1).frame().to_csv("s.csv", index=False)
    simulate("pilot", n=40, seed=2).frame().to_csv("d.csv", index=False)
    read = {
        "csv": lambda: [list(row) for row in rows_of("t.csv")],
        "jsonl": lambda: [list(json.loads(line)) for line in Path("t.jsonl").read_text("utf-8").splitlines()],
        "parquet": lambda: [list(row) for row in parquet.read_table("t.parquet").to_pylist()],
    }
    for ending in [*read, *read]:  # what it wrote it replaces
        forms = ("--html", "p.html", "--markdown", "m.md", "--json", "j.json", "--out", f"t.{ending}")
        assert typed(capsys, *command.split(), *forms).code in (0, 3)
    frame = bw.load("j.json").to_frame()
    named = ["schema", *(name for name in frame.columns if name != "schema")]
    assert [read[ending]() for ending in read] == [[named] * len(frame)] * 3
    assert Path("p.html").read_text("utf-8").startswith("<!DOCTYPE html>")
    assert Path("m.md").read_text("utf-8").endswith(bw.load("j.json").to_markdown())
    refused = typed(capsys, *command.split(), "--out", "t.txt")
    assert (refused.code, ".csv, .jsonl, .parquet" in refused.err) == (2, True)
    both = typed(capsys, *command.split(), "--json", "-", "--markdown", "-")
    assert (both.code, "both take standard output" in both.err) == (2, True)


# Flags that are rarely typed may stand in a file, under the keywords of Python.


@pytest.fixture
def scores(tmp_path, monkeypatch):
    """Work beside a table of scores."""
    monkeypatch.chdir(tmp_path)
    simulate("arena", n=60, seed=1).frame().rename(columns={"judge_score": "mark"}).to_csv("s.csv", index=False)
    return tmp_path


SETTINGS_FILE = """
exclude = ["c0"]
confidence = 0.9
thresholds = {recovery_useful = "60%"}
shape = "ragged"
columns = {judge_score = "mark"}
judge_scale = [0, 1]
fail_under = {recovery = 0.3}
"""


def test_the_file_of_settings_in_the_docs_is_one(capsys, scores):
    """As the page shows it, for a table with those columns."""
    Path("audit.toml").write_text(blocks("docs/ci.md", "toml")[0], "utf-8")
    rows = [
        {**row, "rating": 1 + 4 * float(row["mark"]), "candidate": f"x{row['candidate']}"} for row in rows_of("s.csv")
    ]
    done = typed(
        capsys, "audit", written("s.csv", rows), "--exclude", "xc0", "--settings", "audit.toml", "--json", "-"
    )
    assert done.code in (0, 1, 3), done.err
    assert [gate["metric"] for gate in strict(done.out)["gates"]] == ["recovery", "within_r"]


def test_settings_may_stand_in_a_file(capsys, scores):
    """What a file says is what the flags say, and what is typed wins."""
    Path("audit.toml").write_text(SETTINGS_FILE, "utf-8")
    flags = ("--exclude", "c0", "--threshold", "recovery_useful=0.6", "--ragged", "--score-col", "mark")
    flags += ("--judge-scale", "0:1", "--fail-under", "recovery=30%")
    by_file = typed(capsys, "audit", "s.csv", "--settings", "audit.toml", "--json", "-")
    assert strict(by_file.out) == strict(
        typed(capsys, "audit", "s.csv", *flags, "--confidence", "0.9", "--json", "-").out
    )
    won = typed(capsys, "audit", "s.csv", "--settings", "audit.toml", "--confidence", "0.8", "--json", "-")
    assert strict(won.out)["settings"]["confidence"] == 0.8
    assert strict(won.out)["settings"]["exclude"] == ["c0"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("treshold = 1", ("no setting 'treshold'", "the nearest is thresholds")),
        ("ragged = true", ("no setting 'ragged'", "the nearest is")),
        ("source = 's.csv'", ("no setting 'source'",)),
        ("shape = 'square'", ("shape has no 'square'", "rectangular, ragged")),
        ("columns = {score = 'mark'}", ("columns has no 'score'",)),
        ("columns = 'mark'", ("columns has no 'mark'",)),
        ("resamples = 0.5", ("--resamples",)),
        ("confidence = 'high'", ("--confidence",)),
        ("exclude = [", ("settings.toml is not TOML",)),
    ],
)
def test_a_file_of_settings_that_means_nothing(capsys, scores, text, words):
    """One line names the file or the flag, and what to write."""
    Path("settings.toml").write_text(text, "utf-8")
    done = typed(capsys, "audit", "s.csv", "--settings", "settings.toml")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert all(word in done.err for word in words), done.err


@pytest.mark.parametrize(
    ("gate", "message"),
    [
        ("recovery=50", "recovery is at most 1: write 0.5 or 50%"),
        ("within_r=30", "within_r is at most 1: write 0.3 or 30%"),
        ("hit_rate=500", "hit_rate is at most 1: 500 is never exceeded"),
        ("recovery=%", "--fail-under takes NAME=NUMBER, not 'recovery=%' (such as --fail-under recovery=0.2)"),
        ("recovery=1e999%", "--fail-under takes NAME=NUMBER"),
    ],
)
def test_a_gate_that_nothing_exceeds_is_refused(capsys, scores, gate, message):
    """A percentage that was written as a number is told how it is written."""
    done = typed(capsys, "audit", "s.csv", "--score-col", "mark", "--fail-under", gate)
    assert (done.code, message in done.err) == (2, True), done.err


def test_shares_may_be_percentages(capsys, scores):
    """Typed as 25% or as 0.25 they are the same; what is no share is refused in one line."""
    table = ("s.csv", "--score-col", "mark", "--json", "-")
    for command, flag, part, percentage in (
        (("audit",), "--fail-under", "recovery=0.1", "recovery=10%"),
        (("route",), "--share", "0.3", "30%"),
        (("study", "requirements"), "--target", "0.6", "60%"),
    ):
        both = [typed(capsys, *command, *table, flag, value) for value in (part, percentage)]
        assert strict(both[0].out) == strict(both[1].out), command
    for command, flag in ((("route",), "--share"), (("study", "requirements"), "--target")):
        done = typed(capsys, *command, *table[:3], flag, "half")
        assert (done.code, done.err) == (2, "bonwise: 'half' is not a share (write 0.25 or 25%)\n")
    frame = simulate("arena", n=40, seed=1).frame()
    with pytest.raises(bw.errors.UsageError, match=r"recovery is at most 1: write 0\.5 or 50%"):
        bw.audit(frame).check({"recovery": 50})
    assert bw.audit(frame).check({"gain": 2}).gates


# Flags that ask models are declared once, with the defaults of the library.


SETTINGS = ("max_concurrency", "max_calls", "max_tokens", "max_cost", "deadline", "attempts", "reask")


def shown_by(flags):
    """Return the flags that a command has in the place of a parameter, with their defaults."""

    def command(asking) -> int:
        """Do nothing."""

    command.__annotations__["asking"] = flags
    return {name: one.default for name, one in signature(shared_flags()(command)).parameters.items()}


@pytest.mark.parametrize(
    ("command", "flags"), [(judge, ModelFlags), (select, PoolModelFlags)], ids=["judge", "select"]
)
def test_both_commands_have_every_flag_with_its_default(command, flags):
    """One declaration makes the flags of both commands."""
    shown, expected = signature(command).parameters, shown_by(flags)
    assert {name: shown[name].default for name in expected} == expected
    assert expected.keys() == shown_by(ModelFlags).keys() >= {*SETTINGS, "run", "transport", "seed", "dry_run"}


@pytest.mark.parametrize("name", SETTINGS)
def test_defaults_are_those_of_the_library(name):
    """A flag that is not given leaves what `bw.Selector` and `bw.judge` do by themselves."""
    selector = signature(bw.Selector).parameters[name].default
    flag = option_flags(CallSettings)[name][1]
    assert flag == selector == signature(bw.judge).parameters[name].default == options_of(CallSettings)[name].default


def test_every_setting_reaches_the_engine():
    """What is given on the command line is what an engine is made of."""
    given = {
        "max_concurrency": 3,
        "max_calls": 5,
        "max_tokens": 7,
        "max_cost": 0.5,
        "deadline": 9.0,
        "attempts": 2,
        "reask": 1,
    }
    assert set(given) == set(SETTINGS)
    made = Engines.of(**ModelFlags(engine=given).engine_settings(asks=True))
    assert {name: made.settings[name] for name in SETTINGS} == given
    assert str(made.settings["ledger"]) == "bonwise-run"
    assert Engines.of(**ModelFlags().engine_settings(asks=False)).settings["ledger"] is None


def test_the_transport_reaches_the_connection():
    """Without the flag there is none of its own, so that the library's default holds."""
    pytest.importorskip("aiohttp", reason="bonwise[fast] is not installed")
    flags = ModelFlags(engine={"max_concurrency": 3, "connection": "aiohttp"})
    connection = flags.engine_settings(asks=True)["connection"]
    assert (connection.transport, connection.connections) == ("aiohttp", 3)
    assert ModelFlags().engine_settings(asks=True)["connection"] is None


# Options are declared once: what a command has, its function has, with the same default and the same words.


OPENS = {
    "audit": bw.audit,
    "compare": bw.compare,
    "doctor": bw.doctor,
    "judge": bw.apply_stack,
    "labels compare": bw.compare_designs,
    "labels draw": bw.draw_labels,
    "monitor": bw.monitor,
    "plan": bw.plan,
    "route": bw.route,
    "stack audit": bw.audit_stack,
    "stack fit": bw.fit_stack,
    "study calibration": bw.study_calibration,
    "study candidates": bw.study_candidates,
    "study confidence": bw.audit_confidence,
    "study discretisation": bw.study_discretisation,
    "study draws": learn,
    "study label-strategy": bw.study_label_strategy,
    "study mix": bw.study_mix,
    "study readiness": bw.study_readiness,
    "study requirements": bw.study_requirements,
    "study transfer": bw.study_transfer,
    "study strategies": bw.study_strategies,
    "watch": bw.watch,
}
"""Every command that opens a table of scores or of labels, and its function."""

FLAGS = {flag.name: one.name for one in fields(ReadingOptions) for flag in one.metadata["flags"]}


COMMANDS = every_command()


def flags_of(command):
    """Return the flags of a command with their default."""
    parameters = signature(COMMANDS[command]).parameters.values()
    return {f"--{one.name.replace('_', '-')}": one.default for one in parameters if one.name != "file"}


@pytest.mark.parametrize("command", OPENS)
def test_a_command_that_opens_a_table_has_every_flag_of_its_function(command):
    """A flag that is absent is of an option that the function does not take, or the command says why it is."""
    taken = keywords_of(OPENS[command]).__annotations__
    without = COMMANDS[command].__without__
    assert all(reason for reason in without.values())
    expected = {flag for flag, option in FLAGS.items() if option in taken and flag not in without}
    own = {f"--{name}" for name, one in signature(OPENS[command]).parameters.items() if name not in taken}
    assert expected == set(flags_of(command)) & FLAGS.keys() - own


def test_other_commands_open_no_table():
    """Votes and pools have columns and labels of their own kind; ratings may stand in a table, and have its flags."""
    for command in COMMANDS.keys() - OPENS.keys() - {"factor fit", "factor study"}:
        assert not {"--score-col", "--candidate-col", "--judge-scale"} & flags_of(command).keys(), command


@pytest.mark.parametrize("command", [*OPENS, "preferences"])
def test_defaults_are_those_of_the_function(command):
    """A flag whose default is its own has the function's; one that is not given leaves it to the function."""
    function = {**OPENS, "preferences": bw.study_preferences}[command]
    known = signature(function).parameters
    for flag, default in flags_of(command).items():
        name = flag.removeprefix("--").replace("-", "_")
        if name in known and default not in (None, Parameter.empty):
            assert default == known[name].default, flag
    assert known["confidence"].default == CONFIDENCE if "confidence" in known else True
    assert known["seed"].default == SEED if "seed" in known else True


def test_a_flag_may_be_required_or_left_to_the_function():
    """A function may do without what its command requires; what is not typed is told apart from the default."""
    fit, votes = (signature(COMMANDS[name]).parameters for name in ("factor fit", "preferences"))
    assert signature(bw.fit_factors).parameters["human"].default is None
    assert fit["human"].default is Parameter.empty
    assert signature(bw.study_preferences).parameters["near_tie"].default == 0.1
    assert votes["near_tie"].default is None


def test_a_flag_of_two_functions_is_one(capsys):
    """Flags of a study of votes and of an audit of verdicts are those of one command; a wrong one is refused."""
    shown = signature(COMMANDS["preferences"]).parameters
    assert {"verdict_col", "pair_col", "ties", "context_col", "label_col"} < shown.keys()
    done = typed(capsys, "preferences", "x.csv", "--label-col", "gold", "--near-tie", "0.1")
    assert (done.code, "--near-tie is only for votes without labels" in done.err) == (2, True)


def test_flags_that_open_a_table_have_no_default_of_their_own():
    """Nothing said is no keyword, so the default is that of `ReadingOptions`, as it is in every signature."""
    assert Reading({}).keywords() == {}
    for command in OPENS:
        assert all(not default for flag, default in flags_of(command).items() if flag in FLAGS.keys() - {"--labels"})
    for function in OPENS.values():
        shown = signature(function).parameters
        for one in fields(ReadingOptions):
            if one.name in keywords_of(function).__annotations__:
                assert shown[one.name].default == one.default
                assert f"    {one.name} : " in function.__doc__


def test_keywords_are_the_options():
    """The typed keywords name every option, and each list of them says what it is for."""
    columns = {flag.name.removeprefix("--").replace("-", "_") for flag in COLUMN_FLAGS.values()}
    named = reading_options.ReadingKeywords.__annotations__.keys()
    assert named == {one.name for one in fields(ReadingOptions)} | columns
    lists = [one for name, one in vars(reading_options).items() if name.endswith("Keywords")]
    assert len(lists) > 1
    assert all(one.__doc__ and one.__annotations__.keys() <= {*FLAGS.values()} | columns for one in lists)


@pytest.mark.parametrize("function", OPENS.values(), ids=lambda one: one.__name__)
def test_a_keyword_that_does_not_exist_is_refused(function):
    """As Python refuses it: with the name of the function and of the keyword."""
    with pytest.raises(
        TypeError,
        match=rf"{function.__name__}\(\) got an unexpected keyword argument 'colums'; did you mean 'columns'",
    ):
        ReadingOptions.of(function, {"colums": {}})
    with pytest.raises(TypeError, match="unexpected keyword argument 'colums'"):
        bw.audit("absent.csv", colums={})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"columns": "score"}, "columns is 'score'"),
        ({"columns": {"score": "x"}}, "a column is named for 'score', which is not a role"),
        ({"judge_scale": "0:1"}, "judge_scale is '0:1'"),
        ({"judge_scale": {"a": 3}}, "judge_scale is 3"),
        ({"label_scale": 5}, "label_scale is 5"),
        ({"exclude": 3}, "exclude takes a name or several, not 3"),
        ({"shape": "square"}, "no shape 'square'"),
    ],
)
def test_values_that_mean_nothing(given, message):
    """One line, whichever function was called."""
    with pytest.raises(bw.errors.UsageError) as caught:
        bw.audit(simulate("arena", n=20, seed=1).frame(), **given)
    assert message in str(caught.value)


def test_what_was_said_is_read():
    """Flags become the keywords, each by its own reader."""
    said = {"--exclude": ["a"], "--ragged": True, "--score-col": "rating", "--judge-scale": ["1:5"]}
    found = Reading(said).keywords()
    assert (found["exclude"], found["shape"], found["columns"]) == (("a",), "ragged", {"judge_score": "rating"})
    assert ReadingOptions(**found).as_flags() == [
        "--score-col rating",
        "--judge-scale 1:5",
        "--exclude a",
        "--ragged",
    ]
    assert Reading(said).without("--ragged").values.keys() == said.keys() - {"--ragged"}
    assert not {"--prompt-col", "--candidate-col", "--label-col"} & reading_options.NOT_OF_LABELS.keys()
    assert reading_options.NOT_OF_LABELS.keys() >= {"--score-col", "--judge-col", "--propensity-col"}


# A pool with millions of questions: a dry run counts its calls by formula, at once, and warns.


MODEL = "openai/gpt-5-mini"
FEW = {"few": ["an answer", "another", "a third"]}


@pytest.fixture
def many(tmp_path):
    """Return the file of one pool of 20,000 candidates."""
    return pool_file(tmp_path / "many.jsonl", {"many": [f"answer {number}" for number in range(20_000)]})


@pytest.mark.parametrize("command", [("judge", "--out", "never.csv"), ("select",)])
def test_twenty_thousand_candidates_are_counted_at_once(capsys, many, command):
    """399,980,000 calls are said, with a warning that names what to do instead; nothing is asked or estimated."""
    began = time.process_time()
    done = typed(capsys, command[0], many, "--judge", f"pairwise:{MODEL}", *command[1:], "--dry-run")
    assert time.process_time() - began < 10
    assert done.code == 0
    assert f"at most {2 * math.comb(20_000, 2):,} calls by formula in 1 pool of up to 20,000 candidates" in done.out
    assert "pointwise" in done.err
    assert "warning" in done.err
    assert done.err.count("\n") == 1


def test_judges_that_ask_once_a_candidate_are_looked_at(capsys, many):
    """The formula is for questions by the million: one call per candidate is estimated as ever."""
    done = typed(capsys, "judge", many, "--judge", f"pointwise:{MODEL}", "--out", "never.csv", "--dry-run")
    assert "20,000 calls" in done.out
    assert "by formula" not in done.out + done.err


@pytest.mark.parametrize("command", ["judge", "select"])
def test_small_pools_beside_large_ones_are_estimated(capsys, tmp_path, monkeypatch, command):
    """What is not large is looked at question by question; the formula and the questions say the same number."""
    monkeypatch.setattr(large_pools, "MOST_LOOKED_AT", 6)
    file = pool_file(tmp_path / "p.jsonl", {**FEW, "more": ["a", "b", "c", "d", " "]})
    out = ["--out", "never.csv"] if command == "judge" else []
    done = typed(capsys, command, file, "--judge", f"pairwise:{MODEL}", *out, "--dry-run")
    assert "in all 6 calls" in done.out
    assert "besides, " in done.out
    assert "at most 12 calls by formula in 1 pool of up to 4 candidates" in done.out
    monkeypatch.setattr(large_pools, "MOST_LOOKED_AT", 200_000)
    done = typed(capsys, command, file, "--judge", f"pairwise:{MODEL}", *out, "--dry-run")
    assert "in all 18 calls" in done.out


def test_a_stronger_judge_counts(capsys, tmp_path, monkeypatch):
    """What a router may send to a judge of pairs belongs to the formula."""
    monkeypatch.setattr(large_pools, "MOST_LOOKED_AT", 20)
    file = pool_file(tmp_path / "p.jsonl", {"more": list("abcde")})
    strong = ("--strong", f"pairwise:{MODEL}", "--route", "margin")
    done = typed(capsys, "select", file, "--judge", f"pointwise:{MODEL}", *strong, "--dry-run")
    assert "at most 25 calls by formula" in done.out


# A dry run counts questions by the lengths of their texts, and says what writing out each of them would say.

WORDS = ["yes", "no", "naïve", "答え", "😀", "---", "long " * 30]


@pytest.fixture
def mixed(tmp_path):
    """Return a file of 40 pools of all sizes: texts that repeat, blank ones, long ones, and other scripts."""
    chance = random.Random(7)  # noqa: S311 - repeatable pools, no secret
    lines = []
    for at in range(40):
        prompt = f"Q{chance.randrange(6)} {' '.join(chance.choices(WORDS, k=2))}"
        texts = [" ".join(chance.choices(WORDS, k=chance.randrange(3))) for _ in range(chance.randrange(1, 6))]
        candidates = [{"id": str(number), "text": text} for number, text in enumerate(texts)]
        lines.append(json.dumps({"prompt_id": str(at), "prompt": prompt, "candidates": candidates}))
    file = tmp_path / "mixed.jsonl"
    file.write_text("\n".join([*lines, *(line.replace('"prompt_id": "', '"prompt_id": "r') for line in lines[:9])]))
    return file


BY_FORM = {
    "pointwise": ("judge", "--judge", f"pointwise:{MODEL}"),
    "cut": ("judge", "--judge", f"pointwise,longest=60:{MODEL}"),
    "cut pairs": ("judge", "--judge", f"pairwise,longest=60:{MODEL}"),
    "two judges": ("judge", "--judge", f"pairwise:{MODEL}", "--judge", "pointwise:anthropic/claude-opus-5"),
    "draws": ("judge", "--judge", f"resampled,draws=3,of=interval:{MODEL}"),
    "greedy": ("select", "--judge", f"pointwise:{MODEL}"),
    "round robin": ("select", "--judge", f"pairwise:{MODEL}"),
    "routed": (
        *("select", "--judge", f"interval:{MODEL}", "--strong", "pairwise:anthropic/claude-opus-5"),
        *("--route", "disagreement", "--share", "0.3", "--second", f"pointwise:{MODEL}"),
    ),
}
WRITTEN_OUT = {
    "some pairs": ("select", "--judge", f"pairwise:{MODEL}", "--strategy", "round_robin:pairs=matched"),
    "adaptive": ("select", "--judge", f"pointwise:{MODEL}", "--strategy", "adaptive:margin=0.1"),
    "one order": ("judge", "--judge", f"pairwise,orders=1:{MODEL}"),
    "the same twice": ("judge", "--judge", f"pointwise:{MODEL}", "--judge", f"quantized,of=pointwise:{MODEL}"),
    "by value": ("select", "--judge", f"pointwise:{MODEL}", "--strategy", "value_of_information:mean_calls=6"),
    "free scores": ("select", "--judge", "local:length", "--strategy", f"tie_break:of=pairwise:{MODEL}"),
}


@pytest.mark.parametrize("name", [*BY_FORM, *WRITTEN_OUT])
def test_questions_counted_by_form_are_those_written_out(capsys, mixed, monkeypatch, name):
    """Calls, repeated questions, tokens and money are the same numbers, for each kind of judge and strategy."""
    command, *flags = (BY_FORM | WRITTEN_OUT)[name]
    out = ["--out", "never.csv"] if command == "judge" else []
    counted = []
    monkeypatch.setattr(ask_forms.AskForm, "counted", observed(ask_forms.AskForm.counted, counted))
    by_form = typed(capsys, command, mixed, *flags, *out, "--dry-run", "--seed", "3")
    assert by_form.code == 0, by_form.err
    assert bool(counted) == (name in BY_FORM)
    monkeypatch.setattr(large_pools, "_forms", lambda *_: None)
    assert typed(capsys, command, mixed, *flags, *out, "--dry-run", "--seed", "3") == by_form
    assert " 0 calls" not in by_form.out
    assert "(0 of" not in by_form.out


def observed(method, calls):
    """Return a method that notes each call of it."""

    def noting(self):
        calls.append(self)
        return method(self)

    return noting


def test_questions_are_compared_in_parts(capsys, mixed, monkeypatch):
    """Where there are many, those that came last are compared with the others in parts; the numbers are the same."""
    command = ("judge", mixed, "--judge", f"pairwise:{MODEL}", "--out", "never.csv", "--dry-run")
    whole = typed(capsys, *command)
    monkeypatch.setattr(ask_forms, "_AT_ONCE", 4)
    assert typed(capsys, *command) == whole


# Every flag is typed by some test, and what it changes is looked at.


FITTED = "factor fit rated.csv --human human --rank 1 --restarts 1"
SHARES = "--splits 1 --budget 0.45 --budget 0.55 --rater-share 1"
STUDIED_FACTORS = f"factor study rated.csv --human human --rank 1 --prior 1 --restarts 1 {SHARES}"
PLANNED = "plan --candidates 4 --within-r 0.6"
STUDIED = "study label-strategy scores.csv --verdicts pairs.csv"
EFFECTS = {
    "--cluster-col": ("audit scores.csv", "grp", lambda one: one["data"]["clusters"]["clusters"], None, 12),
    "--unpicked": (
        *("audit unscored.csv", "first"),
        *(lambda one: round(60 * one["metrics"]["top1_accuracy"]["estimate"], 2), 17.75, 17.0),
    ),
    "--binning": (
        *(f"{FITTED} --prior 1 --bins 3", "equal_width"),
        *(lambda one: one["raters"][0]["categories"], ["1", "2", "3 to 5"], ["1 to 2", "3", "4 to 5"]),
    ),
    "--normalize": (FITTED, "", lambda one: one["settings"]["normalize"], False, True),
    "--rater-budget": (STUDIED_FACTORS, "0.55", *(lambda one: one["settings"]["rater_budget"], 0.45, 0.55)),
    "--r0": (f"{PLANNED} --question within_r>=r0", "0.5", lambda one: one["effect"]["r0"], None, 0.5),
    "--time": ("watch picks.jsonl --by day --first 1", "at", lambda one: len(one["data"]["periods"]), None, 2),
    "--edges": (STUDIED, "1", lambda one: one["settings"]["edges"], None, 1),
    "--gap-groups": (
        STUDIED,
        "2",
        lambda one: len(one["judges"]["judge"]["matched_pairs"]["where_pointwise_tied"]["by_gap"]),
        4,
        2,
    ),
    "--pairwise": (
        *(STUDIED.replace("pairs.csv", "two_judges.csv"), "q"),
        *(lambda one: one["settings"]["pairwise"], None, "q"),
    ),
}
"""By flag: a command, the value, what of the document it changes, and that without it and with it."""


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Write what the commands read, and go there."""
    monkeypatch.chdir(tmp_path)
    frame = simulate("arena", n=60, seed=3).frame()
    number = frame["prompt_id"].str[1:].astype(int)
    frame.assign(grp=number % 12).to_csv("scores.csv", index=False)
    frame.assign(judge_score=frame["judge_score"].where(number > 2)).to_csv("unscored.csv", index=False)
    simulate_ratings(1, prompts=40, judges=2, labelled=0.5).frame().to_csv("rated.csv", index=False)
    pick = {"ids": ["a", "b"], "best": "a", "scores": [0.7, 0.2]}
    pairs = frame.merge(frame, on="prompt_id").query("candidate_x < candidate_y")
    lead = pairs["judge_score_x"] - pairs["judge_score_y"]
    won = (lead > 0) + 0.5 * (lead == 0)
    pairs = pairs.assign(a=pairs["candidate_x"], b=pairs["candidate_y"], shown_first=won, shown_second=1 - won)
    pairs = pairs.assign(judge="p")
    pairs.to_csv("two_judges.csv", index=False)
    pairs.assign(judge="q").to_csv("two_judges.csv", index=False, header=False, mode="a")
    pairs.to_csv("pairs.csv", index=False)
    lines = [
        json.dumps({"prompt_id": f"p{day}-{at}", **pick, "at": f"2026-10-0{day}T12:00:00Z"}) + "\n"
        for day in (1, 2, 3)
        for at in range(20)
    ]
    Path("picks.jsonl").write_text("".join(lines), encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("flag", EFFECTS)
def test_a_flag_does_what_it_says(capsys, files, flag):
    """The same command without the flag and with it: what it is about differs, as it should."""
    command, value, seen, without, with_it = EFFECTS[flag]
    for arguments, expected in (((), without), ((flag, *filter(None, [value])), with_it)):
        done = typed(capsys, *command.split(), *arguments, "--json", "-")
        document = strict(done.out)
        value_seen = None
        with suppress(KeyError, TypeError):
            value_seen = seen(document)
        assert value_seen == expected, (document.get("error"), list(document))


@pytest.mark.parametrize(("command", "more"), [("select", ()), ("judge", ("--out", "scores.csv", "--force"))])
def test_attempts_are_as_many_as_asked(capsys, tmp_path, monkeypatch, command, more):
    """A server that always fails is asked so often for each of two candidates, and no more."""
    monkeypatch.chdir(tmp_path)
    pools = pool_file(tmp_path / "pools.jsonl", {"p": ["red", "blue"]})
    for attempts in (1, 3):
        with served(monkeypatch, tmp_path, faults=Faults(server_error=1.0)) as script:
            typed(capsys, command, pools, "--judge", "pointwise:openai/m", *more, "--attempts", attempts)
            assert script.counts.faults["server_error"] == 2 * attempts


def test_a_leaderboard_of_one_prompt(capsys, files):
    """Models are ranked by what the fit says of this prompt, and of no other."""
    assert typed(capsys, *FITTED.split(), "--save", "fit.json").code == 0
    whole, first, second = (
        strict(typed(capsys, "factor", "leaderboard", "fit.json", *flag, "--json", "-").out)
        for flag in ((), ("--prompt", "p0000"), ("--prompt", "p0001"))
    )
    assert [(board["scope"], board["name"]) for board in (first, second)] == [
        ("prompt", "p0000"),
        ("prompt", "p0001"),
    ]
    assert whole["prompts"] > first["prompts"] == second["prompts"] == 1
    assert first["models"] != second["models"]


def test_a_service_without_keys_stays_on_its_machine(capsys, tmp_path):
    """An address that others reach is refused before anything is opened, unless callers must show a key."""
    config = tmp_path / "serve.toml"
    config.write_text('[models.fast]\nupstream = "openai/m"\njudge = "local:length"\n', encoding="utf-8")
    done = typed(capsys, "serve", "--config", config, "--host", "0.0.0.0")  # noqa: S104 - it is refused
    assert (done.code, "0.0.0.0" in done.err) == (2, True)  # noqa: S104 - as above


NAMED_IN_TESTS = "\n".join(path.read_text("utf-8") for path in Path(__file__).parents[1].rglob("*.py"))


def options_typed(command):
    """Return the names of a command's options, as they are typed."""
    shown = typer.main.get_command(app_for(command.split()))
    for word in command.split():
        shown = shown.commands[word]
    names = [
        name for one in shown.params if one.param_type_name == "option" for name in one.opts + one.secondary_opts
    ]
    return [name for name in names if name.startswith("--") and name != "--help"]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_flag_is_typed_by_a_test(command):
    """A flag that no test types may do nothing: it belongs among the effects above, or to its feature."""
    flags = options_typed(command)
    assert flags or command in {
        "schema",
        "strategies",
        "prompts list",
        "prompts check",
        "ledger check",
        "ledger repair",
    }
    assert {flag for flag in flags if not re.search(rf"{re.escape(flag)}(?![\w-])", NAMED_IN_TESTS)} == set()
