"""The document of a study of routing, and what is shown of it."""

from __future__ import annotations

import copy
import re
from functools import cache, partial

import pandas as pd
import pytest

import bonwise as bw
from bonwise.auditing.page import described_with
from bonwise.auditing.view import describe_with
from bonwise.report.numbers import Ends, estimate, number, with_interval
from bonwise.report.page.rendered import whole_page
from bonwise.report.show import describe, markdown, notebook, page
from bonwise.report.show import text as shown_text
from bonwise.routing.result import RouteStudy
from bonwise.studies.view import BesideAudit
from report.audits import exhibits
from report.readers import HOSTILE, harmless, lost, words
from results.round_trips import read_back, refusal
from routing.tables import weak_judge

text = partial(shown_text, full=True)


@cache
def study():
    """Study one judge whose draws are repeated, with a joint budget."""
    return bw.route(weak_judge(150, draws=4), share=0.1, mean_calls=20, strong_cost=20)


def several():
    """Return the document of a study in which one judge could not be studied."""
    one = study()
    return RouteStudy.of(one.judges, one.settings, {"mute": "too few labels"})


def changed(change, document=None):
    """Return a document after its plain form was changed."""
    plain = copy.deepcopy((document or study()).to_dict())
    change(plain)
    return RouteStudy.model_validate(plain)


@pytest.mark.parametrize("which", [study, several], ids=["one", "several"])
def test_what_is_written_is_read_back(tmp_path, which):
    """A document of one judge and one of several are read back, with the frame of the result."""
    loaded = read_back(which(), tmp_path)
    pd.testing.assert_frame_equal(loaded.to_frame(), study().to_frame())
    assert set(loaded.judges) == {"weak"}
    assert loaded.judges["weak"] == study().judges["weak"]


def test_one_judge_stands_beside_the_settings():
    """What was found of one judge is at the top; with a judge that was refused all are in `judges`."""
    plain = study().to_dict()
    assert list(plain)[:4] == ["schema", "settings", "judge", "data"]
    assert "judges" not in plain
    both = several().to_dict()
    assert list(both) == ["schema", "settings", "judges", "not_studied"]
    assert both["not_studied"] == {"mute": "too few labels"}
    assert both["judges"]["weak"] == {key: plain[key] for key in list(plain)[3:]}


def test_a_key_that_says_nothing_is_absent():
    """There is a budget where one was split, a reason where figures are missing, labels left out where there are."""
    plain = bw.route(weak_judge(19)).to_dict()
    assert "budget" not in plain
    assert "budget" in study().to_dict()
    assert plain["settings"]["mean_calls"] is None
    assert "labels_left_out" not in plain["settings"]
    assert "fewer than" in plain["signals"]["expected_gain"]["reason"]
    assert not {"features", "lacking", "decomposition", "note"} & set(plain["signals"]["expected_gain"])
    assert "reason" not in plain["signals"]["margin"]


def test_scores_off_the_unit_scale_have_no_grid(tmp_path):
    """The grid is null where scores leave [0, 1], and is a key all the same."""
    frame = weak_judge(100).drop(columns="ci_width")
    frame[["judge_score", "oracle_label"]] *= 50
    document = bw.route(frame)
    assert document["gain_by_margin_and_level"] is None
    read_back(document, tmp_path)


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        ("settings.share", 1.0),
        ("settings.confidence", 95.0),
        ("settings.more", 1),
        ("settings.strong_cost", None),
        ("data.labelled_prompts", -1),
        ("data.method", "drawn"),
        ("data", ...),
        ("perfect", []),
        ("perfect.0.share", 0.0),
        ("signals.luck", {}),
        ("signals.margin.shares.0.value", "0.5"),
        ("gain_by_margin_and_level", []),
        ("voi_calibrated.answer", "maybe"),
        ("recommendation.signal", "luck"),
        ("budget.share", 1.5),
    ],
)
def test_what_cannot_be_is_refused(tmp_path, keys, value):
    """A value of another kind, a missing key and an unknown one are refused by their name."""
    assert keys.split(".")[0] in refusal(study(), tmp_path, keys, value)


@pytest.mark.parametrize(
    ("keys", "value", "said"),
    [
        ("not_studied", {}, "one judge or several"),
        ("data.labelled_prompts", 10**6, "more prompts are labelled than there are"),
        ("perfect.0.share", 0.07, "other shares than perfect"),
        ("settings.share", 0.2, "another share than settings.share"),
        ("signals.margin.reason", "none", "reason why there are no figures"),
        ("recommendation.signal", "disagreement", "disagreement, which has no figures"),
        ("settings", {**study().settings.to_dict(), "mean_calls": None, "strong_cost": None}, "budget of 'weak'"),
    ],
)
def test_what_contradicts_itself_is_refused(tmp_path, keys, value, said):
    """Shares, signals and the recommendation fit one another, or the file was changed."""
    assert said in refusal(study(), tmp_path, keys, value)


def test_judges_without_a_list_of_the_refused_are_refused(tmp_path):
    """The document of several judges says which were not studied, if only that none were."""
    assert "not_studied is missing" in refusal(several(), tmp_path, "not_studied", ...)


def said(document):
    """Return the text on one line."""
    return " ".join(text(document).split())


@pytest.mark.parametrize(("lift", "shown"), [(-1e-6, " 0.000 "), (1e-6, " 0.000 "), (-0.0123, " -0.012 ")])
def test_no_lift_is_a_negative_zero(lift, shown):
    """What rounds to 0 from below is a plain 0, for a signal and for the perfect order; the rest keep their sign."""

    def change(plain):
        signals = [one["shares"] for one in plain["signals"].values()]
        for one in (one for shares in (*signals, plain["perfect"]) for one in shares):
            one["lift"] = lift

    found = text(changed(change))
    assert shown in found
    assert "-0.000" not in found


def test_no_other_figure_is_a_negative_zero():
    """A threshold, a bound and an expected gain a rounding error below 0 are 0 too."""

    def change(plain):
        plain["recommendation"]["threshold"] = -0.0
        for one in plain["bound"]:
            one["bound"]["estimate"] = -1e-15
        plain["budget"]["gain"] |= {"estimate": -1e-15, "low": None, "high": None}
        plain["budget"] |= {"route_only": -1e-15, "redraw_only": -1e-15}

    found = said(changed(change))
    assert re.search(r"that it would send on are those [^.]* 0\. ", found)
    assert "e-15" not in found
    assert "Expected gain in the mean label 0; routing alone 0, further draws alone 0." in found


def test_the_recommendation_says_once_what_it_captures():
    """The verdict says the part captured and what it is a part of, nothing else does; without a figure it says so."""

    def captures(estimate, low, high):
        ends = {"estimate": estimate, "low": low, "high": high}
        return said(changed(lambda plain: plain["recommendation"]["captured"].update(ends)))

    found = captures(0.38, 0.32, 0.44)
    assert found.startswith("Verdict: route by ")
    assert found.count("capture 38% [32%, 44%] of the possible lift") == found.count("[32%, 44%]") == 1
    assert "The 10% of the prompts to send on are those " in found
    assert "capture 38.0% of the possible lift." in captures(0.38, None, None)
    undefined = captures(None, None, None)
    assert "captures is undefined." in undefined
    assert "of the prompts that it would send on are those " in undefined


def test_nothing_is_recommended_that_is_not_shown_to_help():
    """Where the interval holds 0 the text names the prompts that would be sent, and says not to send them yet."""
    ends = {"estimate": 0.1, "low": -0.1, "high": 0.3}
    found = said(changed(lambda plain: plain["recommendation"]["captured"].update(ends)))
    assert found.startswith("Verdict: no help shown")
    assert "to send on are" not in found
    assert "Do not route by this signal yet." in found


def test_each_of_several_judges_has_its_answer():
    """The verdict counts judges, so the part of each says what its signal captures, once."""
    one = weak_judge(100)
    document = bw.route(pd.concat([one, one.assign(judge="other")], ignore_index=True))
    found = said(document)
    for judge in document.judges.values():
        taken = judge.recommendation
        part = f"of the prompts sent on by {taken.signal} capture {with_interval(taken.captured, 'share')}"
        assert found.count(part) == 2


def test_what_to_do_comes_before_the_figures_everywhere():
    """The recommendation comes before any table: in a terminal, on pages, in notebooks and in Markdown."""
    document = study()
    send = "10% of the prompts that it would send on are those"
    for shown in (said(document), words(page(document)), words(notebook(document)), markdown(document)):
        assert shown.replace("\\", "").index(send) < shown.index("corr(signal, gain)")
    assert "Of 20 calls per prompt, a routed prompt costing 20: " in said(document)


def test_no_line_is_wider_than_a_hundred_columns():
    """In a file, where nothing is left out, each line of the tables fits a hundred columns."""
    assert max(map(len, text(study()).splitlines()[1:])) <= 118
    tables = [line for line in text(study()).splitlines() if "  " in line or set(line) == {"─"}]
    assert max(map(len, tables)) <= 100


def test_nothing_that_the_text_says_is_left_out():
    """Every word of the text is on the page."""
    document = study()
    assert not lost(document)
    assert "95%, clustered by prompt" in words(page(document))


def test_captions_carry_the_figures_at_the_share_asked_for():
    """The curve of what is captured names every signal; the values stand between random and perfect."""
    document = study()
    judge = document.judges["weak"]
    captured, *values = document.drawings
    for name, one in judge.studied.items():
        at = one.at(0.1)
        part = Ends(at.captured, at.low, at.high)
        assert (
            f"{name} {estimate(part, 'share') if at.low is None else with_interval(part, 'share')}" in captured.says
        )
    taken = judge.recommendation.signal
    at = judge.studied[taken].at(0.1)
    value = Ends(at.value, at.value_low, at.value_high)
    told = f"sent on by {taken}: {with_interval(value)}, "
    assert told in values[0].says
    assert f"{number(judge.perfect_at(0.1).value, like=value)} in the perfect order" in values[0].says
    assert f"{number(at.value - at.lift, like=value)} at random" in values[0].says
    assert len(values) == min(3, len(judge.studied))


def test_the_signal_to_take_is_drawn_on_top():
    """The recommended signal is the last line of what is captured, and the only one with a band."""
    document = study()
    captured, value, *_ = document.drawings
    taken = document.judges["weak"].recommendation.signal
    assert [line.label for line in captured.data.curves if line.low] == [taken]
    assert captured.data.curves[-1].label == taken
    assert [line.role for line in value.data.curves] == ["random", "oracle", "judge"]
    frame = value.to_frame()
    found = frame[(frame["line"] == taken) & (frame["x"] == 0.1)]
    assert found["y"].item() == document.judges["weak"].studied[taken].at(0.1).value


def test_a_signal_without_figures_is_drawn_nowhere():
    """Its reason is in the text; the one to take comes first among the values, then the best of the others."""
    document = bw.route(weak_judge(100), share=0.1)
    assert "disagreement: needs" in said(document)
    names = {line.label for one in document.drawings for line in one.data.curves}
    assert "disagreement" not in names
    assert "margin" in names


def test_each_judge_has_a_part_and_who_was_refused_is_named():
    """Several judges have their own headings and drawings; a judge that could not be studied is said once."""
    one = weak_judge(100)
    both = pd.concat([one, one.assign(judge="other")], ignore_index=True)
    document = bw.route(both)
    shown = page(document)
    assert 'id="route-1"' in shown
    assert 'id="route-2"' in shown
    assert len({drawing.key for drawing in document.drawings}) == len(document.drawings)
    assert "not studied: mute: too few labels Next: " in said(several())


def test_what_was_left_out_is_counted():
    """Dropped prompts, labels without prompts, unlabelled prompts and weights are told before the figures."""

    def change(plain):
        plain["data"]["dropped"] = [{"prompt_id": f"p{at}", "reason": f"why {at % 4}"} for at in range(8)]
        plain["data"]["method"] = "labelled_only"
        plain["settings"]["labels_left_out"] = {"prompts": 3, "rows": 12}

    found = said(changed(change))
    assert "dropped 8 prompts: why 0, why 1, why 2, ..." in found
    assert "why the others lack labels is unknown" in found
    assert "labels of 3 prompts that are not in the file left out (12 rows)" in found
    weighted = said(changed(lambda plain: plain["data"].update(method="weighted")))
    assert "prompts labelled, weighted by 1 / propensity" in weighted


def test_a_study_stands_beside_an_audit():
    """The page of an audit takes it with its recommendation and its drawings."""
    audit = bw.audit(weak_judge(100))
    shown = words(whole_page(describe_with(audit, studies=[BesideAudit(whole=[describe(study())])])))
    assert "10% of the prompts sent on by" in shown
    assert "Captured by share sent on" in shown


def test_names_stay_text():
    """Judges, sources and reasons are text wherever they are shown."""

    def change(plain):
        plain["judges"] = {HOSTILE: plain["judges"]["weak"]}
        plain["not_studied"] = {HOSTILE: HOSTILE}
        plain["settings"]["source"] = plain["settings"]["reference"] = HOSTILE

    harmless(changed(change, several()))


def test_figures_come_before_tables():
    """All drawings of a judge stand before its first table."""
    (part,) = (one for one in describe(study()).blocks if getattr(one, "anchor", "") == "route-1")
    blocks = [block for one in part.blocks if hasattr(one, "blocks") for block in one.blocks]
    kinds = [type(one).__name__ for one in blocks if type(one).__name__ in {"Drawing", "Table"}]
    assert kinds == sorted(kinds)
    assert {"Drawing", "Table"} == set(kinds)


def test_the_page_of_an_audit_says_what_routing_brings():
    """The answer leads the part on routing, where its verdict is not the page's."""
    document = study()
    taken = document.judges["weak"].recommendation
    made = described_with(bw.audit(weak_judge(100)), exhibits(["weak"]), [document])
    (part,) = (one for one in made.blocks if getattr(one, "title", "").startswith("Routing of "))
    assert part.blocks[0].role == "lead"
    assert f"capture {estimate(taken.captured, 'share')} of the possible lift" in part.blocks[0].text
    assert not any(getattr(one, "role", "") in {"verdict", "next"} for one in part.blocks)
