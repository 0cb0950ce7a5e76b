"""A file of settings, the Dockerfile, and what is loaded when."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import zipfile

import pytest

import bonwise as bw
from bonwise import extras
from bonwise.errors import FileError, InputError
from bonwise.serving.client_keys import ClientKey, KeyRing
from bonwise.serving.config import read_config
from cli.commands import typed
from docs.pages import ROOT
from serving import dockerfile_steps

# A file of settings: one sentence with the place of what is wrong, exit code 2, and no key in any message.


MODEL = '[models.fast]\nupstream = "openai/m"\njudge = "local:length"\n'

WRONG = {
    "models.fast =": ("is not TOML", "models.fast ="),
    "": ("there is no model", ""),
    "[model.fast]": ("there is no table [model]", "[model.fast]"),
    'models = "fast"': ("models is not a table", 'models = "fast"'),
    "models.fast = 3": ("models.fast is not a table", "models.fast = 3"),
    "no upstream": ("models.fast.upstream is missing", '[models.fast]\njudge = "local:length"'),
    "no judge": ("models.fast.judge is missing", '[models.fast]\nupstream = "openai/m"'),
    "misspelt": ("models.fast.upstrem is not a setting", MODEL + 'upstrem = "x"'),
    "n": ("models.fast.n is 0", MODEL + "n = 0"),
    "n as text": ("models.fast.n is '4'", MODEL + 'n = "4"'),
    "max_n": ("models.fast.max_n is 2, below n = 4", MODEL + "max_n = 2"),
    "draw": ("models.fast.draw is 'both'", MODEL + 'draw = "both"'),
    "forward_client_key": ("models.fast.forward_client_key is 'yes'", MODEL + 'forward_client_key = "yes"'),
    "two transports": (
        "models.fast has transport and forward_client_key",
        MODEL + 'forward_client_key = true\ntransport = "aiohttp"',
    ),
    "on_failure": ("models.fast.on_failure is 'owe'", MODEL + 'on_failure = "owe"'),
    "deadline": ("models.fast.deadline is -1", MODEL + "deadline = -1"),
    "upstream": ("models.fast.upstream is 'anthropic/m'", MODEL.replace("openai/m", "anthropic/m")),
    "address": ("models.fast.base_url is no http or https address", MODEL + 'base_url = "localhost"'),
    "login": ("models.fast.base_url holds a login or a key", MODEL + 'base_url = "http://me:hush@localhost/v1"'),
    "blank": ("holds a blank", MODEL.replace("models.fast", 'models."a b"')),
    "judge": ("models.fast:", MODEL.replace("local:length", "local:nothing")),
    "strategy": ("models.fast:", MODEL + 'strategy = "nothing"'),
    "router": ("models.fast:", MODEL + "[models.fast.router]\nshare = 0.2"),
    "server": ("server.max_body is 3", MODEL + "[server]\nmax_body = 3"),
    "server setting": ("server.port is not a setting", MODEL + "[server]\nport = 3"),
    "key kind": ("keys.alice is neither a text nor a table", MODEL + "[keys]\nalice = 3"),
    "key empty": ("keys.alice holds no key", MODEL + '[keys]\nalice = " "'),
    "key setting": ("keys.alice.cost is not a setting", MODEL + '[keys]\nalice = {value = "hush-hush", cost = 3}'),
    "key source": ("keys.alice needs one text", MODEL + '[keys]\nalice = {value = "hush-hush", env = "X"}'),
    "key file": ("keys.alice.file cannot be read", MODEL + '[keys]\nalice = {file = "absent"}'),
    "key env": (
        "keys.alice.env does not name a variable that is set",
        MODEL + '[keys]\nalice = {env = "NO_SUCH_KEY"}',
    ),
    "key limit": ("keys.alice.max_cost is -1", MODEL + '[keys]\nalice = {value = "hush-hush", max_cost = -1}'),
    "key twice": ("keys.bob is the same key as keys.alice", MODEL + '[keys]\nalice = "hush-hush"\nbob = "hush-hush"'),
    "no price": ("whose price is not known", MODEL + '[keys]\nalice = {value = "hush-hush", max_cost = 1}'),
    "no bound": (
        "models.fast.max_tokens is missing",
        MODEL.replace("openai/m", "openai/gpt-4o-mini") + '[keys]\nalice = {value = "hush-hush", max_cost = 1}',
    ),
}


@pytest.mark.parametrize("kind", WRONG)
def test_what_is_wrong_is_said_with_its_place(capsys, tmp_path, monkeypatch, kind):
    """The command ends with 2 and one sentence; no key is in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-upstream")
    words, text = WRONG[kind]
    (tmp_path / "serve.toml").write_text(text, encoding="utf-8")
    done = typed(capsys, "serve", "--config", "serve.toml", "--port", "0")
    assert done.code == 2
    assert words in done.err
    assert "serve.toml" in done.err or kind in {"no price", "no bound", "judge", "strategy", "router"}
    assert "hush" not in done.err
    assert len(done.err.splitlines()) == 1


SECRET = "sk-live-0f1e2d3c4b5a69788796a5b4c3d2e1f0"  # noqa: S105 - it opens nothing
RANDOM = "0f1e2d3c4b5a69788796a5b4c3d2e1f0"
KEYED = MODEL + "[keys]\n"

MISPLACED = {
    "env": KEYED + "alice = {env = 'SECRET'}",
    "file": KEYED + "alice = {file = 'SECRET'}",
    "file of a folder": KEYED + "alice = {file = '/tmp/SECRET/x'}",
    "a key as a name": KEYED + "SECRET = 'alice'",
    "a key as a name of a table": KEYED + "SECRET = {max_cost = 1}",
    "a key as a setting": KEYED + "alice = {SECRET = 1}",
    "a key in a list": KEYED + "alice = ['SECRET']",
    "a key as a number": KEYED + "alice = {value = 'another-key', max_cost = 'SECRET'}",
    "a key with blanks": KEYED + "alice = 'SECRET and more'",
    "a key twice": KEYED + "alice = 'SECRET'\nbob = 'SECRET'",
    "no text": KEYED + "alice = SECRET",
    "twice in one table": KEYED + "alice = {'SECRET' = 1, 'SECRET' = 2}",
    "a table twice": "['SECRET']\n['SECRET']\n",
    "a table of a value": "['SECRET']\nx = 1\n['SECRET'.x]\n",
    "a line cut off": KEYED + "alice = 'SECRET",
    "a table": MODEL + "[SECRET]",
    "a model's name": "[models.SECRET]\n",
    "a setting's name": MODEL + "SECRET = 1",
    "upstream": MODEL.replace("openai/m", "SECRET"),
    "upstream of another": MODEL.replace("openai/m", "anthropic/SECRET"),
    "judge": MODEL.replace("local:length", "pointwise:SECRET"),
    "judge's kind": MODEL.replace("local:length", "SECRET"),
    "judge's option": MODEL.replace("local:length", "pointwise,key=SECRET:openai/m"),
    "strategy": MODEL + "strategy = 'SECRET'",
    "n": MODEL + "n = 'SECRET'",
    "draw": MODEL + "draw = 'SECRET'",
    "judge_reask": MODEL + "judge_reask = 'SECRET'",
    "judge_max_cost": MODEL + "judge_max_cost = 'SECRET'",
    "server": MODEL + "[server]\nmax_body = 'SECRET'",
    "allowed_hosts": MODEL + "[server]\nallowed_hosts = ['SECRET']",
    "router": MODEL + "[models.fast.router]\nstrong = 'pointwise:SECRET'\nshare = 0.2",
    "router's signal": MODEL + "[models.fast.router]\nstrong = 'local:length'\nsignal = 'SECRET'\nshare = 0.2",
    "login": MODEL + "base_url = 'http://me:SECRET@localhost/v1'",
    "user": MODEL + "base_url = 'http://SECRET@localhost/v1'",
    "query": MODEL + "base_url = 'http://localhost/v1?api_key=SECRET'",
    "fragment": MODEL + "base_url = 'http://localhost/v1#SECRET'",
    "fragment of the judge": MODEL + "judge_base_url = 'http://localhost/v1#SECRET'",
    "login of upstream": MODEL.replace("openai/m", "http://me:SECRET@localhost/v1"),
    "address as a number": MODEL + "n = 'http://me:SECRET@localhost/v1'",
    "bad address": MODEL + "base_url = 'http://me:SECRET@[localhost/v1'",
    "address in a list": MODEL + "base_url = ['http://me:SECRET@localhost/v1']",
}


@pytest.mark.parametrize("secret", [SECRET, RANDOM])
@pytest.mark.parametrize("kind", MISPLACED)
def test_a_misplaced_secret_is_not_printed(capsys, tmp_path, monkeypatch, kind, secret):
    """Wherever a key was written by mistake: exit code 2, one sentence, and no part of the key in it."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-upstream")
    (tmp_path / "serve.toml").write_text(MISPLACED[kind].replace("SECRET", secret), encoding="utf-8")
    done = typed(capsys, "serve", "--config", str(tmp_path / "serve.toml"), "--check")
    assert done.code == 2
    assert len(done.err.splitlines()) == 1
    said = done.err + done.out
    assert not [secret[at : at + 8] for at in range(len(secret) - 7) if secret[at : at + 8] in said]


LEGITIMATE = {
    "a model of a date": MODEL.replace("openai/m", "openai/gpt-5-mini-2025-08-07"),
    "a tuned model": MODEL.replace("openai/m", "openai/ft:gpt-4o-mini-2024-07-18:my-org:custom:9aBcDeFg"),
    "an organisation's model": MODEL.replace("openai/m", "openai/hf-internal-testing/tiny_random_model_2025_v3"),
    "a vault": MODEL + "base_url = 'https://key-vault.example.com/v1'",
    "a version": MODEL + "base_url = 'https://example.com/v1?api-version=2024-10-21'",
    "a client's long name": KEYED + "team_alpha_2026_production = 'a-key-of-the-team'",
    "a key of 8 letters": KEYED + "alice = 'abcdefgh'",
}


@pytest.mark.parametrize("kind", LEGITIMATE)
def test_what_only_looks_like_a_secret_is_taken(capsys, tmp_path, monkeypatch, kind):
    """Names of models, addresses and clients."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-upstream")
    (tmp_path / "serve.toml").write_text(LEGITIMATE[kind], encoding="utf-8")
    done = typed(capsys, "serve", "--config", str(tmp_path / "serve.toml"), "--check")
    assert (done.code, done.err) == (0, "") or "can be served" in done.err


SIZES = {
    "models.fast": (
        "n = 129",
        "n = 1e9",
        f"n = 1{'0' * 400}",
        "max_n = 1000",
        "n = true",
        "deadline = 1e300",
        "deadline = inf",
        "deadline = nan",
        "deadline = 0",
        "timeout = 1e-9",
        "timeout = 10000000",
        "attempts = 10000000",
        "max_tokens = 10000000000",
        "max_tokens = 0",
        f"seed = 1{'0' * 30}",
        "judge_concurrency = 100000000",
        "judge_concurrency = 0",
        "judge_attempts = 0",
        "judge_max_calls = -1",
        "judge_max_calls = 'many'",
        "judge_max_cost = -1",
        "judge_max_cost = nan",
        "share_judgements = 1",
    ),
    "server": (
        "max_requests = 0",
        "max_requests = 1000000000000",
        "max_connections = 100000000",
        "max_connections = 0",
        "max_connections_per_address = 0",
        "max_connections_per_address = 1.5",
        "max_body = 1000000000000000",
        "max_body = 0",
        "body_timeout = 0",
        "body_timeout = inf",
        "body_timeout = -3",
        "send_timeout = 0",
        "send_timeout = 1e12",
        "send_timeout = '30'",
        "shutdown_timeout = 1e12",
        "allowed_hosts = 'localhost'",
        "allowed_hosts = [3]",
        "allowed_hosts = ['*']",
        "allowed_hosts = ['http://example.com/']",
        "allowed_hosts = ['']",
    ),
    "keys": (
        "alice = 'seven77'",
        "alice = 'x'",
        "alice = {value = '1234567'}",
        "alice = {env = 'SHORT_KEY'}",
        "alice = {value = 'long-enough', max_cost = 1e300}",
        "alice = {value = 'long-enough', max_cost = inf}",
        "alice = {value = 'long-enough', max_concurrency = 0}",
        "alice = {value = 'long-enough', max_concurrency = 1e9}",
    ),
}


@pytest.mark.parametrize(("table", "line"), [(table, line) for table, lines in SIZES.items() for line in lines])
def test_nonsense_is_refused_by_check(capsys, tmp_path, monkeypatch, table, line):
    """Sizes that no server means, and keys that are found by trying: exit code 2, and one sentence."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-upstream")
    monkeypatch.setenv("SHORT_KEY", "short")
    text = MODEL + (line if table == "models.fast" else f"[{table}]\n{line}")
    (tmp_path / "serve.toml").write_text(text, encoding="utf-8")
    done = typed(capsys, "serve", "--config", str(tmp_path / "serve.toml"), "--check")
    assert done.code == 2
    assert len(done.err.splitlines()) == 1
    assert f"{table}.{line.partition(' ')[0]}" in done.err or line.startswith("judge_")


def test_a_file_that_cannot_be_read(capsys, tmp_path):
    """It is absent, or no text."""
    assert "cannot be read" in typed(capsys, "serve", "--config", str(tmp_path / "absent.toml")).err
    (tmp_path / "serve.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(FileError, match="is not UTF-8"):
        read_config(tmp_path / "serve.toml")


def test_no_key_for_the_upstream(capsys, tmp_path, monkeypatch):
    """The message names the variable."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    (tmp_path / "serve.toml").write_text(MODEL, encoding="utf-8")
    done = typed(capsys, "serve", "--config", str(tmp_path / "serve.toml"), "--port", "0")
    assert (done.code, "OPENAI_API_KEY" in done.err) == (2, True)


def test_every_setting(tmp_path, monkeypatch):
    """What is written is what is meant, and what is left out has its default."""
    monkeypatch.setenv("BOB", "sk-of-bob ")
    (tmp_path / "carol").write_text("sk-of-carol\n", encoding="utf-8")
    text = (
        MODEL
        + 'base_url = "http://127.0.0.1:1/v1"\nn = 3\nmax_n = 5\nstrategy = "adaptive:margin=0.2"\ndeadline = 4\n'
        + 'on_failure = "first"\n[models.fast.router]\nstrong = "local:lexical"\nshare = 0.2\n'
        + '[keys]\nalice = "sk-of-alice"\nbob = {env = "BOB", max_concurrency = 2}\n'
        + f'carol = {{file = "{tmp_path / "carol"}", max_cost = 1.5}}\n[server]\nmax_requests = 7\n'
    )
    (tmp_path / "serve.toml").write_text(text, encoding="utf-8")
    config = read_config(tmp_path / "serve.toml")
    model = config.models["fast"]
    assert (model.n, model.most_choices, model.draw, model.tools, model.attempts) == (3, 5, "auto", "choose", 3)
    assert model.selector_mapping(None)["strategy"] == {"spec": "adaptive:margin=0.2"}
    assert config.limits.max_requests == 7
    assert config.keys == (
        ClientKey("alice", "sk-of-alice"),
        ClientKey("bob", "sk-of-bob", None, 2),
        ClientKey("carol", "sk-of-carol", 1.5, None),
    )
    assert "sk-" not in repr(config)
    assert KeyRing(config.keys).find("bearer sk-of-bob").name == "bob"


def test_fields_of_the_judges_requests(capsys, tmp_path, monkeypatch):
    """They are those of the selector that judges; a key among them is refused and not printed."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-for-tests")
    text = MODEL.replace("local:length", "pointwise:openai/m") + "judge_params = {PARAMS}\n"
    (tmp_path / "serve.toml").write_text(text.replace("PARAMS", 'reasoning_effort = "low"'), encoding="utf-8")
    written = read_config(tmp_path / "serve.toml").models["fast"].selector_mapping(None)
    (asked,) = bw.Selector.from_dict(written)._settings.judge.asks("prompt", ["text"])
    assert asked.params == {"reasoning_effort": "low"}
    for wrong, words in (("3", "judge_params is 3"), ('{api_key = "sk-hush-hush"}', "api_key"), ("{n = 2}", "n")):
        (tmp_path / "serve.toml").write_text(text.replace("{PARAMS}", wrong), encoding="utf-8")
        done = typed(capsys, "serve", "--config", str(tmp_path / "serve.toml"), "--check")
        assert (done.code, words in done.err, "hush" in done.err) == (2, True, False), done.err


def test_messages_name_the_file(tmp_path):
    """Also those of tables within tables."""
    (tmp_path / "serve.toml").write_text(MODEL + "n = 1.5", encoding="utf-8")
    with pytest.raises(InputError, match=r"serve.toml: models.fast.n is 1.5"):
        read_config(tmp_path / "serve.toml")


# The Dockerfile: what it names must be there, what it runs must be a command, and its steps run in a bare Debian.


TEXT = (ROOT / "Dockerfile").read_text("utf-8") if (ROOT / "Dockerfile").exists() else ""
COPIED = [name for line in re.findall(r"^COPY (?!--from)(.+)$", TEXT, re.MULTILINE) for name in line.split()[:-1]]


def test_what_is_copied_is_there_and_is_not_ignored():
    """Every source of a COPY exists, and .dockerignore lets it pass."""
    let_pass = {one[1:] for one in (ROOT / ".dockerignore").read_text("utf-8").splitlines() if one.startswith("!")}
    assert COPIED
    for name in COPIED:
        assert (ROOT / name).exists()
        assert name in let_pass


def test_what_is_copied_is_enough_for_the_wheel(tmp_path):
    """The build of the first stage, without its container: the wheel holds the package and its prompts."""
    pytest.importorskip("hatchling", reason="builds the package")
    for name in COPIED:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tmp_path / name)
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", "wheels"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (wheel,) = (tmp_path / "wheels").glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {"bonwise/serving/server.py", "bonwise/judges/prompts/pointwise.md"} <= set(names)


def test_what_it_runs_is_a_command(tmp_path):
    """Entry point and arguments, with a file of settings of its own and --check, are taken by the command line."""
    entry = json.loads(re.search(r"^ENTRYPOINT (.+)$", TEXT, re.MULTILINE)[1])
    given = json.loads(re.search(r"^CMD (\[.+)$", TEXT, re.MULTILINE)[1])
    path = tmp_path / "serve.toml"
    model = '[models.fast]\nupstream = "openai/m"\nbase_url = "http://127.0.0.1:9/v1"\njudge = "local:length"\n'
    path.write_text(model + '[keys]\nalice = "a-key-of-alice"\n', encoding="utf-8")
    given[given.index("--config") + 1] = str(path)
    given[given.index("--run") + 1] = str(tmp_path / "run")
    code = "from bonwise.cli.entry import main; main()"
    command = [sys.executable, "-c", code, *entry[1:], *given, "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert entry[0] == "bonwise"
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.skipif(bool(dockerfile_steps.MISSING), reason=f"lacks {', '.join(dockerfile_steps.MISSING)}")
def test_its_steps_run_in_an_empty_debian(tmp_path):
    """All steps end well; the server starts as its user, is healthy, stops by its signal, and wants keys."""
    root, container = dockerfile_steps.built(tmp_path)
    model = '[models.fast]\nupstream = "openai/m"\nbase_url = "http://127.0.0.1:9/v1"\njudge = "local:length"\n'
    healthy, code, said = dockerfile_steps.started(root, container, model + '[keys]\nalice = "a-long-secret-key"\n')
    assert (healthy, code) == (True, 0), said
    healthy, code, said = dockerfile_steps.started(root, container, model)
    assert (healthy, code) == (False, 2)
    assert "has no [keys]" in said
    run = root / "var" / "lib" / "bonwise" / "run"
    assert run.stat().st_uid != 0
    assert not (root / "wheels").exists()
    assert dockerfile_steps.in_root(root, ["bonwise", "--version"]).startswith("bonwise ")


# What is loaded when: nothing of a server before somebody serves; without the extra the line to type.


LOADED = """
import sys
import bonwise, bonwise.hosts, bonwise.serving
from bonwise.cli.app import app_for
app_for(["serve"])
print(sorted({one.partition(".")[0] for one in sys.modules} & {"starlette", "uvicorn", "openai", "httpx", "httpx2"}))
"""


def test_nothing_is_loaded_before_somebody_serves():
    """Neither by the package, nor by the room, nor by the command line."""
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_without_the_extra(capsys, monkeypatch):
    """One sentence with the line to type, before the settings are read."""
    monkeypatch.setattr(extras, "_is_installed", lambda name: name != "uvicorn")
    done = typed(capsys, "serve", "--config", "absent.toml")
    assert done.code == 2
    said = "bonwise: bonwise serve needs bonwise[serve]: uvicorn is not installed (pip install 'bonwise[serve]')\n"
    assert done.err == said
