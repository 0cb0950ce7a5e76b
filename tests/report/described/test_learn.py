from __future__ import annotations

from bonwise.report.show import text
from documents.test_learn import learnt
from report.described.readers import HOSTILE, harmless, lost


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
    assert "rough" not in text(learnt(prompts=100))


def test_what_became_of_the_first_call_is_said():
    """Averaged in or kept apart, why, and the p-value; older documents say nothing of it."""
    tested = {"averaged_in": False, "reason": "it differs from the later calls", "p": 1e-9, "prompts": 300}
    tested |= {"mean_p": 0.5, "variance_p": 0.5, "covariance_p": 3e-10}
    said = "The first call is kept apart: it differs from the later calls (three t tests, p below 0.001)."
    assert said in text(learnt(first_call=tested)).splitlines()
    like = tested | {"averaged_in": True, "reason": "nothing shows that it differs", "p": 0.142}
    said = "The first call is averaged in: nothing shows that it differs (three t tests, p = 0.142)."
    assert said in text(learnt(first_call=like)).splitlines()
    assert "The first call is" not in text(learnt())


def test_the_page_holds_what_the_text_holds():
    """Every word of the text is on the page."""
    assert not lost(learnt())


def test_names_stay_text():
    """Source and judge are text wherever they are shown."""
    harmless(learnt(source=HOSTILE, judge=HOSTILE, first_calls=HOSTILE))
