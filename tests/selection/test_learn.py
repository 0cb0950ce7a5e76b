"""What is learnt of draws: typed, as a document, in words."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bonwise.report.show import text
from bonwise.selection.draw_model import load_model, read_pilot
from bonwise.selection.learning import learn
from bonwise.selection.learnt import LearnDocument
from bonwise.selection.learnt_draws import DrawModel
from bonwise.table.score_table import ScoreTable
from bonwise.testing import simulate
from cli.commands import strict, typed, written
from report.readers import HOSTILE, harmless, lost
from results.round_trips import read_back, refusal


@pytest.fixture
def pilot(tmp_path, monkeypatch):
    """Write a pilot of 200 pools with five draws each; return its draws."""
    monkeypatch.chdir(tmp_path)
    drawn = simulate("pilot", n=200, seed=3, draws=5)
    drawn.frame().to_csv("scores.csv", index=False)
    return drawn.draws


def test_what_is_learnt_is_saved_and_said(capsys, pilot):
    """The file holds the model of the draws, and the document and the words tell its figures."""
    done = typed(capsys, "study", "draws", "scores.csv", "--save", "voi.json", "--json", "learnt.json")
    assert (done.code, done.err) == (0, "")
    model = DrawModel.fit(pilot)
    assert load_model("voi.json") == model
    document = strict(Path("learnt.json").read_text("utf-8"))
    assert document["schema"] == "bonwise.learn/1"
    assert (document["prompts"], document["draws"], document["first_calls"]) == (200, 5, "draw_0")
    assert document["beta"] == model.prior.beta
    assert [point["mean_calls"] for point in document["prices"]] == [5, 6, 8, 12, 16]
    assert "200 prompts" in done.out
    assert "value_of_information:mean_calls=6,model=voi.json" in done.out


def test_the_document_is_what_the_function_returns(capsys, pilot):
    """The command writes the function's result, which also holds the model of the draws."""
    learnt = learn("scores.csv", max_draws=6, seed=2)
    done = typed(capsys, "study", "draws", "scores.csv", "--max-draws", "6", "--seed", "2", "--json", "-")
    assert learnt.to_dict() == strict(done.out)
    assert learnt.model == DrawModel.fit(pilot, max_draws=6, seed=2)


def test_the_price_of_a_number_of_calls(capsys, pilot):
    """A mean number of calls is answered by its price; one that cannot be is refused."""
    done = typed(capsys, "study", "draws", "scores.csv", "--mean-calls", "9", "--json", "-")
    prices = DrawModel.fit(pilot).prices_for(9)
    named = {"lower_price": prices.lower, "higher_price": prices.higher, "share_at_lower": prices.share}
    assert strict(done.out)["prices"] == [{"mean_calls": 9.0, **named}]
    done = typed(capsys, "study", "draws", "scores.csv", "--mean-calls", "3")
    assert done.code == 2
    assert "--mean-calls is 3" in done.err


def test_long_draws_are_the_same(capsys, pilot):
    """Draws in rows of their own teach what draws in columns do."""
    rows = [
        {"prompt_id": f"p{x:07d}", "candidate": f"c{i}", "draw": k, "judge_score": pilot[x, i, k]}
        for x, i, k in np.ndindex(200, 4, 5)
    ]
    written("long.csv", rows)
    wide, long = (
        strict(typed(capsys, "study", "draws", name, "--json", "-").out) for name in ("scores.csv", "long.csv")
    )
    assert wide["prices"] == long["prices"]
    assert wide["call_sd"] == long["call_sd"]


def test_first_calls_of_the_judge_that_was_resampled(capsys, pilot):
    """Where the judge's own scores stand beside its draws, they are the first calls and all draws are later ones."""
    rows = []
    for x, i in np.ndindex(200, 4):
        cell = {"prompt_id": f"p{x}", "candidate": f"c{i}"}
        rows.append(cell | {"judge": "pointwise:openai/m", "judge_score": pilot[x, i, 0]})
        rows[-1] |= {f"draw_{k}": "" for k in range(4)}
        rows.append(
            cell | {"judge": "resampled,draws=4,of=pointwise:openai/m", "judge_score": pilot[x, i, 1:].mean()}
        )
        rows[-1] |= {f"draw_{k}": pilot[x, i, k + 1] for k in range(4)}
    written("two.csv", rows)
    found = read_pilot(ScoreTable.read("two.csv"))
    assert found.first == "pointwise:openai/m"
    assert np.array_equal(found.draws, pilot)
    assert (
        strict(typed(capsys, "study", "draws", "two.csv", "--json", "-").out)["first_calls"] == "pointwise:openai/m"
    )


def test_pools_of_several_sizes_and_unscored_draws(tmp_path):
    """Smaller pools are filled up with nothing, and a blank draw is none."""
    rows = [
        {"prompt_id": prompt, "candidate": name, "judge_score": 0.5, "draw_0": 0.5, "draw_1": 0.6, "draw_2": last}
        for prompt, name, last in [("p", "a", 0.7), ("p", "b", ""), ("q", "a", 0.2), ("q", "b", 0.3), ("q", "c", 0.4)]
    ]
    found = read_pilot(ScoreTable.read(written(tmp_path / "s.csv", rows))).draws
    assert found.shape == (2, 3, 3)
    assert np.isnan(found[0, 1]).tolist() == [False, False, True]
    assert np.isnan(found[0, 2]).all()
    assert found[1, :, 2].tolist() == [0.2, 0.3, 0.4]


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({}, "no candidate has more than one draw"),
        ({"draw_0": 0.5, "draw_1": 0.6}, "2 draws of a candidate"),
        ({"draw_0": 0.5, "draw_1": 0.5, "draw_2": 0.5}, "never differ"),
    ],
)
def test_tables_that_teach_nothing(capsys, tmp_path, columns, said):
    """Each is one line with the reason and exit code 2."""
    rows = [
        {"prompt_id": prompt, "candidate": name, "judge_score": 0.5, **columns} for prompt in "pq" for name in "ab"
    ]
    done = typed(capsys, "study", "draws", written(tmp_path / "s.csv", rows))
    assert done.code == 2
    assert said in done.err


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("size", [1e-150, 1e-100, 1e-12, 1e70, 1e99])
def test_scores_in_a_unit_of_no_prices_are_refused(capsys, pilot, size):
    """Prices are in the unit of the scores: variances of beliefs must be doubles, and what is written is no 0."""
    frame = pd.read_csv("scores.csv")
    drawn = [column for column in frame if column.startswith("draw_")]
    frame.assign(**{column: frame[column] * size for column in drawn}).to_csv("sized.csv", index=False)
    done = typed(capsys, "study", "draws", "sized.csv")
    assert (done.code, done.out) == (2, "")
    assert f"too {'little' if size < 1 else 'much'} for prices of calls in their unit" in done.err
    frame.assign(**{column: frame[column] * 1e-3 for column in drawn}).to_csv("sized.csv", index=False)
    few, usual = (learn(name).prices[0] for name in ("sized.csv", "scores.csv"))
    assert few.lower_price == pytest.approx(usual.lower_price * 1e-3)


def test_a_model_of_another_judge_is_said(capsys, pilot):
    """One sentence where what was learnt goes by another judge's draws; none where the file does not say whose."""
    frame = pd.read_csv("scores.csv").assign(judge="resampled,draws=4,of=local:lexical")
    frame.to_csv("named.csv", index=False)
    candidates = [{"prompt_id": f"p{at}", "prompt": "a b", "candidates": ["a", "a b", "b"]} for at in range(3)]
    Path("pools.jsonl").write_text("\n".join(map(json.dumps, candidates)), "utf-8")
    words = "the model of the strategy was learnt from draws of local:lexical, not of local:length"
    for table, judge, said in (
        ("named.csv", "local:length", True),
        ("named.csv", "local:lexical", False),
        ("scores.csv", "local:length", False),
    ):
        assert typed(capsys, "study", "draws", table, "--save", "voi.json", "--force").code == 0
        strategy = ("--strategy", "value_of_information:price=0.9,model=voi.json")
        assert (words in typed(capsys, "select", "pools.jsonl", "--judge", judge, *strategy).err) == said
    assert load_model("voi.json").judge == "judge"
    document = json.loads(Path("voi.json").read_text("utf-8"))
    del document["judge"]  # as files of earlier versions
    Path("voi.json").write_text(json.dumps(document), "utf-8")
    assert load_model("voi.json").judge == ""


def test_several_judges_with_draws(capsys, tmp_path):
    """One has to be named, and must be one of them."""
    rows = [
        {"prompt_id": f"p{x}", "candidate": name, "judge": judge, "judge_score": 0.5}
        | {f"draw_{k}": 0.1 * ((x + k * len(judge)) % 7) for k in range(3)}
        for x in range(9)
        for name in "ab"
        for judge in ("j", "kk")
    ]
    file = written(tmp_path / "s.csv", rows)
    assert "draws of 2 judges" in typed(capsys, "study", "draws", file).err
    assert "no draws of the judge 'm'" in typed(capsys, "study", "draws", file, "--judge", "m").err
    assert typed(capsys, "study", "draws", file, "--judge", "kk").code == 0


def test_the_table_is_not_overwritten(capsys, pilot):
    """An output that would replace the table is refused."""
    assert typed(capsys, "study", "draws", "scores.csv", "--save", "scores.csv").code == 2


def learnt(**more):
    """Return what a pilot says, with other values where they are given."""
    price = {"lower_price": 0.0089, "higher_price": 0.0091, "share_at_lower": 0.75}
    return LearnDocument.model_validate(
        {
            "source": "pilot.csv",
            "judge": "j",
            "first_calls": "draw_0",
            "prompts": 40,
            "candidates": 160,
            "draws": 4,
            "prompts_left_out": 0,
            "call_sd": 0.1144,
            "candidate_sd": 0.0082,
            "reliability": 0.005,
            "beta": 0.357,
            "prices": [{"mean_calls": calls, **price} for calls in (5.0, 6.0)],
            "settings": {"max_draws": 8, "version": "1.2.3"},
            **more,
        }
    )


def test_what_is_written_is_read_back(tmp_path):
    """The document is read back; its frame has one row per number of calls."""
    assert list(read_back(learnt(), tmp_path).to_frame()["mean_calls"]) == [5.0, 6.0]


@pytest.mark.parametrize(
    ("keys", "value", "named"),
    [
        ("prices", [], "prices"),
        ("prices.0.share_at_lower", 1.5, "prices[0].share_at_lower"),
        ("prices.0.mean_calls", 0.0, "prices[0].mean_calls"),
        ("reliability", -0.1, "reliability"),
        ("call_sd", -1.0, "call_sd"),
        ("settings.max_draws", ..., "settings.max_draws"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path, keys, value, named):
    """A figure that no pilot has is refused by its key."""
    assert f"tampered.json: {named} " in refusal(learnt(), tmp_path, keys, value)


def test_the_text_has_every_figure():
    """What was learnt from, how calls scatter, and each price with the part of the pools that pays it."""
    said = text(learnt(prompts_left_out=1)).splitlines()
    assert said[:3] == [
        "pilot.csv",
        "40 prompts, 160 candidates, 4 draws each of j; first calls: draw_0",
        "left out: 1 prompt without two complete candidates",
    ]
    rows = [line.split() for line in said]
    assert ["sd", "of", "one", "call", "0.114"] in rows
    assert ["sd", "between", "candidates", "0.00820"] in rows
    assert ["6.00", "0.00890", "75.0%", "0.00910"] in rows
    assert said[-1] == "fewer than 100 prompts: the prices are rough"
    assert "rough" not in text(learnt(prompts=100), full=True)


def test_what_became_of_the_first_call_is_said():
    """Averaged in or kept apart, why, and the p-value; older documents say nothing of it."""
    tested = {"averaged_in": False, "reason": "it differs from the later calls", "p": 1e-9, "prompts": 300}
    tested |= {"mean_p": 0.5, "variance_p": 0.5, "covariance_p": 3e-10}
    said = "The first call is kept apart: it differs from the later calls (three t tests, p below 0.001)."
    assert said in text(learnt(first_call=tested)).splitlines()
    like = tested | {"averaged_in": True, "reason": "nothing shows that it differs", "p": 0.142}
    said = "The first call is averaged in: nothing shows that it differs (three t tests, p = 0.142)."
    assert said in text(learnt(first_call=like)).splitlines()
    assert "The first call is" not in text(learnt(), full=True)


def test_the_page_holds_what_the_text_holds():
    """Every word of the text is on the page."""
    assert not lost(learnt())


def test_names_stay_text():
    """Source and judge are text wherever they are shown."""
    harmless(learnt(source=HOSTILE, judge=HOSTILE, first_calls=HOSTILE))
