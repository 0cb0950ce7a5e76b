"""The study of routing: figures, refusals, budgets, and the command."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest
import typer
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bonwise.cli.judge_studies import route as route_of_command
from bonwise.errors import InputError, UsageError
from bonwise.report.show import text as shown_text
from bonwise.routing import view
from bonwise.routing.engine import split_budget
from bonwise.routing.front import route
from bonwise.routing.gain_model import fit_gain
from bonwise.routing.judged_prompts import judged_prompts
from bonwise.routing.router import Router
from bonwise.routing.saved import SavedRouter
from bonwise.routing.signals import SIGNALS, fit_signal
from bonwise.selection.selector import Selector
from bonwise.stats.routing import threshold
from bonwise.table.panel import lay_out
from bonwise.table.scales import parse_scale
from bonwise.table.score_table import ScoreTable
from bonwise.table.verdicts import Score
from bonwise.testing import simulate
from cli.commands import strict
from routing.tables import weak_judge
from stats.routed_figures import routed_share

TINY = pd.DataFrame(
    {
        "prompt_id": ["p1", "p1", "p2", "p2", "p3", "p3", "p4", "p4"],
        "candidate": ["a", "b"] * 4,
        "judge_score": [0.9, 0.9, 0.8, 0.6, 0.7, 0.3, 0.4, 0.5],
        "oracle_label": [0.2, 1.0, 0.5, 0.5, 0.1, 0.9, 0.6, 0.7],
        "ci_width": [0.4, 0.4, 0.1, 0.1, 0.2, 0.2, 0.3, 0.3],
    }
)
# Gains by hand: p1 1 - .6 = .4 (tie), p2 0, p3 .8, p4 0. Widths .4 .1 .2 .3, margins 0 .2 .4 .1.


def prompts_of(study, judge="weak"):
    """Return the prompts behind what was found of a judge."""
    return study.source_of("prompts")[judge].prompts


def test_gain_and_wrong_by_hand():
    """A tied pick gains and errs in expectation; equal labels leave nothing to gain."""
    prompts = prompts_of(route(TINY, share=0.5), "judge")
    assert prompts.outcomes.gain == pytest.approx([0.4, 0, 0.8, 0])
    assert prompts.outcomes.value == pytest.approx([0.6, 0.5, 0.1, 0.7])
    assert prompts.wrong == pytest.approx([0.5, 0, 1, 0])


def test_values_of_routing_by_hand():
    """Half of four prompts: width sends p1 and p4 (value 2.3 / 4), margin p1 and p4, the perfect order p1 and p3."""
    study = route(TINY, share=0.5)["judge"]
    assert study.signals["interval_width"].at(0.5).value == pytest.approx(2.3 / 4)
    assert study.signals["margin"].at(0.5).value == pytest.approx(2.3 / 4)
    assert study.perfect_at(0.5).value == pytest.approx(3.1 / 4)
    assert study.signals["interval_width"].at(0.5).lift == pytest.approx(2.3 / 4 - 2.5 / 4)


BOTH = pd.concat(
    [
        TINY.assign(judge="cheap"),
        TINY.assign(judge="strong", judge_score=[0.1, 0.9, 0.2, 0.8, 0.9, 0.1, 0.7, 0.3], ci_width=0.1),
    ]
)
# The strong judge picks b, b, a, a: labels 1, .5, .1, .6. Gains over the cheap one .4, 0, 0, -.1; best 1, .5, .9, .7.


def test_value_recovery_calls_and_cost_by_hand():
    """Random picks .5625, best .775; cheap alone .475, strong alone .55; the calls of both count.

    Of twenty copies a signal is learnt that sends p1 and a prompt without a gain, and keeps p4: .475 + .4 / 4.
    """
    copies = pd.concat([BOTH.assign(prompt_id=BOTH["prompt_id"] + f" {copy}") for copy in range(20)])
    study = route(copies, share=0.5, strong="strong", prices={"cheap": 0.001, "strong": 0.01})["cheap"]
    first, routed, last = study.worth.at(0.0), study.worth.at(0.5), study.worth.at(1.0)
    assert [one.value.estimate for one in (first, routed, last)] == pytest.approx([0.475, 0.575, 0.55])
    recovery = [one.recovery.estimate for one in (first, routed, last)]
    assert recovery == pytest.approx([-0.0875 / 0.2125, 0.0125 / 0.2125, -0.0125 / 0.2125])
    assert [one.over_cheap.estimate for one in (first, routed, last)] == pytest.approx([0, 0.1, 0.075])
    assert [one.under_strong.estimate for one in (first, routed, last)] == pytest.approx([0.075, -0.025, 0])
    assert [one.calls for one in (first, routed, last)] == pytest.approx([2000, 3000, 2000])
    assert [one.cost for one in (first, routed, last)] == pytest.approx([2, 12, 20])
    assert (study.worth.strong, study.worth.found_by, study.worth.share) == ("strong", "named", 0.5)


def test_the_agreement_with_a_reference_by_hand():
    """The cheap judge picks a or b, a, a, b and the reference b, b, a, a: .5, 0, 1, 0 of them agree."""
    study = route(BOTH.drop(columns="oracle_label"), share=0.5, oracle="judge:strong")["cheap"]
    assert study.worth.found_by == "reference"
    assert [study.worth.at(share).value.estimate for share in (0, 0.5, 1)] == pytest.approx([0.375, 0.75, 1])
    assert study.worth.at(0.5).recovery is None
    assert study.worth.at(0.5).calls == pytest.approx(3000)


def weak_and_strong(prompts, **more):
    """Return a table of a weak judge and a stronger one that errs a little."""
    weak = weak_judge(prompts, **more)
    near = (weak["oracle_label"] + np.random.default_rng(1).normal(0, 0.03, len(weak))).clip(0, 1)
    return pd.concat([weak, weak.assign(judge="near", judge_score=near)])


def test_the_stronger_judge_is_named_or_the_most_expensive_and_never_routed_to_itself():
    """By name, by price, by the list price of its model; "none" is a judge that never errs; it lends no signal."""
    both = weak_and_strong(100)
    named, priced = route(both, strong="near"), route(both, prices={"weak": 0.1, "near": 1.0})
    assert set(named.judges) == set(priced.judges) == {"weak"}
    assert priced["weak"].worth.found_by == "price"
    assert named["weak"].signals["disagreement"].reason
    listed = both.replace({"weak": "pointwise:openai/gpt-5-mini", "near": "pointwise:openai/gpt-5"})
    assert route(listed).settings.strong == "pointwise:openai/gpt-5"
    for perfect in (route(both), route(listed, strong="none"), route(both, prices={"weak": 1.0, "near": 1.0})):
        assert len(perfect.judges) == 2
        assert "worth" not in next(iter(perfect.judges.values()))
    assert route(both, judge="weak")["weak"].signals["disagreement"].reason is None


def test_a_target_takes_the_least_share_that_reaches_it_and_a_budget_the_largest_paid_for():
    """One step less does not reach it, one step more is not paid for; figures and router are of that share."""
    both, prices = weak_and_strong(300), {"weak": 0.0002, "near": 0.004}
    target = route(both, strong="near", target={"recovery": 0.7})
    worth = target["weak"].worth
    assert worth.at(worth.share).recovery.estimate >= 0.7
    assert worth.at(worth.share).recovery.estimate < 0.72
    assert worth.at(worth.shown_share).recovery.low >= 0.7
    assert target.router().share == target["weak"].recommendation.share == worth.share
    paid = route(both, strong="near", prices=prices, budget=3.5)["weak"].worth
    assert paid.at(paid.share).cost <= 3.5 < paid.at(paid.share).cost + 0.01 * 12
    assert route(both, strong="near", budget="3000calls")["weak"].worth.share == 1.0
    assert route(both, strong="near", budget="2000calls")["weak"].worth.reason == "no share is paid for by the budget"
    unreached = route(both, strong="near", target={"recovery": 1.0})
    assert unreached["weak"].worth.reason == "no share reaches the target"
    with pytest.raises(UsageError, match="no share to route"):
        unreached.router()
    with pytest.raises(UsageError, match="takes the price of every judge"):
        route(both, strong="near", budget=3.5)


def test_draws_and_tokens_count_where_the_signal_takes_them():
    """A signal of repeated scores takes all of them; tokens per call come from the table; list prices make money."""
    both = weak_and_strong(150, draws=4).assign(input_tokens=300, output_tokens=20)
    both.loc[both["judge"] == "near", [f"draw_{k}" for k in range(1, 4)]] = np.nan
    both = both.drop(columns="judge_score").replace(
        {"near": "pointwise:openai/gpt-5", "weak": "pointwise:openai/gpt-5-mini"}
    )
    worth = next(iter(route(both).judges.values())).worth
    first, routed, last = (worth.at(share) for share in (0, 0.25, 1))
    assert (first.calls, last.calls) == (3000, 3000)
    assert routed.calls == pytest.approx(12_000 + 750)
    assert first.tokens == pytest.approx(3000 * 320)
    assert 0 < first.cost < last.cost


def test_prompts_that_the_stronger_judge_did_not_score_are_left_out_and_counted():
    """They count as unlabelled, and the page says how many."""
    both = weak_and_strong(120)
    both.loc[(both["judge"] == "near") & (both["prompt_id"] < "p0020"), "judge_score"] = np.nan
    study = route(both, strong="near", unpicked="random")
    assert study["weak"].data.unscored_by_strong == 20
    assert study["weak"].data.labelled_prompts == 100
    assert "without a score of the stronger judge: 20 prompts" in " ".join(str(study).split())


def test_the_answer_is_in_recovery_and_money():
    """The verdict names the share, what it keeps, what each judge keeps alone, and what it costs."""
    both = weak_and_strong(300)
    said = " ".join(str(route(both, strong="near", prices={"weak": 0.0002, "near": 0.004})).split())
    assert said.startswith("Verdict: route by ")
    for part in (
        "by the first judge alone",
        "by near alone",
        "Per 1,000 prompts it takes $3.60 (saves $8.40); near alone $12.00",
    ):
        assert part in said
    assert said.count("Next:") == 1
    worse = both.assign(judge_score=np.where(both["judge"] == "near", -both["judge_score"], both["judge_score"]))
    assert str(route(worse, strong="near")).startswith("Verdict: do not send on")
    enough = str(route(both, strong="near", target={"recovery": 0.1}))
    assert enough.startswith("Verdict: one judge is enough")
    assert "sent on" not in enough
    assert "Next:" not in enough


def test_the_prompts_of_a_margin_are_those_with_the_smallest():
    """The signal is minus the margin; a reader is told of the margin itself."""
    frame = weak_judge(100).drop(columns="ci_width")
    study = route(frame)
    taken = study["weak"].recommendation.model_copy(update={"signal": "margin", "threshold": -0.05})
    (first, *_) = view._recommendation(study["weak"].model_copy(update={"recommendation": taken}))
    assert "with the smallest margin between the two highest scores, up to 0.05." in first.text


def test_few_labels_leave_learnt_signals_without_figures_and_say_so():
    """Below 20 labelled prompts a learnt signal has a reason instead of figures, and another is recommended."""
    document = route(weak_judge(19)).to_dict()
    assert "fewer than the 20" in document["signals"]["expected_gain"]["reason"]
    assert document["signals"]["expected_gain"]["shares"] == []
    assert document["recommendation"]["signal"] in ("margin", "interval_width")


def test_the_document_has_the_published_shape_and_no_nan():
    """Schema, settings, shares with value, lift, captured, low and high, and corr_gain; strict JSON."""
    document = strict(json.dumps(route(weak_judge(150, draws=3)).to_dict(), allow_nan=False))
    assert document["schema"] == "bonwise.route/1"
    width = document["signals"]["interval_width"]
    assert {"share", "value", "lift", "captured", "low", "high"} <= set(width["shares"][0])
    assert [one["share"] for one in width["shares"]] == [0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.75, 1.0]
    assert width["corr_gain"]["n"] == 150
    assert width["shares"][-1]["captured"] is None
    assert width["shares"][-1]["reason"]
    assert document["signals"]["disagreement"]["reason"]
    assert len(document["bound"]) == 9


def test_a_saved_router_routes_the_share_and_carries_its_model(tmp_path):
    """What is saved loads, sends about the share asked for, and keeps the figures of the study."""
    study = route(weak_judge(400), share=0.3)
    study.save(tmp_path / "router.json")
    router = SavedRouter.load(tmp_path / "router.json")
    values = router.value(prompts_of(study).features)
    assert np.mean(values > router.threshold) <= 0.3 <= np.mean(values >= router.threshold - 1e-8)
    assert router.judge == "weak"
    assert router.captured["estimate"] == study["weak"].recommendation.captured.estimate


def test_no_number_of_labels_is_a_cliff():
    """99 and 100 labelled prompts give the same signals, and figures that differ by what one prompt brings."""
    before, after = (route(weak_judge(120, labelled=labelled, draws=3))["weak"] for labelled in (99, 100))
    for name in ("expected_gain", "margin_level"):
        one, other = before.signals[name].at(0.25), after.signals[name].at(0.25)
        assert before.signals[name].features == after.signals[name].features
        assert one.captured == pytest.approx(other.captured, abs=0.1)
    assert before.recommendation.captured.low == pytest.approx(after.recommendation.captured.low, abs=0.1)
    alone = route(weak_judge(300, labelled=100).drop(columns="ci_width"))["weak"].recommendation
    assert alone.signal in ("expected_gain", "margin_level")
    assert "its other features count about 80% beside the margin" in " ".join(alone.sentences)


def test_the_best_signal_is_taken_with_the_choice_in_its_interval():
    """It has the largest lift, its interval is wider than that of the signal alone, and the router is of it."""
    study = route(weak_judge(300, draws=3))
    found = study["weak"].recommendation
    lifts = {name: signal.at(0.25).lift for name, signal in study["weak"].studied.items()}
    assert lifts[found.signal] == max(lifts.values())
    alone = study["weak"].signals[found.signal].at(0.25)
    assert found.captured.estimate == alone.captured
    assert found.captured.low < alone.low < alone.high < found.captured.high
    assert (found.among, found.confidence > 0.95) == (6, True)
    assert study.router().signal == found.signal


def test_the_seed_moves_no_answer():
    """Signals and recommendation are the same to the last digit under every seed."""
    one, other = (route(weak_judge(150, draws=3), seed=seed)["weak"] for seed in (0, 7))
    assert one.recommendation == other.recommendation
    assert one.signals == other.signals


def test_prompts_that_lack_a_feature_do_not_teach():
    """Of 120 labelled prompts 30 have no width: 90 teach the expected gain, and the others are sent last."""
    frame = weak_judge(120)
    frame.loc[frame["prompt_id"] < "p0030", "ci_width"] = np.nan
    study = route(frame)
    found = study["weak"].recommendation
    assert study["weak"].signals["expected_gain"].lacking == 30
    if found.signal != "margin_level":
        assert "Prompts without a value of it are sent last: 30 labelled prompts." in found.sentences
    model = fit_signal("expected_gain", prompts_of(study).features, prompts_of(study).gain).model
    assert model.fit.labelled == 90


def test_prompts_without_labels_calibrate_the_threshold_only():
    """Figures come from the labelled prompts; the threshold from all of them."""
    frame = weak_judge(300, labelled=150)
    document = route(frame).to_dict()
    assert (document["data"]["prompts"], document["data"]["labelled_prompts"]) == (300, 150)
    assert document["data"]["method"] == "labelled_only"
    alone = route(frame[frame["prompt_id"] < "p0150"]).to_dict()
    one, other = (d["signals"]["interval_width"]["shares"][4]["captured"] for d in (document, alone))
    assert one == other


def test_propensities_weigh_the_labelled_prompts():
    """Where wide prompts were labelled twice as often, weighing gives back the figures of all prompts."""
    frame = weak_judge(4000, seed=3)
    wide = frame.groupby("prompt_id")["ci_width"].transform("mean") > 0.2
    frame["propensity"] = np.where(wide, 0.8, 0.2)
    drawn = np.repeat(np.random.default_rng(0).uniform(size=4000), 3) < frame["propensity"]
    truth = route(frame.drop(columns="propensity"))["weak"].signals["interval_width"].at(0.25)
    part = frame.assign(oracle_label=frame["oracle_label"].where(drawn))
    weighted = route(part)["weak"]
    assert weighted.data.method == "weighted"
    found = weighted.signals["interval_width"].at(0.25)
    assert found.value_low <= truth.value <= found.value_high
    assert found.low <= truth.captured <= found.high
    naive = route(part.drop(columns="propensity"))["weak"].signals["interval_width"].at(0.25)
    assert naive.value_high < truth.value


@pytest.mark.parametrize("kind", ["absent", "two"])
def test_a_propensity_that_cannot_be_is_refused(kind):
    """A labelled prompt without a propensity, or with two, is named."""
    frame = weak_judge(80).assign(propensity=0.5)
    frame.loc[frame.index[:3] if kind == "absent" else frame.index[0], "propensity"] = (
        np.nan if kind == "absent" else 0.4
    )
    with pytest.raises(InputError, match="'p0000'"):
        route(frame)


def test_a_stray_prompt_without_labels_is_dropped_and_listed():
    """Up to 5 % of prompts without labels are dropped with the reason, and the study is complete."""
    frame = weak_judge(100)
    frame.loc[:2, "oracle_label"] = np.nan
    data = route(frame).to_dict()["data"]
    assert data["dropped"] == [{"prompt_id": "p0000", "reason": "unlabelled"}]
    assert data["method"] == "complete"


def test_another_judge_lends_disagreement_unless_only_the_first_pass_counts():
    """With two judges each is studied with the other's disagreement; --first-pass-only leaves it and draws out."""
    both = pd.concat([weak_judge(100, draws=3), weak_judge(100, draws=3, judge="other")])
    study = route(both)
    assert set(study.judges) == {"weak", "other"}
    assert study["weak"].signals["disagreement"].reason is None
    alone = route(both, first_pass_only=True)["weak"]
    assert alone.signals["disagreement"].reason
    assert alone.signals["draw_sd"].reason
    with pytest.raises(UsageError, match="2 judges"):
        study.router()
    assert study.router("other").judge == "other"


def test_the_reference_judge_is_not_among_those_who_disagree():
    """A judge that stands in for the oracle must not be seen by the signals."""
    both = pd.concat([weak_judge(100), weak_judge(100, judge="strong")]).drop(columns="oracle_label")
    study = route(both, oracle="judge:strong")
    assert list(study.judges) == ["weak"]
    assert study["weak"].signals["disagreement"].reason
    assert study.to_dict()["settings"]["reference"] == "strong"


def test_a_candidate_without_a_first_draw_cannot_be_picked():
    """Its later draws do not score it: the first pass picks among the others, and it is counted."""
    frame = weak_judge(80, draws=2).drop(columns="judge_score")
    first = frame.loc[:2, "draw_0"].to_numpy(copy=True)
    frame.loc[int(first.argmax()), "draw_0"] = np.nan
    prompts, labels = prompts_of(route(frame)), frame.loc[:2, "oracle_label"].to_numpy()
    first[first.argmax()] = -1
    assert prompts.outcomes.value[0] == pytest.approx(labels[first == first.max()].mean())
    assert (prompts.panel.dropped, prompts.unscored) == ((), {"no reason given": 1})


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_what_is_sent_of_unscored_pools_is_what_a_plain_loop_sends(data):
    """Pools with fewer than two scores go first, alike; the others by margin; a kept pick is among scored ones."""
    sizes = data.draw(st.lists(st.integers(2, 4), min_size=2, max_size=8))
    cells = st.sampled_from([None, 0.1, 0.4, 0.8])
    pools = [data.draw(st.lists(cells, min_size=size, max_size=size)) for size in sizes]
    assume(any(sum(one is not None for one in pool) > 1 for pool in pools))
    labels = [data.draw(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=size, max_size=size)) for size in sizes]
    unpicked = data.draw(st.sampled_from(["random", "first"]))
    rows = [
        {"prompt_id": f"p{x}", "candidate": f"c{at}", "judge_score": score, "oracle_label": label}
        for x, (pool, of_pool) in enumerate(zip(pools, labels, strict=True))
        for at, (score, label) in enumerate(zip(pool, of_pool, strict=True))
    ]
    study = route(pd.DataFrame(rows).astype({"judge_score": float}), share=0.5, unpicked=unpicked, shape="ragged")
    kept, order = [], []
    for pool, of_pool in zip(pools, labels, strict=True):
        scored = sorted((one for one in pool if one is not None), reverse=True)
        top = [at for at, one in enumerate(pool) if scored and one == scored[0]]
        at_random = list(range(len(pool))) if unpicked == "random" else [0]
        kept.append(np.mean([of_pool[at] for at in top or at_random]))
        order.append(scored[1] - scored[0] if len(scored) > 1 else np.inf)
    best, left, sent = [max(of_pool) for of_pool in labels], 0.5 * len(pools), np.zeros(len(pools))
    for value in sorted({round(one, 9) for one in order}, reverse=True):
        tied = [x for x, one in enumerate(order) if round(one, 9) == value]
        sent[tied] = max(0.0, min(1.0, left / len(tied)))
        left -= sent[tied].sum()
    expected = np.mean([p * m + (1 - p) * v for p, m, v in zip(sent, best, kept, strict=True)])
    found = study["judge"].signals["margin"].at(0.5)
    assert prompts_of(study, "judge").outcomes.value == pytest.approx(kept)
    assert found.value == pytest.approx(expected)
    under = sum(sum(one is not None for one in pool) < 2 for pool in pools)
    assert study.to_dict()["data"].get("prompts_under_two_scores", 0) == under
    assert study["judge"].signals["margin"].corr_gain.n == len(pools) - under


def test_unscored_candidates_are_counted_in_a_study_of_routing():
    """The page says how many and why; learnt signals, the router and the budget are of prompts with two scores."""
    frame = weak_judge(200, draws=3)
    frame.loc[frame["prompt_id"] < "p0010", ["judge_score", "draw_0", "draw_1", "draw_2", "ci_width"]] = np.nan
    frame.loc[frame.index[60:63], ["judge_score", "draw_0", "draw_1", "draw_2"]] = np.nan
    frame["unscored"] = np.where(frame["judge_score"].isna(), "refused", "")
    study = route(frame, mean_calls=9, strong_cost=20)
    found = study["weak"]
    assert (found.data.unscored, found.data.prompts_under_two_scores) == ({"refused": 33}, 11)
    assert "33 candidates without a first score: refused (33)" in " ".join(shown_text(study, full=True).split())
    assert "Prompts with fewer than two scores are sent first: 11 prompts." in found.recommendation.sentences
    assert found.signals["expected_gain"].lacking == 0
    assert found.signals["expected_gain"].at(0.05).value > found.signals["draw_sd"].at(0.05).at_random
    assert study.router().threshold <= study.router().calibration[-1]
    assert len(study.router().calibration) == 189
    assert found.budget.gain.n == 189
    dropped = route(frame, unpicked="drop").to_dict()["data"]
    assert (dropped["prompts"], len(dropped["dropped"])) == (189, 11)


def test_where_unsettled_prompts_fill_the_share_the_threshold_is_the_highest_of_the_others():
    """An infinite signal is no threshold that a router could hold."""
    signal = np.array([np.inf, np.inf, 0.3, 0.1, np.nan])
    assert threshold(signal, 0.4) == 0.3
    assert threshold(signal, 0.8) == 0.1
    assert threshold(signal, 1.0) == 0.1


@pytest.mark.parametrize("share", [0.0, 1.0, -1, float("nan")])
def test_a_share_outside_0_and_1_is_refused(share):
    """Nothing to send, or everything, needs no order."""
    with pytest.raises(UsageError, match="share"):
        route(TINY, share=share)


def test_a_table_without_labels_is_refused():
    """Without labels there is no gain to study."""
    with pytest.raises(InputError, match="no oracle labels"):
        route(TINY.drop(columns="oracle_label"))


def test_scores_off_the_unit_scale_have_no_grid_until_declared():
    """Table 18's bins are those of scores in [0, 1]."""
    frame = weak_judge(100).drop(columns="ci_width")
    frame["judge_score"] *= 50
    frame["oracle_label"] *= 50
    assert route(frame).to_dict()["gain_by_margin_and_level"] is None
    scale = parse_scale("0:50")
    assert route(frame, judge_scale=scale, label_scale=scale).to_dict()["gain_by_margin_and_level"]


def test_the_text_says_what_to_do():
    """The page names the signal, the share, the two checks and what each signal lacks."""
    text = shown_text(route(weak_judge(200)), full=True)
    assert re.search(r"The 25% of the prompts .* are those with the (highest|widest|smallest) .*(from|up to)", text)
    assert "Is a pick with a larger margin right more often?" in text
    assert "draw_sd: needs repeated scores" in text
    assert "[" not in text.split("\n", maxsplit=1)[0]


def test_labelled_rows_alone_calibrate_by_their_weights():
    """Without rows of unlabelled prompts, threshold and calibration are still those of all prompts."""
    frame = weak_judge(3000, seed=5)
    wide = frame.groupby("prompt_id")["ci_width"].transform("mean") > 0.3
    frame["propensity"] = np.where(wide, 0.8, 0.15)
    drawn = np.repeat(np.random.default_rng(0).uniform(size=3000), 3) < frame["propensity"]
    every = prompts_of(route(frame.drop(columns="propensity"))).features
    router = route(frame[drawn]).router()
    assert np.mean(router.value(every) > router.threshold) == pytest.approx(0.25, abs=0.03)
    assert np.mean(np.array(router.calibration) > router.threshold) == pytest.approx(0.25, abs=0.02)


def test_the_page_says_what_has_no_interval_and_what_the_bound_is():
    """Ten routed prompts: the page says so, and never that no router could do better."""
    text = " ".join(shown_text(route(weak_judge(100), share=0.1), full=True).split())
    assert "captured has no interval: it rests on 10 routed prompts" in text
    assert "What these features predict here would lift the value by at most" in text
    assert "No router" not in text


DRAWS = 4


class Resampled:
    """A judge that was heard several times: the mean, its interval, and every draw, as production has it."""

    name = "resampled"
    version = "1"

    def __init__(self, frame):
        self.rows = dict(list(frame.groupby("prompt_id")))

    def judge(self, prompt, candidates):
        """Score the candidates of one prompt of the table."""
        rows = self.rows[prompt].set_index("candidate")
        return tuple(self.score(rows.loc[one]) for one in candidates)

    def score(self, row):
        """Put the draws of one candidate together."""
        draws = [float(row[f"draw_{k}"]) for k in range(DRAWS)]
        mean, half = sum(draws) / DRAWS, row["ci_width"] / 2
        return Score(mean, low=mean - half, high=mean + half, draws=tuple(draws))


@pytest.mark.parametrize("first", ["score", "draw_0"])
def test_a_pool_in_production_has_the_signal_that_the_study_gave_it(first):
    """Studied on means or on first draws, the router gives each pool of a resampled judge the signal of the study."""
    frame = weak_judge(200, draws=DRAWS).drop(columns="judge_score")
    means = frame[[f"draw_{k}" for k in range(DRAWS)]].mean(axis=1)
    study = route(frame.assign(judge_score=means) if first == "score" else frame)
    prompts = prompts_of(study)
    model = fit_signal("expected_gain", prompts.features, prompts.gain)
    values = model.value(prompts.features)
    edge = threshold(values, 0.25)
    saved = SavedRouter.of(
        "expected_gain", 0.25, edge, np.sort(values), model.model, judge="weak", first=study.router().first
    )
    assert (prompts.first, saved.first) == (first, first)
    router = Router(lambda _prompt, _text: 0.0, signal=SavedRouter.model_validate(saved.to_dict()), cap=False)
    selector = Selector(Resampled(frame), router=router)
    picks = [selector.select(one, ["c0", "c1", "c2"]) for one in prompts.panel.prompt_ids]
    live = [one.to_dict()["routed"]["signal"] for one in picks]
    assert live == pytest.approx(values, abs=2e-9)
    assert np.mean(np.array(live) >= edge - 1e-8) == pytest.approx(0.25, abs=0.01)


FILES = ("pilot_like_20000", "one_model_20000")


@pytest.fixture(scope="module", params=FILES)
def halves(request, shared):
    """Return the first-pass features and outcomes of a simulated file, and which prompts may be fitted to."""
    frame = pd.read_parquet(shared / "data" / "simulated" / f"{request.param}.parquet")
    first_pass = frame[["prompt_id", "candidate", "oracle_label", "draw_0", "ci_width"]]
    study = prompts_of(route(first_pass, first_pass_only=True), "judge")
    return request.param, study, np.arange(len(study.labelled)) % 2 == 0


@pytest.mark.shared
def test_a_quarter_of_the_simulated_prompts_routed_captures_what_it_should(halves):
    """At 25 %, half to fit and half to score: margin near 0; pilot width .25 +- .04, expected gain .35 or more.

    On both files the expected gain is not worse than the width by more than .02.
    """
    name, study, fitted = halves
    out = study.outcomes.some(~fitted)
    features = {key: study.features[key] for key in (*SIGNALS["expected_gain"].needs, "width")}
    model = fit_gain(features, np.where(fitted, study.gain, np.nan))
    gain = model.predict(features)[~fitted]
    width = study.features["width"][~fitted]
    captured = {
        key: routed_share(values, out, 0.25).captured.estimate
        for key, values in (("margin", -study.features["margin"][~fitted]), ("width", width), ("gain", gain))
    }
    assert abs(captured["margin"]) < 0.06
    if name == "pilot_like_20000":
        assert captured["width"] == pytest.approx(0.25, abs=0.04)
        assert captured["gain"] >= 0.35
    assert captured["gain"] > captured["width"] - 0.02


@pytest.mark.shared
def test_correlations_with_the_gain_are_the_prototypes(shared):
    """Pilot: .01, .28, .29 for margin, width and scatter of five draws, to .02."""
    frame = pd.read_parquet(shared / "data" / "simulated" / "pilot_like_20000.parquet")
    signals = route(frame.drop(columns=[f"draw_{k}" for k in range(5, 9)]))["judge"].signals
    found = [signals[name].corr_gain.estimate for name in ("margin", "interval_width", "draw_sd")]
    assert found == pytest.approx([0.01, 0.28, 0.29], abs=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("prompts", [100_000, 153_684])
def test_many_prompts_of_two_judges_are_studied(prompts):
    """A cumulative sum of so many masses ends below 1; every share up to 1 has figures of each judge."""
    first = simulate("arena", n=prompts, seed=1).frame().assign(judge="first")
    second = first.assign(judge="second", judge_score=(7 * first["judge_score"] % 1).round(2))
    found = route(pd.concat([first, second]))
    best = first.groupby("prompt_id")["oracle_label"].max().mean()
    for name in ("first", "second"):
        every = found[name].perfect[-1]
        assert (every.share, every.value) == (1.0, pytest.approx(best))


def prompts_of_budget(frame):
    """Return the judged prompts of a table of one judge."""
    table = ScoreTable.from_frame(frame)
    return judged_prompts(table, lay_out(table)[0])


@pytest.fixture(scope="module")
def judged():
    """Return 300 prompts of three candidates with six scores each."""
    return prompts_of_budget(weak_judge(300, draws=6))


def test_a_cheap_stronger_judge_takes_all_and_a_dear_one_nothing(judged):
    """At the price of one call routing alone is best; at 100,000 calls all goes into redraws."""
    cheap, dear = split_budget(judged, 5, 1.0), split_budget(judged, 5, 1e5)
    assert cheap.share == 1.0
    assert "Routing alone" in cheap.sentence
    assert dear.further_calls == pytest.approx(2, abs=0.01)
    assert dear.gain.estimate == pytest.approx(dear.redraw_only, abs=1e-3)


def test_the_split_is_at_least_as_good_as_either_use_alone(judged):
    """The plug-in maximum includes both ends, and the budget is kept."""
    for cost in (5.0, 20.0, 80.0):
        found = split_budget(judged, 9, cost)
        assert found.gain.estimate >= max(found.route_only, found.redraw_only) - 1e-12
        assert 3 + found.share * cost + (1 - found.share) * found.further_calls <= 9 + 1e-9
        assert found.gain.n == 300


def test_prompts_labelled_with_unequal_chances_split_as_all_prompts_do():
    """Wide prompts labelled nine times as often: the share is one of all prompts, with their rows or without."""
    frame = weak_judge(1500, draws=5, seed=4)
    wide = frame.groupby("prompt_id")["ci_width"].transform("mean") > 0.3
    frame["propensity"] = np.where(wide, 0.9, 0.1)
    drawn = np.repeat(np.random.default_rng(0).uniform(size=1500), 3) < frame["propensity"]
    part = frame.assign(oracle_label=frame["oracle_label"].where(drawn))
    truth = split_budget(prompts_of_budget(frame.drop(columns="propensity")), 8, 20.0)
    for rows in (part, part[drawn]):
        found = split_budget(prompts_of_budget(rows), 8, 20.0)
        assert found.route_only == pytest.approx(truth.route_only, rel=0.15)
        assert found.share == pytest.approx(truth.share, abs=0.06)


def test_where_nothing_can_be_gained_nothing_is_spent():
    """Labels that are all equal leave no use for either, at any price."""
    flat = prompts_of_budget(weak_judge(150, draws=4).assign(oracle_label=0.5))
    for cost in (3.0, 20.0):
        found = split_budget(flat, 8, cost)
        assert (found.share, found.further_calls, found.gain.estimate) == (0.0, 0.0, 0.0)
        assert "Spend nothing" in found.sentence


def test_a_split_starts_from_one_draw_whatever_the_study_rests_on():
    """Redraws follow a first draw: a table scored by the mean of its draws is split as one of its draws alone."""
    frame = weak_judge(150, draws=4).drop(columns="judge_score")
    mean = frame.assign(judge_score=frame[[f"draw_{k}" for k in range(4)]].mean(axis=1))
    alone, scored = (route(one, mean_calls=6, strong_cost=20) for one in (frame, mean))
    assert scored.source_of("prompts")["weak"].prompts.first == "score"
    assert scored["weak"].budget == alone["weak"].budget


def test_ragged_pools_are_split_too():
    """Pools of different sizes: the first scores are counted as they are."""
    frame = weak_judge(200, draws=4)
    short = (frame["candidate"] == "c2") & (frame["prompt_id"] >= "p0100")
    found = split_budget(prompts_of_budget(frame[~short]), 4, 10.0)
    assert 2.5 + found.share * 10 + (1 - found.share) * found.further_calls <= 4 + 1e-9


@pytest.mark.parametrize(
    ("rows", "draws", "budget", "cost", "words"),
    [
        (100, 0, 8, 20, "without 3 scores"),
        (100, 2, 8, 20, "without 3 scores"),
        (60, 4, 8, 20, "fewer than the 75"),
        (100, 4, 3, 20, "nothing beyond"),
        (100, 4, 8, 0, "price"),
    ],
)
def test_what_cannot_be_split_is_refused(rows, draws, budget, cost, words):
    """Too few draws or labels, no calls to spend and no price are each one clear error."""
    with pytest.raises(InputError, match=words):
        split_budget(prompts_of_budget(weak_judge(rows, draws=draws)), budget, cost)


def test_the_study_carries_the_split_and_prints_it():
    """`route` takes both figures of a budget or neither; text and document hold the split."""
    study = route(weak_judge(150, draws=4), mean_calls=6, strong_cost=20)
    assert study.to_dict()["budget"]["strong_cost"] == 20
    assert "Of 6 calls per prompt" in str(study)
    with pytest.raises(UsageError, match="joint budget"):
        route(weak_judge(150, draws=4), mean_calls=6)


@pytest.mark.shared
@pytest.mark.parametrize("name", ["pilot_like_20000", "one_model_20000"])
def test_a_pilot_of_500_splits_as_the_prototypes_did(shared, name):
    """At 5 calls a routed prompt routing alone; at 80, of 6 to 10 calls, at most 7.5 % are routed (ceilings.md 2)."""
    frame = pd.read_parquet(shared / "data" / "simulated" / f"{name}.parquet").iloc[:2000]
    judged = prompts_of_budget(frame)
    assert [split_budget(judged, calls, 5.0).share for calls in (6, 8)] == pytest.approx([0.4, 0.8])
    dear = [split_budget(judged, calls, 80.0) for calls in (6, 8, 10)]
    assert max(one.share for one in dear) <= 0.075
    assert np.diff([one.gain.estimate for one in dear]).min() > 0


@pytest.fixture
def scores(tmp_path):
    """Write a table of a weak judge and return its path."""
    path = tmp_path / "scores.csv"
    weak_judge(150).to_csv(path, index=False)
    return path


def run(*arguments):
    """Run the command by itself, as the command line's own application would."""
    app = typer.Typer(add_completion=False)
    app.command()(route_of_command)
    return typer.main.get_command(app).main([str(one) for one in arguments], standalone_mode=False)


def test_the_command_prints_saves_and_writes_json(scores, tmp_path, capsys):
    """Exit 0, a page of text, a router that loads, and a document of the published schema."""
    router, document = tmp_path / "router.json", tmp_path / "route.json"
    assert run(scores, "--share", "0.1", "--save", router, "--json", document) == 0
    assert "The 10% of the prompts that it would send on are those with the" in capsys.readouterr().out
    assert SavedRouter.load(router).share == 0.1
    found = strict(document.read_text(encoding="utf-8"))
    assert found["schema"] == "bonwise.route/1"
    assert found["settings"]["share"] == 0.1
    assert 0.1 in [one["share"] for one in found["signals"]["margin"]["shares"]]


@pytest.mark.parametrize("lent", ["draws", "second judge"])
def test_a_saved_signal_that_one_judging_does_not_give_is_warned_of(tmp_path, capsys, lent):
    """Where the router needs draws or a second judge a line says so and names the flag; with that flag none does."""
    frame, which = weak_judge(300, draws=5 if lent == "draws" else 0).drop(columns="ci_width"), ()
    if lent == "second judge":
        near = (frame["oracle_label"] + np.random.default_rng(1).normal(0, 0.05, len(frame))).clip(0, 1)
        frame = pd.concat([frame, frame.assign(judge="near", judge_score=near)])
        which = ("--judge", "weak")
    scores, saved = tmp_path / "scores.csv", tmp_path / "router.json"
    frame.to_csv(scores, index=False)
    assert run(scores, "--save", saved, *which) == 0
    needs = {"draws": "several scores of each candidate", "second judge": "the scores of a second judge"}[lent]
    router, said = SavedRouter.load(saved), " ".join(capsys.readouterr().err.split())
    assert router.beyond_first_pass == (needs,)
    assert f"router.json routes by {router.signal}, which needs {needs}: " in said
    assert "add --first-pass-only" in said
    assert run(scores, "--save", saved, "--first-pass-only", *which) == 0
    assert "WARNING" not in capsys.readouterr().err
    assert SavedRouter.load(saved).beyond_first_pass == ()


def test_the_same_input_gives_the_same_bytes(scores, tmp_path):
    """Twice the same command: the same router and the same document."""
    for name in ("a", "b"):
        run(scores, "--save", tmp_path / f"{name}.router", "--json", tmp_path / f"{name}.json")
    for kind in ("router", "json"):
        assert (tmp_path / f"a.{kind}").read_bytes() == (tmp_path / f"b.{kind}").read_bytes()


def test_json_on_standard_output_stands_alone(scores, capsys):
    """With --json - the words go to standard error."""
    run(scores, "--json", "-")
    said = capsys.readouterr()
    assert strict(said.out)["judge"] == "weak"
    assert "The 25% of the prompts" in said.err


def test_columns_labels_and_exclusions_are_understood(tmp_path):
    """Flags of the audit mean the same here."""
    frame = weak_judge(100)
    labels = frame[["prompt_id", "candidate", "oracle_label"]].rename(columns={"oracle_label": "truth"})
    labels.to_csv(tmp_path / "labels.csv", index=False)
    scores = frame.drop(columns="oracle_label").rename(columns={"judge_score": "points"})
    scores.to_csv(tmp_path / "s.csv", index=False)
    flags = ("--score-col", "points", "--label-col", "truth", "--exclude", "c2", "--first-pass-only", "--ragged")
    target = tmp_path / "route.json"
    assert run(tmp_path / "s.csv", "--labels", tmp_path / "labels.csv", *flags, "--json", target) == 0
    settings = json.loads(target.read_text(encoding="utf-8"))["settings"]
    assert settings["exclude"] == ["c2"]
    assert settings["shape"] == "ragged"


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--rectangular", "--ragged"), "contradict"),
        (("--judge", "none"), "no judge 'none'"),
        (("--strong", "nobody"), "no judge 'nobody'"),
        (("--strong", "weak", "--judge", "weak"), "routed to itself"),
        (("--target", "recovery=0.6"), "takes a stronger judge"),
        (("--budget", "3.50"), "takes a stronger judge"),
        (("--budget", "much"), "not a budget"),
        (("--target", "recovery=50"), "at most 1"),
        (("--share", "2"), "share"),
        (("--json", "x.json", "--save", "x.json"), "read or written already"),
    ],
)
def test_flags_that_mean_nothing_are_refused(scores, flags, words):
    """One line that says what is wrong."""
    with pytest.raises(UsageError, match=words):
        run(scores, *flags)


@pytest.mark.shared
def test_the_margin_goes_with_being_right_and_with_little_else(shared):
    """On arena_like: .177 with a right pick, -.056 with the best label, -.048 with the gain, .058 with the gap."""
    found = route(shared / "data" / "simulated" / "arena_like_5000.csv.gz", strong="none")["judge"]
    parts = found.signals["margin"].decomposition
    # Signals are turned so that high ones are sent: a large margin is a low one.
    assert parts.corr_wrong.estimate == pytest.approx(0.177, abs=5e-4)
    assert parts.corr_best.estimate == pytest.approx(0.056, abs=5e-4)
    assert parts.corr_gain.estimate == pytest.approx(0.048, abs=5e-4)
    # Weighted by how likely the pick is wrong; with equal weights the gap has .059.
    assert parts.corr_gap.estimate == pytest.approx(-0.058, abs=5e-4)
    assert parts.corr_best.low > 0


def test_the_correlation_with_the_best_label_is_that_of_a_plain_loop():
    """Over prompts, of the margin turned and the highest label."""
    frame = simulate("arena", n=60, seed=8).frame()
    parts = route(frame, strong="none")["judge"].signals["margin"].decomposition
    margins, best = [], []
    for _, pool in frame.groupby("prompt_id", observed=True):
        scores = sorted(pool["judge_score"], reverse=True)
        margins.append(scores[1] - scores[0])
        best.append(pool["oracle_label"].max())
    assert parts.corr_best.estimate == pytest.approx(np.corrcoef(margins, best)[0, 1])
    assert parts.corr_best.n == 60
