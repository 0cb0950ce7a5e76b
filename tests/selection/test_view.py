"""What is shown of a selection, in words and as the page of `bonwise select`."""

from __future__ import annotations

import html
import json
import re
import shlex
import signal
import threading
from pathlib import Path

import pytest

import bonwise as bw
from bonwise.calls.bill import Bill
from bonwise.cli.entry import run
from bonwise.cli.picks import MOST_POOLS, PickedPage
from bonwise.report.blocks import Cards, Part, Table, next_of
from bonwise.report.page.environment import MOST_BYTES, page_bytes
from bonwise.report.samples import LONGEST_TEXT
from bonwise.report.show import describe, markdown, notebook, page, text
from bonwise.routing.router import Router
from bonwise.selection.result import PickRecord, SelectionsDocument
from bonwise.selection.totals import Totals
from bonwise.table.pools import Candidate, Pool
from cli.commands import pool_file, typed
from cli.picked import picks
from cli.served import served
from crash.runs import Trap
from report.readers import HOSTILE, harmless, words
from selection.test_result import comparison, full, made, noted, routed, selection


def part(document, title):
    """Return a part of a description."""
    (found,) = (one for one in describe(document).blocks if isinstance(one, Part) and one.title == title)
    return found


def rows(document):
    """Return the rows of the pools."""
    (finder,) = (one for one in part(document, "Pools").blocks if isinstance(one, Table))
    return finder.rows


def facts(document):
    """Return the facts at the head of the page."""
    return [tuple(row.cells) for row in describe(document).blocks[0].rows]


def test_the_totals_come_first():
    """What decided, what was not scored and what it took stand before the pools, with their figures."""
    document = made(selection(), selection(prompt_id="q", decided_by="partial"))
    shown = words(page(document))
    parts = ("A candidate was picked in 2 of 2", "empty answer", "calls sent", "Each opens")
    order = [shown.index(one) for one in parts]
    assert order == sorted(order)
    assert "1 pick rests on less than was asked for" in shown
    assert "95% up to" in shown


def test_the_pools_are_for_pages_alone():
    """A terminal, Markdown and a notebook show what all picks come to, and no pool."""
    document = made(selection(), selection(prompt_id="q"))
    for shown in (text(document), markdown(document), notebook(document)):
        assert "A candidate was picked in 2 of 2 pools" in shown
        assert "the prompt" not in shown


def test_each_pool_opens_to_why():
    """A pool holds its prompt, its candidates with figures and reasons, and what decided; words name the pick."""
    pick = selection(standard_errors=(0.25, None), p_best=(0.9, 0.1), draws=(3, 1), stopped="the margin was reached")
    shown = words(page(made(pick, selection(prompt_id="q"))))
    for one in (
        "Asking stopped: the margin was reached",
        "the prompt",
        "picked",
        "score 1, se 0.25, P(best) 0.9, draws 3",
        "not scored: empty answer",
        "text of b",
        "Search prompts, candidates and reasons",
    ):
        assert one in shown, one


@pytest.mark.parametrize(
    ("costs", "said", "cells"),
    [
        ((0.5, 0.25), "tokens, $0.7500.", "US dollars $0.7500 $0.3750"),
        ((0.5, None), "tokens, at least $0.5000.", "US dollars at least $0.5000 at least $0.2500"),
        ((None, None), "tokens, cost unknown.", "US dollars unknown unknown"),
    ],
)
def test_a_cost_that_is_unknown_is_no_zero(costs, said, cells):
    """What is known of the cost is a lower bound where some pools have none, and nothing where none has."""
    bills = [Bill(calls=1, input_tokens=5, cost=cost) for cost in costs]
    shown = words(page(made(*(selection(prompt_id=f"p{at}", bill=bill) for at, bill in enumerate(bills)))))
    assert said in shown
    assert cells in shown


def test_a_pool_s_part_is_written_out():
    """What a pool took on average stands without a power of ten."""
    bills = [Bill(calls=1, input_tokens=spent, cost=0.0) for spent in (2_471_600, 0)]
    shown = words(page(made(*(selection(prompt_id=f"p{at}", bill=bill) for at, bill in enumerate(bills)))))
    assert "input tokens 2,471,600 1,235,800 output tokens" in shown


def test_scores_of_five_digits_stay_apart():
    """Scores that count letters are written out to the last one."""
    pick = selection(scores=(-12_361.0, -12_358.0), unscored={})
    shown = words(page(made(pick, selection(prompt_id="q"))))
    assert "-12,361" in shown
    assert "-12,358" in shown


def test_the_head_names_what_decided():
    """Judge, strategy with its parameters, routing, deadline and release are in the head, each where it is known."""
    told = {
        "judge": "pointwise:m",
        "judge_version": "pointwise@1",
        "parameters": [{"temperature": 0.0, "max_tokens": 9}, {"temperature": 1.0, "max_tokens": 9}],
        "strategy": "adaptive:margin=0.5",
        "signal": "interval_width",
        "share": 0.25,
        "strong": "pairwise:s",
        "deadline": 50.0,
        "seed": 3,
    }
    picks = selection(), selection(prompt_id="q")
    assert facts(made(*picks, **told)) == [
        ("pools", "2"),
        ("judge", "pointwise:m"),
        ("judge version", "pointwise@1"),
        ("asked with", "max_tokens=9, temperature=0.0; max_tokens=9, temperature=1.0"),
        ("strategy", "adaptive:margin=0.5"),
        ("routed", "by interval_width, share 0.25, to pairwise:s"),
        ("deadline", "50 s per pool"),
        ("on failure", "owe"),
        ("seed", "3"),
        ("bonwise", "1.2.3"),
    ]
    assert dict(facts(made(*picks, strong="pairwise:s")))["routed"] == "to pairwise:s"
    assert {"routed", "deadline", "asked with"}.isdisjoint(dict(facts(made(*picks))))


def test_many_sets_of_parameters_are_cut():
    """Of six sets of parameters four are named and the others counted; a set that comes again is the same."""
    sets = [{"temperature": at % 6} for at in range(12)]
    told = dict(facts(made(selection(), parameters=sets)))["asked with"]
    assert told == "temperature=0; temperature=1; temperature=2; temperature=3; 2 more"


def test_a_page_that_shows_fewer_pools_says_so():
    """The number shown and the number there are stand beside each other."""
    document = made(*(selection(prompt_id=f"p{at}") for at in range(3)))
    shown = words(page(document.model_copy(update={"picks": document.picks[:2]})))
    assert "The first 2 of 3 pools are shown; the others are in the output of the command." in shown


def test_why_pools_are_missing_is_said():
    """A run that ended early says so, also where one pool was picked."""
    document = made(selection(), ended="the run was interrupted")
    assert "Not all pools are here: the run was interrupted." in text(document)


def test_comparisons_routes_and_failures_are_told():
    """Pairs with their order effect, the stronger judge, and what went wrong are on the page."""
    shown = words(page(made(full(), selection(prompt_id="q"))))
    for one in (
        "Decided by strong judge (signal above 0.1, signal 0.125); the first pass alone would have kept b",
        "What went wrong: the server was gone",
        "Expected loss against the best candidate: 0.02.",
        "The seed decided among 2 candidates.",
        "picked, one of 2 tied",
        "no verdict",
        "A stronger judge decided 1 of 1 pool (100%) and changed 1 pick.",
        "1 pool never reached the router.",
        "Position effect of being shown first: +1.00 on average",
        "1 comparison has no verdict.",
    ):
        assert one in shown, one


def test_many_comparisons_are_cut():
    """Of 300 comparisons of a pool 100 are shown and the others counted."""
    pick = selection(comparisons=tuple(comparison("a", "b", 1.0, None) for _ in range(300)))
    (row,) = rows(made(pick))
    *_, table, note = row.inside
    assert (len(table.rows), note.text) == (100, "200 more comparisons are in the output of the command.")


def test_a_single_pick_shows_its_candidates(tmp_path):
    """A pick of Python begins with the text that was picked; then who it is, and how the candidates stand."""
    pick = bw.select("Say hi", ["hello <b>", "hi"], judge=lambda _, text: -len(text))
    text, blank, *lines = str(pick).splitlines()
    assert (text, blank) == ("hi", "")
    assert lines[0] == "Verdict: c1 is picked"
    assert lines[3] == "c1, decided by score: every candidate was scored once"
    assert [line.split() for line in lines[6:8]] == [["c1", "-2"], ["c0", "-9"]]
    assert str(pick).splitlines()[-1] == "0 calls, 0 answers from a ledger, 0 tokens"
    pick.to_html(tmp_path / "pick.html")
    for shown in (words((tmp_path / "pick.html").read_text("utf-8")), words(pick._repr_html_())):
        assert "c1, decided by score: every candidate was scored once" in shown
        assert "c1 -2 c0 -9" in shown
        assert "Decided by score: one candidate had the highest score." in shown
    # A page says it where the pool is opened, too.
    assert words(pick._repr_html_()).count("Decided by score: one candidate had the highest score.") == 1
    assert "<script" not in pick._repr_html_()
    assert "| c1 | -2 |" in pick.to_markdown()


def test_a_file_of_one_pool_says_who_was_picked():
    """Where the title names the file the pick stands below it."""
    assert text(made(selection())).splitlines()[3:5] == [
        "Picks from pools.jsonl",
        "a, decided by score: every candidate was scored once",
    ]


def test_all_that_is_known_of_a_single_pick_is_in_its_text():
    """Errors, chances, draws and reasons have columns where there are some; failures and routes are said."""
    said = str(full())
    assert [line.split() for line in said.splitlines() if line.startswith(("candidate", "a "))] == [
        ["candidate", "score", "se", "P(best)", "draws", "why", "not"],
        ["a", "1", "0.25", "0.9", "3"],
    ]
    for one in ("What went wrong: the server was gone.", "Decided by strong judge (signal above 0.1", "empty answer"):
        assert one in said, one


def test_no_pick_is_said():
    """Where nothing was picked every reader is told, and why."""
    nothing = {"best": None, "best_id": None, "index": None, "text": None, "ranking": (), "scores": (None, None)}
    pick = selection(**nothing, decided_by="nothing scored")
    assert str(pick).startswith("Verdict: no pick\n")
    assert "no pick, decided by nothing scored: " in str(pick)
    assert "no judge gave any candidate a score" in words(pick._repr_html_())


def test_parts_without_anything_to_say_are_left_out():
    """Where all was scored and nothing routed there are totals and costs alone."""
    document = made(selection(unscored={}), selection(unscored={}, prompt_id="q"))
    titles = [one.title for one in describe(document).blocks if isinstance(one, Part)]
    assert set(titles) - {"all picked", "not all picked"} == {
        *("What was picked", "What it took", "Pools", "What this does not establish")
    }


def test_half_a_surrogate_pair_is_written_out(tmp_path):
    """A text that no file can hold is on the page, with the half written out."""
    pick = bw.select("Say \ud800", ["lone \udfff half"], judge=lambda _, text: len(text))
    pick.to_html(tmp_path / "pick.html")
    assert "lone \\udfff half" in words((tmp_path / "pick.html").read_text("utf-8"))


def test_whatever_a_judge_or_a_service_said_stays_text():
    """Reasons, failures, names and words of pools are text in the totals and in every opened pool."""
    bad = HOSTILE
    pick = selection(
        ids=("a" + bad, "b"),
        best="b",
        best_id="b",
        index=1,
        scores=(None, 1.0),
        ranking=("b",),
        unscored={"a" + bad: "why " + bad},
        failure="failure " + bad,
        stopped="stopped " + bad,
        comparisons=(comparison("a" + bad, "b", 0.5, 1.0),),
        routed=routed("strong " + bad, 0.1, "route " + bad, first_pick="a" + bad),
    )
    told = {"judge": "judge " + bad, "strategy": bad, "signal": bad, "strong": bad, "ended": "ended " + bad}
    document = made(pick, selection(prompt_id="q" + bad), words={"a" + bad: "words " + bad}, **told)
    harmless(pick.document())
    harmless(document)
    shown = words(page(document))
    for what in ("why", "failure", "stopped", "strong", "route", "words", "judge", "ended"):
        assert f"{what} <script>alert(1)</script>" in shown, what


def test_long_names_are_cut_and_stay_apart():
    """Names that begin alike are cut at 300 characters, and each keeps its own figures, place and text."""
    names = ("n" * 400 + "a", "n" * 400 + "b")
    pick = selection(
        ids=names,
        best=names[1],
        best_id=names[1],
        index=1,
        ranking=(names[1],),
        scores=(None, 0.75),
        unscored={names[0]: "why"},
        comparisons=(comparison(*names, 0.5, 1.0),),
    )
    row, _ = rows(made(pick, selection(prompt_id="q"), words={name: f"text {name[-1]}" for name in names}))
    (cards,) = (one for one in row.inside if isinstance(one, Cards))
    assert {len(name) for name in (row.cells[1], *row.inside[-1].rows[0].cells[:2])} == {300}
    assert [(len(one.title), one.blocks[0].text, len(one.marks), one.note) for one in cards.cards] == [
        (300, "text b", 1, ""),
        (300, "text a", 0, "not scored: why"),
    ]


def shown_next(document):
    """Return the commands that the verdict of a page holds."""
    verdicts = [one for one in describe(document).blocks if getattr(one, "role", "") == "verdict"]
    return [said.text for one in next_of(verdicts) for said in one.blocks if said.role == "command"]


def test_what_the_verdict_says_is_not_said_again():
    """How many pools have a pick stands once on a page, and in a text."""
    document = made(selection(), selection(prompt_id="q"))
    assert words(page(document)).count("A candidate was picked in 2 of 2 pools") == 1
    assert text(document).count("A candidate was picked in 2 of 2 pools") == 1


def test_the_commands_that_come_next_run_as_they_stand(tmp_path, monkeypatch, capsys):
    """The sheet is drawn, and its export has the name that an audit is told to read."""
    monkeypatch.chdir(tmp_path)
    pools = [{"prompt_id": f"p{at}", "prompt": "Say", "candidates": ["a", "b"]} for at in range(120)]
    Path("my pools.jsonl").write_text("".join(json.dumps(one) + "\n" for one in pools), encoding="utf-8")
    few = shown_next(made(selection(), selection(prompt_id="q"), source="my pools.jsonl"))
    many = shown_next(made(*(selection(prompt_id=f"p{at}") for at in range(120)), source="my pools.jsonl"))
    assert [len(few), len(many)] == [1, 1]
    for command, drawn in ((few[0], 120), (many[0], 100)):
        program, *arguments = shlex.split(command)
        assert program == "bonwise"
        assert run(arguments) == 0
        told = capsys.readouterr().out
        assert f"{drawn * 2} responses" in told
        assert "sheet-labels.csv" in told
        Path("sheet.html").unlink()


def test_a_single_pick_of_python_is_no_file_of_picks():
    """No command is given that reads a file which is not there; of picks from standard input nothing is drawn."""
    assert shown_next(made(selection(), source=None)) == []
    assert shown_next(made(selection(), selection(prompt_id="q"), source="-")) == []


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
    pick["comparisons"] = tuple(comparison(names[0], other, 1.0, None) for other in names[1:])
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


def test_a_pick_explains_itself():
    """The example of the docs is what it prints; ranks of members and how far they are apart are those of a hand."""
    judge = bw.Jury(["local:length", "local:format", "local:lexical"], rule="median")
    pick = bw.select("Name a colour of the sky.", ["Blue", "I like the colour of the sky", "Blue.", ""], judge=judge)
    shown = pick.explain()
    assert shown in (Path(__file__).parents[2] / "docs" / "selection.md").read_text("utf-8")
    # Ranks of c0, c1, c2: length 3 1 2, format 2.5 2.5 1, lexical 2.5 1 2.5. Format is 1/4, 3/2 and 5/4 from the mean
    # of the others, which is 1 on average.
    assert pick.members["local:lexical"][3] is None
    assert pick.members["local:format"][:3] == (0.75, 0.75, 0.875)
    assert "on c1, c2: their ranks are 1.5 apart" in shown
    assert "local:format, on average 1.00 ranks" in shown


def test_a_member_without_a_score_says_why():
    """A member without a score keeps its reason, made printable; hostile names and words are harmless."""

    def fails(prompt, text):
        return None if "alert" in text else 1.0

    judge = bw.Jury([bw.FunctionJudge(fails), "local:length", bw.FunctionJudge(lambda _, text: -len(text))])
    pick = bw.select("?", [bw.Candidate(HOSTILE, HOSTILE), bw.Candidate("b", "b c")], judge=judge)
    shown = pick.explain()
    assert pick.members["fails"] == ("the function returned nothing", 1.0)
    assert "the function returned nothing" in shown
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    document = pick.document()
    assert (
        SelectionsDocument.model_validate(document.to_dict()).picks[0].pick.members == document.picks[0].pick.members
    )
    broken = {**pick.to_dict(), "members": {"x": [1.0]}}
    with pytest.raises(ValueError, match="of each candidate for each of its members"):
        PickRecord.model_validate(broken)


def test_members_that_agree_and_a_judge_without_any():
    """Members of one order are said to agree; a judge alone shows its own words, and no table of members."""
    alike = bw.select(
        "?", ["a", "a b c"], judge=bw.Jury(["local:length", bw.FunctionJudge(lambda _, text: len(text))])
    )
    assert "The members rank the candidates alike." in alike.explain()
    words = bw.select("?", ["a", "b"], judge=lambda _, text: (1.0 if text == "a" else 0.5, f"because of {text}"))
    assert words.members == {}
    assert "The judge said of c0\nbecause of a" in words.explain()
    assert "member" not in words.explain()
    tied = bw.select("?", ["a", "b"], judge=lambda *_: 1.0)
    assert "c0, c1 share the highest score." in tied.explain().replace("c1, c0", "c0, c1")


def test_draws_of_members_are_their_mean():
    """A strategy that asks again adds draws: a member's score is their mean, a missing draw is left out."""
    values = {"a": iter([0.0, None, 0.5]), "b c": iter([1.0, 1.0, 1.0])}
    judge = bw.Jury([bw.FunctionJudge(lambda _, text: next(values[text])), "local:length"])
    pick = bw.select("?", ["a", "b c"], judge=judge, strategy=bw.Resample(draws=3))
    assert pick.members["<lambda>"] == (0.25, 1.0)


def test_a_routed_pick_says_who_was_asked():
    """The stronger judge's own members stand in the table, for those that it was shown."""
    strong = bw.Jury(["local:length", "local:format"])
    router = Router(strong, signal="margin", share=1.0, among="contenders")
    texts = ["a", "bb", "", None, "ccc."]
    pick = bw.select("?", texts, judge=lambda _, text: float(len(text) < 3), router=router)
    shown = " ".join(pick.explain().split())
    assert pick.routed.strong == strong.name
    assert "<lambda> judged by greedy first." in shown
    assert f"{strong.name} was then asked about c0, c1." in shown
    assert [its[2:] for its in pick.members.values()] == [("empty answer", None, None)] * 2


def test_a_rubric_shows_each_criterion(tmp_path, monkeypatch):
    """One row per criterion and candidate, under the criterion's name, and no word of disagreement."""
    with served(monkeypatch, tmp_path):
        pick = bw.select("?", ["one", "two"], judge=bw.Rubric("openai/m"))
    shown = pick.explain()
    assert len(pick.members) == 4
    assert "What each criterion says" in shown
    assert shown.count("\n  follows ") == shown.count("\n  brief ") == 2
    assert "disagree" not in shown
