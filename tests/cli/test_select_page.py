from __future__ import annotations

import html
import re
import signal
import threading
from pathlib import Path

import pytest

from bonwise.cli.picks import MOST_POOLS, PickedPage
from bonwise.report.page.environment import LONGEST_TEXT, MOST_BYTES, page_bytes
from bonwise.report.show import page
from bonwise.selection.selection import Comparison
from bonwise.selection.totals import Totals
from bonwise.table.pools import Candidate, Pool
from cli.commands import pool_file, typed
from cli.picked import picks
from cli.served import served
from cli.test_picked_page import noted
from crash.runs import Trap
from selection.test_totals import selection

POOLS = {f"p{at}": [f"answer {at}.{one}" + " more" * one for one in range(3)] for at in range(6)}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Work in a folder with six pools of three."""
    monkeypatch.chdir(tmp_path)
    pool_file("pools.jsonl", POOLS)
    return tmp_path


def seen(path="page.html"):
    """Return the text of the page."""
    body = re.sub(r"<(style|script)[^>]*>.*?</\1>", "", Path(path).read_text("utf-8"), flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", body)).split())


def test_the_page_holds_what_was_picked(capsys, folder):
    """The output is what it is without a page; the page holds every pool with its words and its pick."""
    plain = typed(capsys, "select", "pools.jsonl", "--judge", "local:length")
    done = typed(capsys, "select", "pools.jsonl", "--judge", "local:length", "--html", "page.html")
    assert (done.code, [one["best"] for one in picks(done)]) == (0, [one["best"] for one in picks(plain)])
    text = seen()
    for prompt_id, candidates in POOLS.items():
        assert f"The prompt {prompt_id}" in text
        assert all(candidate in text for candidate in candidates)
    assert "A candidate was picked in 6 of 6 pools (100%)." in text


def test_pools_from_a_pipe_have_a_page(capsys, folder, monkeypatch):
    """Standard input is read once, and the page still holds prompts and texts."""
    with Path("pools.jsonl").open(encoding="utf-8") as stream:
        monkeypatch.setattr("sys.stdin", stream)
        done = typed(capsys, "select", "-", "--judge", "local:length", "--html", "page.html")
    assert done.code == 0, done.err
    assert "The prompt p5" in seen()
    assert "answer 0.1 more" in seen()


def test_costs_and_what_is_owed_are_on_the_page(capsys, folder, monkeypatch):
    """A run that owes answers ends as it does without a page, and leaves one; no key is on it."""
    key = "sk-a-secret-key-that-nobody-may-see"
    with served(monkeypatch, folder):
        monkeypatch.setenv("OPENAI_API_KEY", key)
        command = ("select", "pools.jsonl", "--judge", "pointwise:openai/m", "--html", "page.html")
        owed = typed(capsys, *command, "--max-calls", "9")
        part = seen()
        whole = typed(capsys, *command)
    assert (owed.code, whole.code) == (4, 0), owed.err
    assert re.search(r"owed \d 50.0%|owed 3", part)
    assert "9 calls sent" in part
    assert "9 calls sent, 18 answers used" in seen()
    assert key not in Path("page.html").read_text("utf-8")


def test_an_interrupted_run_leaves_its_page(capsys, folder, monkeypatch):
    """After Ctrl-C the page holds the picks that were made, and says why the others are missing."""
    pool_file("pools.jsonl", {f"p{at}": ["a", "b"] for at in range(400)})
    trap, main = Trap(), threading.main_thread().ident
    trap.set((40, 0.0, lambda: signal.pthread_kill(main, signal.SIGINT)))
    with served(monkeypatch, folder, on_paid=trap):
        done = typed(
            capsys,
            "select",
            "pools.jsonl",
            "--judge",
            "pointwise:openai/m",
            "--max-concurrency",
            "2",
            "--html",
            "page.html",
        )
    assert done.code == 130, done.err
    text = seen()
    assert "Not all pools are here: the run was interrupted." in text
    assert 0 < len(picks(done)) < 400
    assert f"pools {len(picks(done)):,} judge" in text


def test_a_bad_line_leaves_the_picks_before_it(capsys, folder, monkeypatch):
    """Where a later line of a pipe is not a pool, the error is as without a page, which is still written."""
    Path("pools.jsonl").write_text(Path("pools.jsonl").read_text("utf-8") + "{\n", encoding="utf-8")
    with Path("pools.jsonl").open(encoding="utf-8") as stream:
        monkeypatch.setattr("sys.stdin", stream)
        done = typed(capsys, "select", "-", "--judge", "local:length", "--html", "page.html")
    assert done.code == 2
    assert "row 7" in done.err
    assert "Not all pools are here: an error ended the run." in seen()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--html", "absent/page.html"), "absent: no such folder"),
        (("--html", "."), "--html takes the name of a file"),
        (("--html", "pools.jsonl"), "is read or written already"),
        (("--html", "page.html", "--dry-run"), "there is no page"),
    ],
)
def test_a_page_that_cannot_be_is_refused_first(capsys, folder, arguments, words):
    """Before anything is asked one line says what is wrong; nothing is picked."""
    done = typed(capsys, "select", "pools.jsonl", "--judge", "local:length", *arguments)
    assert (done.code, done.out) == (2, "")
    assert words in done.err


def test_memory_is_bounded(tmp_path):
    """Of many pools with long texts 500 are kept, each text cut, all texts within their bound; all are counted."""
    collected = PickedPage(tmp_path / "page.html", "pools.jsonl", Totals())

    def pools():
        for at in range(MOST_POOLS + 200):
            yield Pool(f"p{at}", "q" * 10_000, (Candidate("a", "\u4e2d" * 10_000), Candidate("b", "y" * 10)))

    for pool in collected.passing(pools()):
        noted(collected, selection(prompt_id=pool.prompt_id))
    document = collected.document("")
    texts = [one.text for each in document.picks for one in each.candidates]
    prompts = [each.prompt for each in document.picks]
    assert (len(document.picks), document.of) == (MOST_POOLS, MOST_POOLS + 200)
    assert max(map(len, texts)) == LONGEST_TEXT
    assert 5_500_000 < sum(map(page_bytes, [*texts, *prompts])) <= MOST_BYTES
    assert {each.prompt_left_out for each in document.picks} == {6_000, 10_000}
    assert all(
        len(one.text) + one.text_left_out in (10, 10_000) for each in document.picks for one in each.candidates
    )


@pytest.mark.parametrize(
    ("text", "name"),
    [("\u4e2d" * 4000, "c"), ("<a href=\"'&'\">" * 300, "c"), ("x" * 500, "n" * 4000)],
    ids=["chinese", "markup", "names"],
)
def test_the_page_stays_light_whatever_it_shows(tmp_path, text, name):
    """Texts whose letters take several bytes, and long names, leave a page of 500 pools below 8 MB."""
    collected = PickedPage(tmp_path / "page.html", "pools.jsonl", Totals())
    names = tuple(f"{name}{at}" for at in range(4))
    pick = {"ids": names, "scores": (1.0,) * 4, "ranking": names, "best_id": names[0], "unscored": {}}
    pick["comparisons"] = tuple(Comparison(names[0], other, 1.0, None) for other in names[1:])
    pools = (Pool(f"p{at}", text, tuple(Candidate(one, text) for one in names)) for at in range(MOST_POOLS))
    for pool in collected.passing(pools):
        noted(collected, selection(prompt_id=pool.prompt_id, **pick))
    size = len(page(collected.document("")).encode())
    assert 2_000_000 < size < 8_000_000


def test_pools_of_many_candidates_are_bounded(tmp_path):
    """Candidates and comparisons of all pools that are shown stay below 20,000."""
    collected = PickedPage(tmp_path / "page.html", "pools.jsonl", Totals())
    names = tuple(f"c{at}" for at in range(3000))
    many = {"ids": names, "scores": (1.0,) * 3000, "ranking": names, "best_id": "c0", "unscored": {}}
    candidates = tuple(Candidate(name, "x") for name in names)
    for pool in collected.passing(Pool(f"p{at}", "q", candidates) for at in range(10)):
        noted(collected, selection(prompt_id=pool.prompt_id, **many))
    shown = collected.document("").picks
    assert len(shown) == 6
    assert {one.prompt for one in shown} == {"q"}


def test_names_that_would_fill_the_page_end_it(tmp_path):
    """Where names alone take 6,000,000 bytes further pools are not shown."""
    collected = PickedPage(tmp_path / "page.html", "pools.jsonl", Totals())
    names = tuple('"' * 300 + str(at) for at in range(20))
    pick = {"ids": names, "scores": (1.0,) * 20, "ranking": names, "best_id": names[0], "unscored": {}}
    candidates = tuple(Candidate(name, "x") for name in names)
    for pool in collected.passing(Pool(f"p{at}", "q", candidates) for at in range(MOST_POOLS)):
        noted(collected, selection(prompt_id=pool.prompt_id, **pick))
    assert 150 < len(collected.document("").picks) < 200
