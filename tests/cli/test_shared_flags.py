"""Options are declared once: what a command has, its function has, with the same default and the same words."""

from dataclasses import fields
from inspect import Parameter, signature

import pytest

import bonwise as bw
from bonwise.cli.shared_flags import NOT_OF_LABELS, Reading
from bonwise.table import reading_options
from bonwise.table.checks import CONFIDENCE, SEED
from bonwise.table.reading_options import ReadingOptions, keywords_of
from bonwise.table.score_table import ScoreTable
from bonwise.table.sources import convert
from bonwise.testing import simulate
from cli.commands import every_command

OPENS = {
    "audit": bw.audit,
    "compare": bw.compare,
    "confidence": bw.audit_confidence,
    "convert": convert,
    "doctor": bw.doctor,
    "labels compare": bw.compare_designs,
    "labels draw": bw.draw_labels,
    "monitor": bw.monitor,
    "plan": bw.plan,
    "route": bw.route,
    "stack apply": bw.apply_stack,
    "stack audit": bw.audit_stack,
    "stack fit": bw.fit_stack,
    "study calibration": bw.study_calibration,
    "study label-strategy": bw.study_label_strategy,
    "study mix": bw.study_mix,
    "study requirements": bw.study_requirements,
    "watch": bw.watch,
}
"""Every command that opens a table of scores or of labels, and its function."""

ONLY_COLUMNS = {"learn": ScoreTable.read}
"""Without scales: what is learnt of repeated judgments is in the units of the scores."""

EVERY = OPENS | ONLY_COLUMNS

FLAGS = {flag.name: one.name for one in fields(ReadingOptions) for flag in one.metadata["flags"]}


COMMANDS = every_command()


def flags_of(command):
    """Return the flags of a command with their default."""
    parameters = signature(COMMANDS[command]).parameters.values()
    return {f"--{one.name.replace('_', '-')}": one.default for one in parameters if one.name != "file"}


@pytest.mark.parametrize("command", EVERY)
def test_a_command_that_opens_a_table_has_every_flag_of_its_function(command):
    """A flag that is absent is of an option that the function does not take, or the command says why it is."""
    taken = {"columns"} if command in ONLY_COLUMNS else keywords_of(OPENS[command]).__annotations__
    without = COMMANDS[command].__without__
    assert all(reason for reason in without.values())
    expected = {flag for flag, option in FLAGS.items() if option in taken and flag not in without}
    own = {f"--{name}" for name, one in signature(EVERY[command]).parameters.items() if name not in taken}
    assert expected == set(flags_of(command)) & FLAGS.keys() - own


def test_other_commands_open_no_table():
    """Votes and pools have columns and labels of their own kind, and no scores of candidates."""
    for command in COMMANDS.keys() - EVERY.keys():
        assert not {"--score-col", "--candidate-col", "--judge-scale"} & flags_of(command).keys(), command


@pytest.mark.parametrize("command", [*EVERY, "preferences"])
def test_defaults_are_those_of_the_function(command):
    """A flag whose default is its own has the function's; one that is not given leaves it to the function."""
    function = {**EVERY, "preferences": bw.study_preferences}[command]
    known = signature(function).parameters
    for flag, default in flags_of(command).items():
        name = flag.removeprefix("--").replace("-", "_")
        if name in known and default not in (None, Parameter.empty):
            assert default == known[name].default, flag
    assert known["confidence"].default == CONFIDENCE if "confidence" in known else True
    assert known["seed"].default == SEED if "seed" in known else True


def test_flags_that_open_a_table_have_no_default_of_their_own():
    """Nothing said is no keyword, so the default is that of `ReadingOptions`, as it is in every signature."""
    assert Reading({}).keywords() == {}
    for command in EVERY:
        assert all(not default for flag, default in flags_of(command).items() if flag in FLAGS.keys() - {"--labels"})
    for function in EVERY.values():
        shown = signature(function).parameters
        for one in fields(ReadingOptions):
            if one.name in keywords_of(function).__annotations__:
                assert shown[one.name].default == one.default
                assert f"    {one.name} : " in function.__doc__


def test_keywords_are_the_options():
    """The typed keywords name every option, and each list of them says what it is for."""
    assert reading_options.ReadingKeywords.__annotations__.keys() == {one.name for one in fields(ReadingOptions)}
    lists = [one for name, one in vars(reading_options).items() if name.endswith("Keywords")]
    assert len(lists) > 1
    assert all(one.__doc__ and one.__annotations__.keys() <= FLAGS.keys() | {*FLAGS.values()} for one in lists)


@pytest.mark.parametrize("function", EVERY.values(), ids=lambda one: one.__name__)
def test_a_keyword_that_does_not_exist_is_refused(function):
    """As Python refuses it: with the name of the function and of the keyword."""
    with pytest.raises(TypeError, match=rf"{function.__name__}\(\) got an unexpected keyword argument 'colums'"):
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
    assert not {"--prompt-col", "--candidate-col", "--label-col"} & NOT_OF_LABELS.keys()
    assert NOT_OF_LABELS.keys() >= {"--score-col", "--judge-col", "--propensity-col"}
