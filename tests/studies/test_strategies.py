"""The study of strategies: by hand, against the acceptance figures, in plain loops, and by how often it is right."""

from __future__ import annotations

import csv
import itertools
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bonwise as bw
from bonwise.auditing import label_interval
from bonwise.auditing.settings import Settings
from bonwise.errors import InputError, UsageError
from bonwise.selection.strategies.scores import Adaptive, Greedy, Resample
from bonwise.stats.partial.label_sample import LabelSample, ScaledSample
from bonwise.studies.strategies import engine
from bonwise.studies.strategies.engine import PlayedRule, StoredPools, StrategyOutcomes, chosen, played
from bonwise.table.panel import lay_out
from bonwise.table.score_table import ScoreTable
from bonwise.testing import simulate
from cli.commands import typed
from stats.nominal import assert_covered
from studies.pairwise_judges import verdicts

GOLDEN = Path(__file__).parent / "golden" / "strategies_acceptance.csv"
PAPER = Adaptive(repick=False)


def long_table(draws, labels, judge="judge"):
    """Lay draws, (n, K, k), and labels out as a long table."""
    n, K, k = np.shape(draws)
    columns = {f"draw_{at}": np.asarray(draws)[:, :, at].ravel() for at in range(k)}
    ids = {
        "prompt_id": np.repeat([f"p{x:05d}" for x in range(n)], K),
        "candidate": np.tile([f"c{i}" for i in range(K)], n),
    }
    return pd.DataFrame({**ids, **columns, "judge": judge, "oracle_label": np.asarray(labels).ravel()})


def pools_of(draws, labels, **asked):
    """Return stored pools of one judge."""
    table = ScoreTable.from_frame(long_table(draws, labels))
    (panel,) = lay_out(table)
    stored, _ = engine._drawn(table, panel)
    return StoredPools(replace(panel, scores=stored[:, 0]), stored, **asked)


# By hand: in half of the prompts the first scores tie and further ones name the better candidate; in the other half
# the judge is sure and wrong.

TIED = ([[0.5, 0.9, 0.9], [0.5, 0.1, 0.1]], [1, 0])
WRONG = ([[0.9, 0.9, 0.9], [0.1, 0.1, 0.1]], [0, 1])


def by_hand(times=12):
    """Return draws and labels of both kinds of prompts."""
    draws, labels = zip(*([TIED, WRONG] * times), strict=True)
    return long_table(draws, labels)


def test_figures_are_those_worked_by_hand():
    """Greedy gains 0 and -1/2 of a room of 1/2; a further call on the tied prompts alone turns the 0 into 1/2."""
    judge = bw.study_strategies(by_hand(), seeds=3).judges["judge"]
    expected = {
        "greedy": (2, -0.5, 0.25, None),
        "resample:draws=2": (4, 0, 0.5, 0.125),
        "adaptive": (3, 0, 0.5, 0.25),
    }
    for name, (calls, recovery, hit, per_call) in expected.items():
        row = judge.row(name)
        assert row.calls == row.cost == pytest.approx(calls)
        assert row.recovery.estimate == pytest.approx(recovery)
        assert row.hit_rate.estimate == row.top1_accuracy.estimate == pytest.approx(hit)
        assert (row.gain_per_call and row.gain_per_call.estimate) == (per_call and pytest.approx(per_call))
    assert judge.row("adaptive").over_greedy["recovery"].estimate == pytest.approx(0.5)
    assert judge.choice.budget == pytest.approx(4)
    assert judge.row(judge.choice.strategy).kind == "adaptive"
    assert judge.choice.difference.low < 0.5 < judge.choice.difference.high
    assert judge.choice.out_of_fold.estimate == pytest.approx(0.5)
    assert [row.kind for row in judge.frontier][:2] == ["greedy", "adaptive"]


def test_a_budget_of_the_first_pass_buys_greedy():
    """Where nothing else is paid for greedy is used, its lead over itself is 0, and less than that is refused."""
    judge = bw.study_strategies(by_hand(), seeds=1, budget=2).judges["judge"]
    assert (judge.choice.strategy, judge.choice.difference, judge.choice.out_of_fold.estimate) == ("greedy", None, 0)
    with pytest.raises(UsageError, match="does not pay for one score"):
        bw.study_strategies(by_hand(), seeds=1, budget=1.9)


def acceptance(shared, name):
    """Return the stored draws of a file with the golden rows of its strategies."""
    lines = [line for line in GOLDEN.read_text("utf-8").splitlines() if not line.startswith("#")]
    frame = pd.read_parquet(shared / "data" / "simulated" / f"{name}_20000.parquet")
    draws = frame[[f"draw_{at}" for at in range(9)]].to_numpy().reshape(-1, 4, 9)
    rows = {row["strategy"]: row for row in csv.DictReader(lines) if row["file"] == name}
    return draws, frame["oracle_label"].to_numpy().reshape(-1, 4), rows


@pytest.mark.shared
@pytest.mark.parametrize("name", ["pilot_like", "one_model"])
@pytest.mark.parametrize(("prompts", "seeds"), [(1500, 2), pytest.param(20_000, 20, marks=pytest.mark.slow)])
def test_stored_draws_give_the_acceptance_figures(shared, name, prompts, seeds):
    """Calls, recovery and hit rate of greedy, the paper's rule and five draws; of fewer prompts as far as they go."""
    draws, labels, rows = acceptance(shared, name)
    whole = prompts == len(draws)
    rules = [PlayedRule("greedy", Greedy(), "none"), PlayedRule("adaptive", PAPER, "ties")]
    rules += [PlayedRule("resample", Resample(5), "none")] if whole else []
    pools = pools_of(draws[:prompts], labels[:prompts], seeds=seeds)
    strategies = played(pools, rules)
    measured = StrategyOutcomes.of(strategies, pools.panel, {}, Settings())
    for at, each in enumerate(strategies):
        golden = rows[each.strategy]
        assert measured.value(measured.column("calls", at)) == pytest.approx(
            float(golden["calls"]), abs=0.01 if whole else 0.1
        )
        recovery = measured.ratio(measured.column("gain", at), measured.room)
        assert recovery.estimate == pytest.approx(float(golden["recovery"]), abs=0.003 if whole else 4 * recovery.se)
        if golden["hit_rate"]:
            assert measured.value(measured.column("hit_rate", at)) == pytest.approx(
                float(golden["hit_rate"]), abs=0.003 if whole else 0.04
            )


# The same in plain loops.


def adaptive_by_loops(draws, order, margin=0.1, cap=3, *, repick):
    """Play the paper's rule, or the one that picks the pair anew, on one pool; return the means and the calls."""
    heard = [[row[0]] for row in draws]
    asked = [1] * len(draws)

    def mean(at):
        known = [value for value in heard[at] if value is not None]
        return round(sum(known) / len(known), 9)

    def two_best():
        return sorted(range(len(draws)), key=lambda at: (-mean(at), order.index(at)))[:2]

    pair = two_best()
    for _ in range(cap - 1):
        pair = two_best() if repick else pair
        if round(abs(mean(pair[0]) - mean(pair[1])), 9) >= margin:
            break
        for at in pair:
            heard[at].append(draws[at][asked[at]])
            asked[at] += 1
    return [mean(at) for at in range(len(draws))], sum(asked)


def shares_of_top(values):
    """Return equal shares of those that share the highest value."""
    top = [value == max(values) for value in values]
    return [is_top / sum(top) for is_top in top]


SCORES = st.sampled_from([0.0, 0.25, 0.5, 0.55, 0.6, 0.65, 0.9])


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_strategies_pick_and_ask_as_in_plain_loops(data):
    """Greedy, draws of everyone, and both adaptive rules, under each of the orders in which ties are broken."""
    K = data.draw(st.integers(2, 4))
    draws = data.draw(
        st.lists(st.lists(st.lists(SCORES, min_size=3, max_size=3), min_size=K, max_size=K), min_size=2, max_size=3)
    )
    pools = pools_of(draws, np.tile([1.0, *[0.0] * (K - 1)], (len(draws), 1)), seeds=4)
    rules = [PlayedRule("greedy", Greedy(), "none"), PlayedRule("resample", Resample(3), "none")]
    rules += [PlayedRule("adaptive", Adaptive(repick=repick), "ties") for repick in (False, True)]
    greedy, resample, *adaptive = played(pools, rules)
    for x, ((start, size), pool) in enumerate(zip(pools.places, draws, strict=True)):
        cells = slice(start, start + size)
        assert greedy.picks[cells] == pytest.approx(shares_of_top([row[0] for row in pool]))
        assert resample.picks[cells] == pytest.approx(shares_of_top([round(fmean(row), 9) for row in pool]))
        for strategy, repick in zip(adaptive, (False, True), strict=True):
            plain = [adaptive_by_loops(pool, order, repick=repick) for order in pools.orders(x, start, size)]
            shares = np.mean([shares_of_top(means) for means, _ in plain], axis=0)
            assert strategy.picks[cells] == pytest.approx(shares)
            assert strategy.calls["judge"][x] == pytest.approx(fmean(calls for _, calls in plain))


def test_a_tie_break_pays_for_both_orders_of_the_tied_pairs():
    """Every pair of those that share the top is compared in both orders; a single order costs one call."""
    simulation = simulate("one_model", n=40, seed=3, draws=2)
    pairs = verdicts(simulation, noise=0.0)
    frame = simulation.frame()
    first = simulation.draws[:, :, 0]
    tied = (first == first.max(axis=1, keepdims=True)).sum(axis=1)
    for orders, file in ((2, pairs), (1, pairs.assign(shown_second=None))):
        rows = {row.strategy: row for row in bw.study_strategies(frame, verdicts=file, seeds=2).judges["judge"].rows}
        assert rows["tie_break:of=pairwise:m"].calls == pytest.approx(4 + np.mean(orders * tied * (tied - 1) / 2))
        assert rows["round_robin"].calls == pytest.approx(6 * orders)
        assert rows["knockout"].calls == pytest.approx(3 * orders)
        assert rows["round_robin"].recovery.estimate > 0.95
    assert rows["round_robin"].select == "--judge pairwise:m --strategy round_robin"


def several(n=60):
    """Return a judge with draws beside a better one, both named as judges are."""
    frame = simulate("one_model", n=n, seed=4, draws=3).frame()
    strong = frame.assign(
        judge="pointwise:a/b",
        judge_score=frame["oracle_label"],
        draw_0=frame["oracle_label"],
        draw_1=np.nan,
        draw_2=np.nan,
    )
    return pd.concat([frame.assign(judge="judge"), strong])


def test_a_jury_and_a_stronger_judge_are_played():
    """A judge that never errs raises recovery by the share that it decides; a jury asks both of every candidate."""
    study = bw.study_strategies(several(), strong="pointwise:a/b", prices={"judge": 1, "pointwise:a/b": 5}, seeds=2)
    judge = study.judges["judge"]
    greedy, jury = judge.rows[0], next(row for row in judge.rows if row.kind == "jury")
    routes = [row for row in judge.rows if row.kind == "route"]
    assert [row.cost for row in routes] == pytest.approx([4 + share * 4 * 5 for share in (0.1, 0.25, 0.5)])
    assert greedy.recovery.estimate < routes[0].recovery.estimate < routes[2].recovery.estimate < 1
    assert (jury.calls, jury.cost) == (8, 24)
    assert "--strong pointwise:a/b --route interval_width --share 0.1" in routes[0].select
    assert study.not_studied == {"pointwise:a/b": "its strategies were not asked for (--judge)"}
    assert {"tie_break, round_robin, knockout"} == set(judge.absent)


@pytest.mark.parametrize("rule", ["greedy", "resample:draws=3"])
def test_figures_of_picks_are_those_of_an_audit(rule):
    """The recovery of greedy is that of an audit of the first draw, that of three draws of an audit of their mean."""
    simulation = simulate("pilot", n=300, seed=5, draws=3)
    row = bw.study_strategies(simulation.frame(), seeds=1).judges["judge"].row(rule)
    scores = simulation.draws[:, :, 0] if rule == "greedy" else simulation.draws.mean(axis=2)
    audit = bw.audit(
        simulation.frame().drop(columns=["draw_0", "draw_1", "draw_2"]).assign(judge_score=scores.ravel())
    )
    for metric in ("recovery", "top1_accuracy", "hit_rate"):
        mine, theirs = getattr(row, metric), audit[metric]
        assert mine.estimate == pytest.approx(theirs.estimate)
        assert (mine.low, mine.high) == pytest.approx((theirs.low, theirs.high), abs=0.004)


# Labels on a part of the prompts.


def test_labels_on_a_part_stand_for_all_prompts():
    """Drawn at random, half of the labels give in 40 draws what all give, and their intervals hold it."""
    simulation, rng = simulate("one_model", n=240, seed=6, draws=3), np.random.default_rng(1)
    pools = pools_of(simulation.draws, simulation.labels, seeds=1)
    strategies = played(pools, [PlayedRule("greedy", Greedy(), "none"), PlayedRule("resample", Resample(3), "none")])
    others = [pools.panel.scores, pools.draws.mean(axis=1)]

    def lead(outcomes):
        return outcomes.ratio(outcomes.lead("gain", 1), outcomes.room)

    whole = lead(StrategyOutcomes.of(strategies, pools.panel, {}, Settings())).estimate
    parts = []
    for _ in range(40):
        labelled = np.zeros(240, dtype=bool)
        labelled[rng.choice(240, 120, replace=False)] = True
        panel = replace(pools.panel, labels=np.where(np.repeat(labelled, 4), pools.panel.labels, np.nan))
        drawn = {"sample": LabelSample.uniform(labelled), "method": "aipw", "others": others}
        parts.append(lead(StrategyOutcomes.of(strategies, panel, {}, Settings(), **drawn)))
    estimates = [part.estimate for part in parts]
    assert fmean(estimates) == pytest.approx(whole, abs=3.5 * np.std(estimates) / 40**0.5)
    assert sum(part.low <= whole <= part.high for part in parts) >= 36
    assert {part.method for part in parts} == {"aipw"}


def test_a_design_makes_figures_of_all_prompts(tmp_path):
    """Without a design figures are of the labelled prompts, and the document and the page say so."""
    frame = simulate("one_model", n=120, seed=7, draws=3).frame()
    frame.loc[frame.index[160:], "oracle_label"] = np.nan
    alone, all_prompts = (bw.study_strategies(frame, seeds=1, **design) for design in ({}, {"design": "uniform"}))
    assert [study.judges["judge"].data.method for study in (alone, all_prompts)] == ["labelled_only", "aipw"]
    assert [study.judges["judge"].data.prompts for study in (alone, all_prompts)] == [40, 120]
    assert "Figures are of the labelled prompts alone." in alone.to_text(full=True)
    assert alone.judges["judge"].data.dropped == {"not labelled whole": 80}
    assert all_prompts.judges["judge"].data.dropped == {}
    assert "Figures are of all prompts, from a sample of labels." in all_prompts.to_text(full=True)
    assert {row.recovery.method for row in all_prompts.judges["judge"].rows} == {"aipw"}


# How often the intervals hold the truth although the strategy was chosen: tables drawn from populations that were
# played whole, whose figures are therefore known.


def heavy(rng, n):
    """Let labels be worth what they are, and draws scatter by Student's law with 3 degrees of freedom."""
    means = 0.6 + 0.1 * rng.normal(size=(n, 4))
    return means, means[:, :, None] + 0.1 * rng.standard_t(3, size=(n, 4, 4))


def level(rng, n):
    """Let further draws tell nothing: no strategy is better than another."""
    return rng.normal(size=(n, 4)), np.round(rng.random((n, 4, 4)), 1)


def coarse(rng, n):
    """Let each draw be right or wrong."""
    means = rng.beta(2.0, 1.0, size=(n, 4))
    return means, (rng.random((n, 4, 4)) < means[:, :, None]).astype(float)


def worse(rng, n):
    """Let later draws be of a judge that knows nothing: whatever asks again is worse than greedy."""
    means = 0.6 + 0.1 * rng.normal(size=(n, 4))
    draws = np.repeat(means[:, :, None], 4, axis=2) + 0.3 * rng.normal(size=(n, 4, 4))
    draws[:, :, 0] = np.round(means, 1)
    return means, draws


def preset(name):
    """Return one of the simulators."""

    def law(rng, n):
        simulation = simulate(name, n=n, seed=int(rng.integers(2**31)), draws=4)
        return simulation.labels, simulation.draws

    return law


LAWS = {
    "pilot": preset("pilot"),
    "one model": preset("one_model"),
    "heavy": heavy,
    "level": level,
    "coarse": coarse,
    "worse": worse,
}


def population(law, prompts):
    """Return the outcomes of each prompt of a population, the names of its strategies and their true leads."""
    labels, draws = LAWS[law](np.random.default_rng(11), prompts)
    pools = pools_of(draws, labels, seeds=1)
    rules = [PlayedRule("greedy", Greedy(), "none"), *(PlayedRule("resample", Resample(k), "none") for k in (2, 3))]
    rules += [
        PlayedRule("adaptive", Adaptive(margin, repick=repick), "ties")
        for margin, repick in itertools.product((0.05, 0.2), (True, False))
    ]
    strategies = played(pools, rules)
    measured = StrategyOutcomes.of(strategies, pools.panel, {}, Settings())
    room = measured.value(measured.room)
    leads = {each.strategy: measured.value(measured.lead("gain", at)) / room for at, each in enumerate(strategies)}
    return measured.influence.means + measured.influence.spread, leads


def coverage(law, tables, prompts=200, size=1500):
    """Count what holds in tables of the population: after the choice, from below, of all rows; out of fold."""
    by_prompt, leads = population(law, size)
    names, draw = list(leads), ScaledSample.of(LabelSample.uniform(np.ones(prompts, dtype=bool)))
    rng, held = np.random.default_rng(12), dict.fromkeys(("together", "out of fold", "after", "not below"), 0)
    for _ in range(tables):
        Y = by_prompt[rng.integers(len(by_prompt), size=prompts)]
        found = label_interval.influence(np.zeros_like(Y), Y, draw)
        choice, together = chosen(StrategyOutcomes(found, np.arange(prompts), 0.95), names, 2 * 4 + 1.0)
        ends = [(leads[name], row) for name, row in zip(names, together, strict=True) if row is not None]
        held["together"] += all(low <= lead <= high for lead, (low, high) in ends)
        target = sum(leads[name] * times for name, times in choice.folds.items()) / 10
        apart = choice.out_of_fold
        held["out of fold"] += apart.low is None or apart.low <= target <= apart.high
        # Where greedy is used nothing is said of another strategy.
        lead, said = leads[choice.strategy], choice.difference
        held["after"] += said is None or said.low <= lead <= said.high
        held["not below"] += said is None or said.low <= lead
    return held


@pytest.mark.parametrize("law", ["one model", "level"])
def test_intervals_after_the_choice_hold_in_some_tables(law):
    """Above .975 is allowed: the interval allows for every choice."""
    assert_covered(coverage(law, 120, size=400), 120, most=1.0)


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS)
def test_intervals_after_the_choice_hold(law):
    """2,000 tables of six laws: at least .93 hold the true leads, and one below its interval is as rare as .025."""
    held = coverage(law, 2000)
    print(law, {name: times / 2000 for name, times in held.items()})  # noqa: T201 - the figures of the docs
    assert_covered(held, 2000, most=1.0)
    assert_covered({"not below": held["not below"]}, 2000, least=0.975, most=1.0)


# As a new user would: two commands.


def test_two_commands_lead_from_draws_to_picks(capsys, tmp_path, monkeypatch):
    """The printed command runs as it stands where the name of the judge makes it and the pools are there."""
    monkeypatch.chdir(tmp_path)
    by_hand().assign(judge="local:lexical").to_csv("draws.csv", index=False)
    Path("POOLS.jsonl").write_text(
        '{"prompt_id": "p", "prompt": "name a bright colour", "candidates": ["a bright red colour", "seven"]}\n',
        encoding="utf-8",
    )
    flags = ["--budget", "2", "--seeds", "3", "--json", "study.json", "--html", "page.html"]
    done = typed(capsys, "study", "strategies", "draws.csv", *flags)
    assert done.code == 0
    command = done.out.strip().splitlines()[-1]
    assert command == "bonwise select POOLS.jsonl --judge local:lexical --strategy greedy"
    assert typed(capsys, *command.split()[1:]).code == 0
    assert bw.load("study.json").judges.keys() == {"local:lexical"}
    assert "At up to 2 calls per prompt use this: greedy" in done.out.replace("\n", " ")


def test_value_of_information_is_learnt_first(capsys, tmp_path, monkeypatch):
    """A strategy with learnt prices comes with the command that learns them; its model is what the strategy names."""
    monkeypatch.chdir(tmp_path)
    simulate("pilot", n=400, seed=8, draws=4).frame().to_csv("draws.csv", index=False)
    study = bw.study_strategies("draws.csv", seeds=1, budget=6.5)
    assert study.judges["judge"].choice.best.startswith(
        "value_of_information:mean_calls=6,model=voi.json,max_draws=4"
    )
    lines = [line for line in study.to_text().splitlines() if line.startswith("bonwise ")]
    assert lines[0] == "bonwise study draws draws.csv --max-draws 4 --save voi.json"
    assert typed(capsys, *lines[0].split()[1:]).code == 0
    assert bw.strategy_from_spec(lines[1].split("--strategy ")[1]).mean_calls == 6


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda frame: frame.drop(columns=["draw_1", "draw_2"]), "only greedy can be played"),
        (
            lambda frame: frame.head(20),
            r"10 prompts have all scores, verdicts and labels \(20 .* of all candidates\)$",
        ),
        (lambda frame: frame.assign(oracle_label=np.nan), "no oracle labels"),
    ],
)
def test_what_cannot_be_studied_is_one_error(change, message):
    """Single scores, too few labelled prompts, no labels."""
    with pytest.raises(InputError, match=message):
        bw.study_strategies(change(by_hand()), seeds=1)


@pytest.mark.parametrize("flags", [{"judge": "x"}, {"strong": "x"}, {"prices": {"x": 1}}])
def test_an_unknown_judge_is_refused(flags):
    """Names are those of the file."""
    with pytest.raises(UsageError, match="no judge named 'x'"):
        bw.study_strategies(by_hand(), seeds=1, **flags)


def test_every_judge_that_is_asked_needs_a_price():
    """Prices of some judges would compare unlike costs."""
    with pytest.raises(UsageError, match="no price is given for 'pointwise:a/b'"):
        bw.study_strategies(several(), prices={"judge": 1}, seeds=1)


def test_prompts_that_were_not_stored_whole_are_counted():
    """A prompt without a draw, and one without a verdict on a pair, are in no figure, with the reason."""
    simulation = simulate("one_model", n=40, seed=9, draws=3)
    frame, pairs = simulation.frame(), verdicts(simulation)
    frame.loc[frame["prompt_id"] == "p0000001", "draw_2"] = np.nan
    study = bw.study_strategies(frame, verdicts=pairs[pairs["prompt_id"] != "p0000002"], seeds=1)
    data = study.judges["judge"].data
    assert data.dropped == {"no score at one of 3 draws": 1, "no verdict on every pair": 1}
    assert (data.prompts, data.draws) == (38, 3)


def test_margins_follow_the_scale_of_the_scores():
    """Scores from 0 to 100 have margins of 2 to 20."""
    frame = by_hand()
    frame[["draw_0", "draw_1", "draw_2"]] *= 100
    frame["oracle_label"] *= 100
    names = [row.strategy for row in bw.study_strategies(frame, seeds=1).judges["judge"].rows]
    assert "adaptive:margin=8,repick=false" in names  # a tenth of the span from 10 to 90


def test_a_table_has_a_row_per_figure():
    """Three figures of each strategy, and three leads of all but greedy."""
    study = bw.study_strategies(by_hand(), seeds=1)
    rows = len(study.judges["judge"].rows)
    assert len(study.to_frame()) == 6 * rows - 3
