"""Names that differ only behind a NUL are as different as any others, through everything that reads a table."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import bonwise as bw
from bonwise.auditing.strata import strata
from bonwise.errors import InputError
from bonwise.selection.draw_model import learnt_from
from bonwise.studies.label_strategy.judged_pairs import PairVerdicts
from bonwise.table.score_table import ScoreTable
from bonwise.table.words import Words


def hidden(frame):
    """Put a NUL in place of every tilde."""
    return frame.map(lambda cell: cell.replace("~", "\0") if isinstance(cell, str) else cell)


def scores(draws=1):
    """Return the scores of 40 pools of three by two judges, with columns of words and strata."""
    rng = np.random.default_rng(3)
    return pd.DataFrame(
        [
            {
                "prompt_id": f"p~{at:02}",
                "candidate": f"c~{name}",
                "judge": f"j~{judge}",
                "judge_score": round(quality + rng.normal(), 3),
                "topic": f"t~{at % 2}",
                "text": f"answer~{at}{name}",
            }
            | ({"draw": f"d~{draw}"} if draws > 1 else {})
            for at in range(40)
            for name, quality in zip("abc", rng.normal(size=3), strict=True)
            for judge in range(2)
            for draw in range(draws)
        ]
    )


def labels():
    """Return a label for each candidate of those pools, and a propensity that differs between prompts."""
    cells = scores()[["prompt_id", "candidate"]].drop_duplicates(ignore_index=True)
    rng = np.random.default_rng(5)
    at = cells["prompt_id"].str[2:].astype(int)
    cells["oracle_label"] = np.where(at % 4 == 0, np.nan, rng.integers(0, 5, len(cells)) / 4)
    cells["propensity"] = np.where(at % 2 == 0, 0.5, 0.75)
    return cells


def pairs():
    """Return what a judge said of two pairs of each pool, in both orders."""
    rng = np.random.default_rng(7)
    return pd.DataFrame(
        [
            {"prompt_id": f"p~{at:02}", "a": "c~a", "b": f"c~{other}", "judge": "j~0"}
            | dict(zip(("shown_first", "shown_second"), rng.uniform(size=2).round(3), strict=True))
            for at in range(40)
            for other in "bc"
        ]
    )


def votes():
    """Return what two raters said of the pools, each prompt named by two columns."""
    rng = np.random.default_rng(9)
    sides = {"left": "c~a", "right": "c~b"}
    return pd.DataFrame(
        [
            {"set": f"s~{at % 4}", "turn": f"u~{at // 4}", "rater": f"r~{rater}", **sides}
            | {"said": rng.integers(1, 3), "truth": 1 + at // 3 % 2}
            for at in range(40)
            for rater in range(2)
        ]
    )


def audited(made):
    """Audit with labels in a file of their own, by the propensities that it states."""
    return bw.audit(made(scores()), labels=made(labels())).to_dict()


def by_stratum(made):
    """Audit by the values of a column."""
    found = bw.audit(made(scores()), labels=made(labels().drop(columns="propensity")))
    judged = next(iter(found.source_of("this").judges.values())).labelling
    kinds, left_out = strata(found.table, judged.panel.keep(judged.labelled), confidence=0.95)
    return [one.to_dict() for one in (*kinds, *left_out)]


def stated(made):
    """Audit what was stated of pairs."""
    return bw.audit_confidence(made(pairs()), labels=made(labels()).drop(columns="propensity")).to_dict()


def preferred(made):
    """Audit votes by several columns of names."""
    taken = {"verdicts": ["said"], "oracle": "truth", "prompt": ["set", "turn"], "pair": ["left", "right"]}
    return bw.audit_preferences(made(votes()), judge=["rater"], **taken).to_dict()


def verdicts(made):
    """Read verdicts on pairs."""
    return PairVerdicts.read(made(pairs())).frame.to_dict("list")


def learnt(made):
    """Learn how far draws spread, one row per draw."""
    return learnt_from(ScoreTable.from_frame(made(scores(draws=4))), judge=made(scores())["judge"][0])[1].to_dict()


def learnt_in_columns(made):
    """Learn it from one column per draw."""
    wide = scores().rename(columns={"judge_score": "draw_0"})
    rng = np.random.default_rng(11)
    wide = wide.assign(draw_1=wide["draw_0"] + rng.normal(size=len(wide)), draw_2=rng.normal(size=len(wide)))
    return learnt_from(ScoreTable.from_frame(made(wide)), judge=made(scores())["judge"][0])[1].to_dict()


def sheet(made):
    """Draw prompts to label, with the texts of their candidates."""
    found = bw.draw_labels(made(scores()), labels=20, judge=made(scores())["judge"][0], texts=True)
    return found.sheet.astype(str).to_dict("list")


def spoken(made):
    """Look up the texts of one prompt."""
    name = made(scores())["prompt_id"][3]
    found = Words(ScoreTable.from_frame(made(scores()))).of([name])[name]
    return dict(found.texts)


@pytest.mark.parametrize(
    "call",
    [audited, by_stratum, stated, preferred, verdicts, learnt, learnt_in_columns, sheet, spoken],
    ids=lambda call: call.__name__,
)
def test_a_nul_in_a_name_changes_no_figure(call):
    """With NULs in every name the document is the same but for the names."""
    plain, other = (json.dumps(call(made)) for made in (lambda frame: frame, hidden))
    assert "\\u0000" in other or call in {learnt, learnt_in_columns, preferred}
    assert other.replace("\\u0000", "~").replace(r"\\x00", "~") == plain


def test_models_that_differ_behind_a_nul_are_several():
    """One sequence of looks is for one pair of models, whatever their names hold."""
    rows = [{"model_a": "m\0a", "model_b": f"m\0{name}", "winner": "model_a"} for name in "bc" for _ in range(20)]
    with pytest.raises(InputError, match="hold several models"):
        bw.monitor(pd.DataFrame(rows), question="preference", verdict_col="winner")


def test_a_name_that_ends_in_a_nul_keeps_it():
    """Texts are found under the whole name, a NUL at its end too."""
    rows = [{"prompt_id": "p", "candidate": f"c{name}\0", "judge_score": 1.0, "text": "t"} for name in "ab"]
    assert set(Words(ScoreTable.from_frame(pd.DataFrame(rows))).of(["p"])["p"].texts) == {"ca\0", "cb\0"}
