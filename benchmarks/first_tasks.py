"""The first five things that a new user does, each typed as the docs say, on a machine that has nothing yet.

This command builds the wheel of this checkout and installs it by name with uv into a fresh environment. Then it types
five tasks there: a reranking service with a deadline and a budget, an audit of a frame in a notebook, a judge made of
a cross-encoder, the best of four answers within two seconds, and a gate in CI. Each is run and its answer checked. It
prints a Markdown table: lines typed, and seconds of the whole process. A scripted model answers for a service, and a
function for a cross-encoder. It needs uv and a Unix system. The exit code is 1 if a task has more lines than it may,
2 if one fails.

Run ``python benchmarks/first_tasks.py``.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from marked_page import markdown_table
from uv_commands import Uv, UvError, add_uv_option, uv_of

SERVICE = """\
import os
import bonwise as bw
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

judge = bw.Pointwise("openai/gpt-5-mini", base_url=os.environ["MODEL_URL"], price=(0.25, 2.0))
selector = bw.Selector(judge, deadline=1.0, max_cost=(5.0, "day"), ledger="runs/rerank", on_failure="first")

async def rerank(request):
    asked = await request.json()
    pick = await selector.aselect(asked["query"], asked["documents"])
    return JSONResponse({"ranking": pick.ranking, "decided_by": pick.decided_by, "cost": pick.cost})

app = Starlette(routes=[Route("/rerank", rerank, methods=["POST"])])
"""
AUDIT = """\
import pandas as pd
import bonwise as bw

frame = pd.read_csv("scores.csv")
audit = bw.audit(frame)
print(audit)
audit
"""
ENCODER = """\
from my_model import predict
import bonwise as bw

judge = bw.FunctionJudge(lambda query, texts: predict([(query, text) for text in texts]), batch=True)

print(bw.select("Which is blue?", ["red", "blue", "blue, very blue"], judge=judge).best)
"""
MODEL = "def predict(pairs):\n    return [text.count('blue') for _, text in pairs]\n"
BEST_OF = """\
import itertools, time
import bonwise as bw

numbers = itertools.count(1)

@bw.best_of(n=4, judge=lambda prompt, text: len(text), deadline=2.0)
def generate(prompt):
    time.sleep(0.3)
    return "blue " * next(numbers)

generate("Warm up.")
began = time.monotonic()
answer = generate("Name a colour.")
print(f"{len(answer.selection.ids)} answers in {time.monotonic() - began:.2f} s")
"""
GATE = """\
- uses: OWNER/bonwise@COMMIT
  with:
    files: scores.csv
    gates: |
      recovery=0.1
"""


@dataclass(frozen=True, slots=True)
class Task:
    """What is typed, which of it counts, and what does it."""

    name: str
    text: str
    counted: Callable[[str], int]
    most: int
    do: Callable[[Path, Path], str]


class TaskError(RuntimeError):
    """A task whose answer is not the right one."""


def lines(text: str) -> int:
    """Count the lines that are not blank."""
    return sum(bool(line.strip()) for line in text.splitlines())


def beginning(start: str) -> Callable[[str], int]:
    """Count the lines that begin so."""
    return lambda text: sum(line.startswith(start) for line in text.splitlines())


def ran(words: Sequence[str | Path], folder: Path, said: str, codes: Sequence[int] = (0,), **more: str) -> str:
    """Run a command and return its last line; what it says must hold `said`."""
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=folder, env=os.environ | more)
    if done.returncode not in codes or said not in done.stdout:
        raise TaskError(
            f"{' '.join(map(str, words))} ended with {done.returncode}: {done.stdout}{done.stderr}".strip()
        )
    return next((line for line in done.stdout.splitlines() if said in line), "").strip()


@contextmanager
def running(words: Sequence[str | Path], folder: Path, **more: str) -> Iterator[subprocess.Popen[str]]:
    """Keep a command running until the block ends."""
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=folder, env=os.environ | more) as process:
        try:
            yield process
        finally:
            process.terminate()


def _asked(port: int) -> tuple[dict[str, object], float]:
    body = json.dumps({"query": "Name a colour.", "documents": ["It is blue.", "Blue.", "Rather a kind of blue."]})
    request = urllib.request.Request(f"http://127.0.0.1:{port}/rerank", body.encode(), method="POST")
    until = time.monotonic() + 120
    while True:
        began = time.monotonic()
        try:
            with urllib.request.urlopen(request, timeout=60) as response:  # noqa: S310 - this machine
                return json.load(response), time.monotonic() - began
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)


def serve(python: Path, folder: Path) -> str:
    """Ask a service whose model answers, and one whose model takes half a minute: each its first request."""
    found = []
    for at, latency in enumerate((0.02, 30.0)):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        model = (python, "-m", "bonwise.testing.server", "--port", "0", "--latency", str(latency))
        service = (python, "-m", "uvicorn", "--log-level", "warning", "--port", str(port), "service:app")
        with running(model, folder) as started:
            assert started.stdout is not None
            address = started.stdout.readline().split()[-1]
            run = folder / str(at)
            run.mkdir()
            (run / "service.py").write_text(SERVICE, encoding="utf-8")
            with running(service, run, MODEL_URL=f"{address}/v1", OPENAI_API_KEY="none"):
                found.append(_asked(port))
    (quick, took), (late, seconds) = found
    if quick["decided_by"] == "first" or not quick["cost"] or late["decided_by"] != "first":
        raise TaskError(f"the service answered {found}")
    return (
        f"decided by {quick['decided_by']} after {took:.2f} s; "
        f"of a model that hangs by {late['decided_by']} after {seconds:.2f} s"
    )


def typed(name: str, text: str, said: str) -> Callable[[Path, Path], str]:
    """Write a program and run it."""

    def do(python: Path, folder: Path) -> str:
        (folder / name).write_text(text, encoding="utf-8")
        return ran((python, name), folder, said)

    return do


def notebook(python: Path, folder: Path) -> str:
    """Run a notebook of one cell: the audit is printed as text, and shown as part of a page with its figures."""
    cell = {"cell_type": "code", "source": AUDIT, "metadata": {}, "outputs": [], "execution_count": None}
    file = folder / "audited.ipynb"
    file.write_text(json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 4}), "utf-8")
    ran((python.with_name("jupyter-execute"), "--inplace", file), folder, "")
    printed, shown = json.loads(file.read_text("utf-8"))["cells"][0]["outputs"]
    verdict, html = printed["text"][0].strip(), "".join(shown["data"]["text/html"])
    if not verdict.startswith("Verdict") or "<svg" not in html:
        raise TaskError(f"the notebook shows {verdict!r} and {html[:200]!r}")
    return f"{verdict}, with {html.count('<svg')} figures"


def gate(python: Path, folder: Path) -> str:
    """Do what the action does with the lines of the workflow."""
    action = Path(__file__).resolve().parents[1] / "action" / "audit.sh"
    more = {"FILES": "scores.csv", "GATES": "recovery=0.1", "ARGUMENTS": "", "REPORTS": "reports"}
    path = f"{python.parent}:{os.environ['PATH']}"
    return ran(("bash", action), folder, "recovery", PATH=path, GITHUB_OUTPUT=str(folder / "outputs.txt"), **more)


TASKS = (
    Task("a reranking service with deadline and budget", SERVICE, lines, 15, serve),
    Task("an audit of a frame in a notebook", AUDIT, lines, 7, notebook),
    Task("a judge from a cross-encoder", ENCODER, beginning("judge ="), 1, typed("encoder.py", ENCODER, "very blue")),
    Task("best of 4 within 2 s", BEST_OF, beginning("@"), 1, typed("best.py", BEST_OF, "answers in")),
    Task("a gate in CI", GATE, lines, 5, gate),
)


def fresh(uv: Uv, work: Path, python: str) -> Path:
    """Install what the tasks need by name, and write the table that they audit."""
    interpreter = uv.install(work / "env", "bonwise[audit,serve]", python, uv.wheel(work / "wheel"))
    uv.checked("pip", "install", "--quiet", "--python", str(interpreter), "ipykernel", "nbclient")
    (work / "my_model.py").write_text(MODEL, encoding="utf-8")
    made = 'bonwise.testing.simulate("arena", n=300, seed=1).frame().to_csv("scores.csv", index=False)'
    ran((interpreter, "-c", f"import bonwise.testing; {made}"), work, "")
    return interpreter


def main(argv: Sequence[str] | None = None) -> int:
    """Do the tasks, print the table, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_uv_option(parser)
    parser.add_argument("--python", default="3.11", help="the Python to install for (default: %(default)s)")
    asked = parser.parse_args(argv)
    uv, rows, heavy = uv_of(parser, asked.uv), [], False
    try:
        with tempfile.TemporaryDirectory() as folder:
            work, began = Path(folder), time.monotonic()
            python = fresh(uv, work, asked.python)
            rows.append(
                (
                    "build, and install `bonwise[audit,serve]` and Jupyter",
                    "1",
                    f"{time.monotonic() - began:.1f} s",
                    "",
                )
            )
            for task in TASKS:
                began, count = time.monotonic(), task.counted(task.text)
                answer = task.do(python, work)
                rows.append((task.name, f"{count} of {task.most}", f"{time.monotonic() - began:.1f} s", answer))
                heavy = heavy or count > task.most
        print(markdown_table(("task", "lines", "seconds", "answer"), rows))
    except (UvError, TaskError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    return 1 if heavy else 0


if __name__ == "__main__":
    sys.exit(main())
