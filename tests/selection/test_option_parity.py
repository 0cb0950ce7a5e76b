"""Every option of an engine reaches every door, with the same name, default and meaning."""

from __future__ import annotations

import ast
import asyncio
import inspect
from contextlib import suppress
from inspect import signature
from pathlib import Path

import pytest

import bonwise as bw
import bonwise.hosts
from bonwise.calls import engine
from bonwise.calls.prices import Prices
from bonwise.calls.providers.protocol import Connection
from bonwise.calls.settings import EngineSettings
from bonwise.errors import UsageError
from bonwise.flags import field_texts, options_of
from bonwise.hosts.generation import BestOfN
from bonwise.hosts.reranking import DocumentRanker
from bonwise.selection.settings import SelectorSettings
from cli.commands import typed

OPTIONS = options_of(EngineSettings)
MEANINGS = field_texts(EngineSettings)
OTHERWISE_GIVEN = {
    "max_concurrency": 3,
    "connection": Connection(connections=5),
    "max_cost": 0.5,
    "max_calls": 7,
    "max_tokens": 900,
    "deadline": 30.0,
    "attempts": 2,
    "reask": 1,
    "offline": True,
    "ledger": "runs/a",
}
"""A value of each option that is not its default."""

POOL = ("Name a colour", ["red", "a long answer"])
ASKING = bw.Pointwise("openai/gpt-5-mini")


class EngineAskedForError(UsageError):
    """In place of an engine, with what it is made of."""

    def __init__(self, ledger=None, **settings):
        super().__init__("an engine")
        self.settings = {"ledger": ledger, **settings}


@pytest.fixture
def engine_of(monkeypatch):
    """Return what an engine is made of when a door is opened."""
    made = []

    def asked_for(*given, **settings):
        made.append(EngineAskedForError(*given, **settings))
        raise made[-1]

    monkeypatch.setattr(engine, "Engine", asked_for)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")

    def opened(door):
        made.clear()
        with suppress(EngineAskedForError):
            door()
        return made[0].settings

    return opened


def _judge(**given):
    return bw.judge([POOL], judge=ASKING, **_as_run(given))


def _ajudge(**given):
    return asyncio.run(bw.ajudge([POOL], judge=ASKING, **_as_run(given)))


def _as_run(given):
    return {"run" if name == "ledger" else name: value for name, value in given.items()}


async def _all(picks):
    return [pick async for pick in picks]


DOORS = {
    "Selector": lambda **given: bw.Selector(ASKING, **given).select(*POOL),
    "select": lambda **given: bw.select(*POOL, judge=ASKING, **given),
    "aselect": lambda **given: asyncio.run(bw.aselect(*POOL, judge=ASKING, **given)),
    "select_many": lambda **given: list(bw.select_many([POOL], judge=ASKING, **given)),
    "aselect_many": lambda **given: asyncio.run(_all(bw.aselect_many([POOL], judge=ASKING, **given))),
    "best_of": lambda **given: bw.best_of(2, ASKING, **given)(lambda prompt: prompt)("Name a colour"),
    "generate_best": lambda **given: bw.generate_best(str, "p", n=2, judge=ASKING, **given),
    "agenerate_best": lambda **given: asyncio.run(bw.agenerate_best(str, "p", n=2, judge=ASKING, **given)),
    "judge": _judge,
    "ajudge": _ajudge,
}
"""Public functions, by name, called so that they need an engine."""


def test_every_option_is_tried_and_means_something():
    """With a value that is not its default; each has a text under it, and a check or any value of its type."""
    assert OTHERWISE_GIVEN.keys() == OPTIONS.keys() == MEANINGS.keys()
    assert all(MEANINGS.values())
    assert all(OTHERWISE_GIVEN[name] != option.default for name, option in OPTIONS.items())
    for name, option in OPTIONS.items():
        if option.check is not None:
            option.check(name, option.default)
            option.check(name, OTHERWISE_GIVEN[name])
            with pytest.raises(UsageError, match=rf"^here\.{name} is -1"):
                option.check(f"here.{name}", -1)


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("door", DOORS)
def test_an_option_reaches_the_engine(engine_of, door, option):
    """What a function is given is what the engine is made of; the others are as ever."""
    value = OTHERWISE_GIVEN[option]
    found = engine_of(lambda: DOORS[door](**{option: value}))
    assert found[option] == value
    others = {name: one.default for name, one in OPTIONS.items() if name not in {option, "connection"}}
    assert {name: found[name] for name in others} == others
    if found["spending"] is not None:
        assert f"{option}={value}" in repr(found["spending"])


@pytest.mark.parametrize("door", DOORS)
def test_signatures_show_each_option_with_its_default(door):
    """`judge` keeps answers in a `run`; everything else has one name."""
    shown = signature(getattr(bw, door)).parameters
    names = {name: "run" if name == "ledger" and door.endswith("judge") else name for name in OPTIONS}
    assert {name: shown[here].default for name, here in names.items()} == {
        name: option.default for name, option in OPTIONS.items()
    }
    assert not any(one.kind is one.VAR_KEYWORD for one in shown.values())


@pytest.mark.parametrize("door", ["Selector", "select", "select_many", "best_of", "generate_best", "judge"])
def test_documentation_says_what_each_option_means(door):
    """In the words of its declaration, but for what `judge` says of a question where others speak of a pool."""
    text = " ".join(getattr(bw, door).__doc__.split())
    own = {"deadline", "ledger"} if door == "judge" else set()
    for name in OPTIONS.keys() - own:
        assert f" {name} : " in text
        assert " ".join(MEANINGS[name].split()) in text
    assert "**settings" not in text


@pytest.mark.parametrize("door", DOORS)
def test_what_is_no_option_is_refused(door):
    """As Python refuses it."""
    with pytest.raises(TypeError, match=r"got an unexpected keyword argument 'attemps'"):
        DOORS[door](attemps=3)


@pytest.mark.parametrize("option", OPTIONS)
def test_a_mapping_of_settings_holds_it(option):
    """As `Selector.to_dict` writes it and `Selector.from_dict` reads it."""
    made = bw.Selector(bw.judge_from_spec("local:length"), **{option: OTHERWISE_GIVEN[option]})
    again = bw.Selector.from_dict(made.to_dict())
    assert again._engines.settings == made._engines.settings
    assert made.to_dict()[option] != bw.Selector.from_dict({"judge": "local:length"}).to_dict()[option]


WITHOUT_A_FLAG = {"offline"}
"""A command that must send nothing takes ``--max-calls 0``."""


@pytest.mark.parametrize("option", [name for name in OPTIONS if name not in WITHOUT_A_FLAG])
@pytest.mark.parametrize("command", ["judge", "select"])
def test_a_flag_reaches_the_engine(capsys, tmp_path, monkeypatch, engine_of, command, option):
    """Of both commands that ask models; a connection is given by its transport, a ledger by ``--run``."""
    monkeypatch.chdir(tmp_path)
    Path("pools.jsonl").write_text('{"prompt_id": "p", "prompt": "Name a colour", "candidates": ["red", "sky"]}\n')
    flag = {"connection": "--transport", "ledger": "--run"}.get(option, f"--{option.replace('_', '-')}")
    value = {"connection": "aiohttp"}.get(option, OTHERWISE_GIVEN[option])
    asked = [command, "pools.jsonl", "--judge", "pointwise:openai/gpt-5-mini", flag, str(value)]
    found = engine_of(lambda: typed(capsys, *asked))
    if option == "connection":
        assert found[option].transport == value
    else:
        assert str(found[option]) == str(value)
    assert {flag for flag in OPTIONS if OPTIONS[flag].flag is None} == {*WITHOUT_A_FLAG, "ledger"}


SERVED = {"max_concurrency": "judge_concurrency", "connection": "transport", "deadline": "deadline"}
"""Settings of a server with names of their own; of the others it is ``judge_`` and their name."""


@pytest.mark.parametrize("option", OPTIONS)
def test_a_setting_of_a_server_reaches_the_selector(tmp_path, monkeypatch, option):
    """`attempts` alone is of the upstream, so what is the judge's begins with ``judge_``; the ledger is ``--run``."""
    pytest.importorskip("starlette", reason="bonwise[serve] is not installed")
    from bonwise.serving.best_of_model import BestOfModel  # noqa: PLC0415
    from bonwise.serving.config import read_config  # noqa: PLC0415

    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    value = {"connection": "aiohttp", "offline": "true"}.get(option, OTHERWISE_GIVEN[option])
    written = value if not isinstance(value, str) or value == "true" else f'"{value}"'
    line = "" if option == "ledger" else f"{SERVED.get(option, f'judge_{option}')} = {written}\n"
    settings = f'[models.fast]\nupstream = "openai/m"\njudge = "local:length"\n{line}'
    (tmp_path / "serve.toml").write_text(settings)
    config = read_config(tmp_path / "serve.toml").models["fast"]
    assert config.attempts == 3
    run = value if option == "ledger" else None
    found = BestOfModel(config, Prices.load(), run).best_of.selector._engines.settings
    if option == "connection":
        assert found[option].transport == value
    else:
        assert found[option] == OTHERWISE_GIVEN[option]


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("adapter", [BestOfN, DocumentRanker])
def test_a_setting_of_a_host_reaches_the_selector(adapter, option):
    """Every adapter stands on one of the two."""
    made = adapter("local:length", **{option: OTHERWISE_GIVEN[option]})
    assert made.selector._engines.settings[option] == OTHERWISE_GIVEN[option]


def test_hosts_take_the_settings_of_a_selector():
    """Whatever takes a judge and settings takes all of them, by name."""
    taken = {}
    for file in Path(bonwise.hosts.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if (
                isinstance(node, ast.FunctionDef)
                and node.args.kwarg is not None
                and node.args.kwarg.arg == "settings"
            ):
                taken[f"{file.stem}.{node.name}"] = ast.unparse(node.args.kwarg.annotation)
    assert len(taken) > 12
    assert set(taken.values()) == {f"Unpack[{SelectorSettings.__name__}]"}


def test_documentation_names_every_option():
    """The page on calls names every flag, the page on the server every setting, in one place each."""
    docs = Path(__file__).parents[2] / "docs"
    calls, serve = ((docs / page).read_text("utf-8") for page in ("calls.md", "serve.md"))
    for name, option in OPTIONS.items():
        if option.flag is not None:
            assert f"{option.flag.name or '--' + name.replace('_', '-')}" in calls, name
        if name != "ledger":
            assert f"`{SERVED.get(name, f'judge_{name}')}`" in serve, name


def test_what_an_engine_takes_is_declared():
    """It has no list of its own."""
    shown = signature(engine.Engine).parameters
    assert OPTIONS.keys() <= shown.keys()
    assert shown.keys() - OPTIONS.keys() == {"prices", "limiter", "spending"}
    assert inspect.getdoc(engine.Engine).count("attempts : int") == 1
