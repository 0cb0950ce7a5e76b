from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
import sys
import threading
import tomllib
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from recipes.applied import ROOT, answered, copy_of_package, ran, refused, section

PLUGIN = ROOT / "examples" / "plugin"

POOLS = [
    {"prompt_id": "p", "prompt": "Delete it", "candidates": ["Just do it.", "Tested and safe.", "Tested."]},
    {"prompt_id": "q", "prompt": "Ship it", "candidates": ["No.", "Yes.", "Safe."]},
]


KINDS = {"strategy": "strategies", "judge": "judges", "importer": "importers", "provider": "providers"}


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Build the wheel of the example and lay it out as an installer does; return the copy and the folder of it."""
    pytest.importorskip("hatchling", reason="builds the example")
    folder = copy_of_package(tmp_path_factory.mktemp("plugin"))
    shutil.copy(ROOT / "pyproject.toml", folder)  # beside it the package looks for its prompts
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder],
        capture_output=True,
        text=True,
        check=False,
        cwd=PLUGIN,
    )
    assert done.returncode == 0, done.stderr
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    (folder / "pools.jsonl").write_text("".join(json.dumps(pool) + "\n" for pool in POOLS), "utf-8")
    return folder, [folder / "site"]


def test_the_groups_are_those_that_the_guide_names():
    """The example registers under the groups that CONTRIBUTING.md names, and the guide points at it."""
    groups = tomllib.loads((PLUGIN / "pyproject.toml").read_text("utf-8"))["project"]["entry-points"]
    headings = {kind: f"bonwise.{plural}" for kind, plural in KINDS.items()}
    assert set(groups) == set(headings.values())
    for heading, group in ((f"Add a{'n' * (word[0] in 'aeiou')} {word}", group) for word, group in headings.items()):
        assert f"`{group}`" in section(heading)
        assert "`examples/plugin`" in section(heading)


def test_the_kinds_are_listed(installed):
    """The judge and the strategy of an installed plug-in are listed with the package that brings them."""
    copy, site = installed
    for command, kind in (("judges", "keywords"), ("strategies", "first_above")):
        (line,) = [one for one in ran(copy, command, plugins=site).splitlines() if one.startswith(kind)]
        assert "bonwise-example-plugin" in line or "bonwise_example_plugin" in line


def test_the_judge_scores(installed):
    """``judge --judge keywords:...`` scores every candidate as the class does."""
    copy, site = installed
    text = ran(copy, "judge", "pools.jsonl", "--judge", "keywords:tested,safe", plugins=site)
    assert [float(row["judge_score"]) for row in csv.DictReader(io.StringIO(text))] == [0.0, 1.0, 0.5, 0.0, 0.0, 0.5]


def test_a_judge_without_arguments_selects(installed):
    """``--judge brevity`` makes a class whose constructor takes nothing."""
    copy, site = installed
    text = ran(copy, "select", "pools.jsonl", "--judge", "brevity", plugins=site)
    assert [json.loads(line)["index"] for line in text.splitlines()][:1] == [2]
    told = refused(copy, "select", "pools.jsonl", "--judge", "brevity:x", plugins=site)
    assert "brevity takes nothing after its name" in told
    assert told.count("\n") == 1


QUIZ = {
    "quiz": [
        {
            "question": "Name a colour",
            "replies": [
                {"by": "ann", "words": "red", "points": 3, "correct": 1},
                {"by": "bob", "words": "loud", "points": 2, "correct": 0},
            ],
        }
    ]
}


def test_the_importer_reads(installed):
    """``doctor --fix`` finds the format by its structure, and writes its rows as a table."""
    copy, site = installed
    (copy / "quiz.json").write_text(json.dumps(QUIZ), "utf-8")
    ran(copy, "doctor", "quiz.json", "--fix", "quiz.csv", plugins=site)
    with (copy / "quiz.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["candidate"], float(row["judge_score"])) for row in rows] == [("ann", 3.0), ("bob", 2.0)]
    assert [float(row["oracle_label"]) for row in rows] == [1.0, 0.0]


def test_python_makes_what_the_command_line_names(installed):
    """An installed judge and strategy are found from Python too."""
    copy, site = installed
    code = (
        "import bonwise as bw\n"
        "pick = bw.select('Ship it', ['No way.', 'Yes.'], judge=bw.judge_from_spec('brevity'),\n"
        "                 strategy=bw.strategy_from_spec('first_above:least=0.4'))\n"
        "print(pick.best)"
    )
    assert answered(copy, code, plugins=site).strip() == "Yes."


class OllamaHandler(BaseHTTPRequestHandler):
    """Answers as Ollama does: the score is how many letters s the candidate has; a model ``absent`` is not there."""

    def do_POST(self):
        """Answer one request."""
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.asked.append((self.path, body))
        if body["model"] == "absent":
            self._answer(404, {"error": "model 'absent' not found"})
            return
        candidate = re.findall(r"^--- BEGIN .*\n(.*)\n--- END", body["messages"][-1]["content"], re.MULTILINE)[-1]
        message = {"role": "assistant", "content": json.dumps({"score": candidate.count("s")})}
        counts = {"prompt_eval_count": 50, "eval_count": 6}
        self._answer(200, {"model": "tiny", "message": message, "done": True, "done_reason": "stop", **counts})

    def _answer(self, status, document):
        content = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        """Say nothing."""


@pytest.fixture
def ollama():
    """Serve Ollama's language on this machine; give the address and what was asked."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), OllamaHandler)
    server.asked = []
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", server.asked
    server.shutdown()
    thread.join()
    server.server_close()


def test_the_provider_is_asked_by_a_command(installed, ollama):
    """``--judge pointwise:ollama/...`` asks the service in its own language, and its tokens are counted."""
    copy, site = installed
    address, asked = ollama
    words = ["select", "pools.jsonl", "--judge", "pointwise:ollama/tiny", "--base-url", address]
    picks = [json.loads(line) for line in ran(copy, *words, plugins=site).splitlines()]
    assert len(asked) == 6
    path, body = asked[0]
    assert (path, body["stream"], "score" in body["format"]["properties"]) == ("/api/chat", False, True)
    assert [pick["calls"] for pick in picks] == [3, 3]
    assert [pick["index"] for pick in picks] == [1, 1]


def test_the_provider_is_asked_from_python(installed, ollama):
    """A judge names its model ``ollama/MODEL``, and what the service does not have is one error with its words."""
    copy, site = installed
    address, _ = ollama
    code = (
        "import bonwise as bw\n"
        f"judge = lambda model: bw.Pointwise(f'ollama/{{model}}', base_url={address!r})\n"
        "pick = bw.select('Ship it', ['No.', 'Yes, ship.', 'Yes.'], judge=judge('tiny'))\n"
        "print(pick.best, pick.scores, pick.bill.input_tokens)\n"
        "try:\n"
        "    bw.select('Ship it', ['No.', 'Yes.'], judge=judge('absent'))\n"
        "except bw.CallError as error:\n"
        "    print(error)"
    )
    first, second = answered(copy, code, plugins=site).strip().splitlines()
    assert first == "Yes, ship. (0.0, 0.02, 0.01) 150"
    assert "model 'absent' not found" in second


def test_the_strategy_selects(installed):
    """``select --strategy first_above:...`` stops at the first candidate that is good enough."""
    copy, site = installed
    words = ["select", "pools.jsonl", "--judge", "keywords:tested,safe"]
    picks = {}
    for least in (0.5, 1.0):
        text = ran(copy, *words, "--strategy", f"first_above:least={least}", plugins=site)
        picks[least] = [json.loads(line) for line in text.splitlines()]
    assert [pick["index"] for pick in picks[1.0]] == [1, 2]
    assert picks[0.5][0]["index"] in {1, 2}
    assert picks[0.5][1]["index"] == 2


@pytest.mark.parametrize(("flag", "kind"), [("--judge", "keywords:a"), ("--strategy", "first_above")])
def test_without_the_plugin_there_is_no_such_kind(installed, flag, kind):
    """The same command is refused in one line where the plug-in is not installed."""
    copy, _ = installed
    judge = [] if flag == "--judge" else ["--judge", "local:length"]
    told = refused(copy, "select", "pools.jsonl", *judge, flag, kind)
    assert f"no kind of {flag[2:]} {kind.partition(':')[0]!r}" in told
    assert told.count("\n") == 1
