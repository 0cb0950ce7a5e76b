"""Flags that ask models are declared once, with the defaults of the library."""

from inspect import signature

import pytest

import bonwise as bw
from bonwise.calls.settings import CallSettings
from bonwise.cli.judge import judge
from bonwise.cli.model_flags import ModelFlags, PoolModelFlags
from bonwise.cli.select import select
from bonwise.cli.shared_flags import option_flags, shared_flags
from bonwise.options import options_of
from bonwise.selection.settings import Engines

SETTINGS = ("max_concurrency", "max_calls", "max_tokens", "max_cost", "deadline", "attempts", "reask")


def shown_by(flags):
    """Return the flags that a command has in the place of a parameter, with their defaults."""

    def command(asking: flags) -> int:
        """Do nothing."""

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
