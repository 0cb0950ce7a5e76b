from __future__ import annotations

import html
import re

import pytest

import bonwise as bw
from bonwise.calls.bill import Bill
from bonwise.report.page.pages import fragment, page
from bonwise.report.page.selection_page import selection_page, selection_sections
from selection.test_totals import selection, totals


def document(*picks, **settings):
    """Return the document of picks without words."""
    words = [{"id": name, "text": f"text of {name}"} for name in ("a", "b")]
    lines = [{"pick": pick.to_dict(), "prompt": "the prompt", "candidates": words} for pick in picks]
    return {
        "schema": "bonwise.selections/1",
        "settings": {"source": "pools.jsonl", "judge": "j", **settings},
        "totals": totals(*picks),
        "picks": lines,
        "of": len(picks),
    }


def seen(markup):
    """Return the text of some markup."""
    body = markup.replace("<wbr>", "")
    body = re.sub(r"<(style|script)[^>]*>.*?</\1>", "", body, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", body)).split())


def test_the_totals_come_first():
    """What decided, what was not scored and what it took stand before the pools, with their figures."""
    text = seen(page(document(selection(), selection(prompt_id="q", decided_by="partial"))))
    parts = ("A candidate was picked in 2 of 2", "empty answer", "calls sent", "Each opens")
    order = [text.index(part) for part in parts]
    assert order == sorted(order)
    assert "1 pick rests on less than was asked for" in text
    assert "95% up to" in text


def test_each_pool_opens_to_why():
    """A pool holds its prompt, its candidates with figures and reasons, and what decided; words name the pick."""
    pick = selection(standard_errors=(0.25, None), p_best=(0.9, 0.1), draws=(3, 1), stopped="the margin was reached")
    text = seen(page(document(pick, selection(prompt_id="q"))))
    for part in (
        "Asking stopped: the margin was reached",
        "the prompt",
        "picked",
        "score 1 , se 0.25 , P(best) 0.9 , draws 3",
        "not scored: empty answer",
        "text of b",
    ):
        assert part in text, part


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
    text = seen(page(document(*(selection(prompt_id=f"p{at}", bill=bill) for at, bill in enumerate(bills)))))
    assert said in text
    assert cells in text


@pytest.mark.parametrize(
    ("spent", "pools", "cells"),
    [
        (24_716, 2, "24,716 12,358"),
        (2_471_600, 2, "2,471,600 1,235,800"),
        (5, 2, "5 2.5"),
        (1, 3, "1 0.333"),
        (10, 2, "10 5"),
        (0, 2, "0 0"),
    ],
)
def test_a_pool_s_part_is_written_out(spent, pools, cells):
    """What a pool took on average stands without a power of ten: whole from 100 up, three digits below."""
    bills = [Bill(calls=1, input_tokens=spent if at == 0 else 0, cost=0.0) for at in range(pools)]
    text = seen(page(document(*(selection(prompt_id=f"p{at}", bill=bill) for at, bill in enumerate(bills)))))
    assert f"input tokens {cells} output tokens" in text


def test_what_is_next_to_nothing_a_pool_is_said_to_be():
    """One call in 20,000 pools is less than a thousandth of a call a pool, and more than none."""
    made = document(selection(), selection(prompt_id="q"))
    made["totals"] |= {"pools": 20_000, "calls": 1}
    assert "calls sent 1 under 0.001" in seen(page(made))


def test_scores_of_five_digits_stay_apart():
    """Scores that count letters are written out to the last one."""
    pick = selection(scores=(-12_361.0, -12_358.0), unscored={})
    text = seen(page(document(pick, selection(prompt_id="q"))))
    assert "-12,361" in text
    assert "-12,358" in text


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
        "on_failure": "owe",
        "seed": 3,
        "version": "1.2.3",
    }
    picks = selection(), selection(prompt_id="q")
    assert selection_page(document(*picks, **told)).facts == [
        ("pools", "2"),
        ("judge", "pointwise:m"),
        ("judge version", "pointwise@1"),
        ("asked with", "max_tokens=9, temperature=0.0; max_tokens=9, temperature=1.0"),
        ("strategy", "adaptive:margin=0.5"),
        ("routed", "by interval_width, share 0.25, to pairwise:s"),
        ("deadline", "50 s a pool"),
        ("on failure", "owe"),
        ("seed", "3"),
        ("bonwise", "1.2.3"),
    ]
    bare = document(*picks, strong="pairwise:s", deadline=None)
    assert selection_page(bare).facts == [("pools", "2"), ("judge", "j"), ("routed", "to pairwise:s")]


def test_many_sets_of_parameters_are_cut():
    """Of six sets of parameters four are named and the others counted; a set that comes again is the same."""
    sets = [{"temperature": at % 6} for at in range(12)]
    facts = dict(selection_page(document(selection(), parameters=sets)).facts)
    assert facts["asked with"] == "temperature=0; temperature=1; temperature=2; temperature=3; 2 more"


def test_a_page_that_shows_fewer_pools_says_so():
    """The number shown and the number there are stand beside each other."""
    given = document(*(selection(prompt_id=f"p{at}") for at in range(3)))
    text = seen(page({**given, "picks": given["picks"][:2]}))
    assert "The first 2 of 3 pools are shown; the others are in the output of the command." in text


def test_why_pools_are_missing_is_said():
    """A run that ended early says so."""
    picks = selection(), selection(prompt_id="q")
    assert "Not all pools are here: the run was interrupted." in seen(
        page(document(*picks, ended="the run was interrupted"))
    )


def test_comparisons_routes_and_failures_are_told():
    """Pairs with their order effect, the stronger judge, and what went wrong are on the page."""
    from bonwise.selection.selection import Comparison, Routed  # noqa: PLC0415 - names of this test alone

    pick = selection(
        comparisons=(Comparison("a", "b", 0.5, 1.0), Comparison("b", "a", None, None)),
        routed=Routed("strong judge", 0.125, "signal above 0.1", first_pick="b"),
        failure="the server was gone",
    )
    text = seen(page(document(pick, selection(prompt_id="q"))))
    for part in (
        "Decided by strong judge (signal above 0.1, signal 0.125); the first pass alone would have kept b",
        "What went wrong: the server was gone",
        "no verdict",
        "A stronger judge decided 1 of 1 pool (100.0%), 1 of them otherwise",
        "Being shown first was worth +1.000 on average",
    ):
        assert part in text, part


def test_many_comparisons_are_cut():
    """Of 300 comparisons of a pool 100 are shown and the others counted."""
    from bonwise.selection.selection import Comparison  # noqa: PLC0415 - a name of this test alone

    pick = selection(comparisons=tuple(Comparison("a", "b", 1.0, None) for _ in range(300)))
    laid_out = selection_page(document(pick))
    (row,) = laid_out.picks.rows
    assert (len(row["comparisons"]), row["comparisons_left_out"]) == (100, 200)


def test_a_single_pick_shows_its_candidates(tmp_path):
    """A pick of Python has a page and a part of a notebook: candidates with scores, the best first and named."""
    pick = bw.select("Say hi", ["hello <b>", "hi"], judge=lambda _, text: -len(text))
    pick.to_html(tmp_path / "pick.html")
    for text in (seen((tmp_path / "pick.html").read_text("utf-8")), seen(pick._repr_html_())):
        assert "Kept: c1." in text
        assert re.search(r"c1 -2 1 picked\s+c0 -9 1", text)
    assert "<script" not in pick._repr_html_()


def test_no_pick_is_said():
    """Where nothing was picked the page says so, and why."""
    pick = selection(
        best=None, best_id=None, index=None, ranking=(), decided_by="nothing scored", scores=(None, None)
    )
    text = seen(fragment(document(pick)))
    assert "Nothing was picked." in text
    assert "no judge gave any candidate a score" in text


def test_sections_are_of_the_totals():
    """Sections without anything to say are left out."""
    found = selection_sections(document(selection(unscored={}), selection(unscored={}, prompt_id="q")))
    assert [one.anchor for one in found] == ["picked", "cost"]


def test_half_a_surrogate_pair_is_written_out(tmp_path):
    """A text that no file can hold is on the page, with the half written out."""
    pick = bw.select("Say \ud800", ["lone \udfff half"], judge=lambda _, text: len(text))
    pick.to_html(tmp_path / "pick.html")
    assert "lone \\udfff half" in seen((tmp_path / "pick.html").read_text("utf-8"))


def test_whatever_a_judge_or_a_service_said_stays_text():
    """Reasons, failures, names and words of pools are escaped in the totals and in every opened pool."""
    from bonwise.selection.selection import Comparison, Routed  # noqa: PLC0415 - names of this test alone

    bad = '<script>alert(1)</script><img src=x onerror="alert(2)">'
    pick = selection(
        ids=("a" + bad, "b"),
        best_id="b",
        ranking=("b",),
        unscored={"a" + bad: "why " + bad},
        failure="failure " + bad,
        stopped="stopped " + bad,
        comparisons=(Comparison("a" + bad, "b", 0.5, 1.0),),
        routed=Routed("strong " + bad, 0.1, "route " + bad, first_pick="a" + bad),
    )
    made = document(pick, selection(prompt_id="q" + bad))
    made["picks"] = [
        {**one, "prompt": "prompt " + bad, "candidates": [{"id": "a" + bad, "text": bad}]} for one in made["picks"]
    ]
    made["settings"] |= {
        "judge": "judge " + bad,
        "source": "source " + bad,
        "strategy": bad,
        "signal": bad,
        "strong": bad,
    }
    for text in (page(made), fragment(made)):
        assert "<img src=x" not in text
        assert "<script>alert" not in text
    for what in ("why", "failure", "stopped", "strong", "route", "prompt", "judge", "source"):
        assert f"{what} <script>alert(1)</script>" in seen(page(made)), what


def test_long_names_are_cut_and_stay_apart():
    """Names that begin alike are cut at 300 characters, and each keeps its own figures, place and text."""
    from bonwise.selection.selection import Comparison  # noqa: PLC0415 - a name of this test alone

    names = ("n" * 400 + "a", "n" * 400 + "b")
    pick = selection(
        ids=names,
        best_id=names[1],
        ranking=(names[1],),
        scores=(None, 0.75),
        unscored={names[0]: "why"},
        comparisons=(Comparison(*names, 0.5, 1.0),),
    )
    made = document(pick, selection(prompt_id="q"))
    made["picks"][0]["candidates"] = [{"id": name, "text": f"text {name[-1]}"} for name in names]
    row = selection_page(made).picks.rows[0]
    assert {len(name) for name in (row["best"], *row["comparisons"][0][:2])} == {300}
    assert [(len(one["id"]), one["text"], one["picked"], one["reason"]) for one in row["candidates"]] == [
        (300, "text b", True, ""),
        (300, "text a", False, "why"),
    ]
