from __future__ import annotations

import numpy as np
import pytest

import bonwise as bw
from bonwise.errors import FileError, UsageError
from bonwise.judges.calling import as_judge
from bonwise.selection.draw_model import assumed_model, load_model, save_model
from bonwise.selection.learnt_draws import DrawModel
from bonwise.selection.protocol import Draw, Entrants, Strategy
from bonwise.selection.registry import strategy_from_spec
from bonwise.selection.strategies.value_of_information import ValueOfInformation
from bonwise.stats.beliefs import best_of_normals
from bonwise.stats.redraws import replay
from bonwise.table.verdicts import Score, Unscored
from bonwise.testing import simulate


@pytest.fixture(scope="module")
def draws():
    """Draw the calls of 500 pools."""
    return simulate("one_model", n=500, seed=12, draws=8).draws


@pytest.fixture(scope="module")
def model(draws):
    """Learn from them."""
    return DrawModel.fit(draws)


def played(strategy, draws, order=None, lot=0.5):
    """ContestRun one pool from stored draws, NaN unscored; return the contest and what it asked."""
    contest = strategy.contest(Entrants(len(draws), order or tuple(range(len(draws))), lot=lot))
    asked = []
    while questions := contest.next():
        for question in questions:
            asked.append((question.candidate, question.number))
            value = draws[question.candidate][question.number]
            contest.hear(question, Unscored("refused") if np.isnan(value) else Score(value))
    return contest, asked


def test_a_live_contest_is_the_replay(draws, model):
    """Asked one by one, a pool takes the calls and ends with the top that the replay of the table gives."""
    strategy = ValueOfInformation(mean_calls=7.6, model=model)
    lots = np.random.default_rng(1).random(60)
    prices = np.array([strategy.prices.of(lot) for lot in lots])
    assert len(set(prices)) == 2
    stopped = replay(draws[:60], model.prior).at(prices)
    ranks = np.random.default_rng(0).random((60, 4)).argsort(axis=1)
    for row in range(60):
        contest, asked = played(strategy, draws[row], tuple(np.argsort(ranks[row]).tolist()), lots[row])
        assert len(asked) == stopped.calls[row]
        values = [round(one.value, 9) for one in contest.standing().verdicts]
        assert {i for i in range(4) if values[i] == max(values)} == set(np.flatnonzero(stopped.top[row]))


def test_the_first_round_asks_for_one_score_each():
    """First scores are asked at the judge's own temperature, later ones at that of the strategy, one at a time."""
    contest = ValueOfInformation(price=0.0001, temperature=0.7).contest(Entrants(3, (0, 1, 2)))
    first = contest.next()
    assert first == (Draw(0), Draw(1), Draw(2))
    assert contest.next() == first
    for question in first[:2]:
        contest.hear(question, Score(0.8))
    assert contest.next() == (Draw(2),)
    assert contest.standing().verdicts[2].owed
    contest.hear(Draw(2), Score(0.8))
    assert contest.next() == (Draw(0, 1, 0.7),)


def test_the_standing_is_the_posterior(draws, model):
    """Scores are posterior means with their standard errors, and the chances follow from both."""
    contest, _ = played(ValueOfInformation(mean_calls=10, model=model), draws[5])
    standing = contest.standing()
    mean, error = np.array([[one.value for one in standing.verdicts]]), np.array([standing.standard_errors])
    found = best_of_normals(mean, error)
    assert standing.p_best == pytest.approx(found.probability[0].tolist())
    assert sum(standing.p_best) == pytest.approx(1)
    assert standing.expected_regret == pytest.approx(found.regret[0])
    assert all(len(one.draws) >= 1 for one in standing.verdicts)


def test_without_a_pilot_no_chance_is_stated(draws, model):
    """What nothing was learnt of has no P(best) and no regret, and says why; the picks are as before."""
    for pilot in (None, model):
        contest, _ = played(ValueOfInformation(mean_calls=8, model=pilot), draws[3])
        standing = contest.standing()
        assert len(standing.standard_errors) == 4
        assert bool(standing.p_best) == (standing.expected_regret is not None) == (pilot is not None)
        assert ("bonwise study draws" in standing.p_best_reason) == (pilot is None)


def test_a_pick_without_a_pilot_says_so():
    """The reason is in the pick, in its record and in words."""
    judge = as_judge(lambda _prompt, text: len(text) / 10)
    pick = bw.select("p", ["a", "bb"], judge=judge, strategy=ValueOfInformation(price=1))
    assert (pick.p_best, pick.expected_regret) == ((), None)
    assert pick.to_dict()["p_best_reason"] == pick.p_best_reason
    assert "P(best) and the expected loss are not stated: nothing was learnt of this judge" in str(pick.document())
    assert "p_best_reason" not in bw.select("p", ["a", "bb"], judge=judge).to_dict()


def test_reasons_to_stop(model):
    """A price, the limit of draws, and a lack of rivals are told apart."""
    free, dear = ValueOfInformation(price=0, max_draws=3, model=model), ValueOfInformation(price=1, model=model)
    level = [[0.8, 0.7, 0.9, 0.6]] * 3
    contest, asked = played(dear, level)
    assert (len(asked), contest.standing().stopped) == (3, "expected gain of another call is below its price")
    contest, asked = played(free, level)
    assert (len(asked), contest.standing().stopped) == (9, "every candidate has 3 draws")
    contest, asked = played(free, [[0.8], [np.nan], [np.nan]])
    assert (len(asked), contest.standing().stopped) == (3, "fewer than two candidates have a score")
    assert contest.standing().p_best == (1.0, None, None)
    contest, _ = played(free, [[np.nan], [np.nan]])
    assert (contest.standing().p_best, contest.standing().expected_regret) == ((None, None), None)


def test_unscored_draws_count_and_do_not_win(model):
    """A candidate whose first score could not be had is not asked again; a lost redraw uses up one draw."""
    free = ValueOfInformation(price=0, max_draws=3, model=model)
    contest, asked = played(free, [[np.nan, 1.0, 1.0], [0.5, np.nan, np.nan], [0.6, 0.6, 0.6]])
    assert sorted(asked) == [(0, 0), (1, 0), (1, 1), (1, 2), (2, 0), (2, 1), (2, 2)]
    standing = contest.standing()
    assert standing.verdicts[0] == Unscored("refused")
    assert (standing.standard_errors[0], standing.p_best[0]) == (None, None)
    assert isinstance(standing.verdicts[1], Score)


def test_an_owed_answer_ends_the_asking():
    """What to ask next may hang on an answer that did not arrive."""
    contest = ValueOfInformation(price=0).contest(Entrants(2, (0, 1)))
    contest.hear(Draw(0), Score(0.5))
    contest.hear(Draw(1), Unscored("owed: deadline", owed=True))
    assert contest.next() == ()
    assert contest.standing().stopped == "an answer is pending"


@pytest.mark.parametrize("count", [2, 3, 7])
def test_pools_of_any_size(count):
    """Pools of any size end, within the limit of draws."""
    rng = np.random.default_rng(count)
    contest, asked = played(ValueOfInformation(mean_calls=6), rng.uniform(0.6, 0.9, (count, 8)))
    assert count <= len(asked) <= 8 * count
    assert contest.standing().stopped


def test_the_prices_are_those_of_the_mean_number_of_calls(model):
    """A mean number of calls sets the prices; without either it is 1.5 times the first pass; a price stays one."""
    assert ValueOfInformation(mean_calls=9, model=model).prices == model.prices_for(9)
    assert ValueOfInformation(model=model).prices == model.prices_for(6)
    assert set(ValueOfInformation(price=0.01, model=model).prices[:2]) == {0.01}


def test_live_pools_spend_what_was_asked(draws, model):
    """With lots that fall evenly the pools of the pilot spend the mean number of calls, but for chance."""
    strategy = ValueOfInformation(mean_calls=7.5, model=model)
    lots = np.random.default_rng(4).permutation(500) / 500
    spent = [len(played(strategy, draws[row], lot=lots[row])[1]) for row in range(500)]
    assert np.mean(spent) == pytest.approx(7.5, abs=0.25)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"mean_calls": 6, "price": 0.1}, "both mean_calls and price"),
        ({"mean_calls": 3}, "between 4 and 32 calls"),
        ({"mean_calls": 33}, "between 4 and 32 calls"),
        ({"mean_calls": 6, "max_draws": 5}, "learnt for max_draws=8"),
        ({"max_draws": 1}, "max_draws"),
        ({"price": -1}, "price"),
        ({"price": "dear"}, "price"),
        ({"temperature": 3}, "temperature"),
        ({"model": 3}, "model is 3"),
    ],
)
def test_settings_that_mean_nothing(settings, said):
    """Each is refused by its name."""
    with pytest.raises(UsageError, match=said):
        ValueOfInformation(**settings)


@pytest.mark.parametrize("score", [7.0, -0.2, 85.0])
def test_scores_off_the_assumed_scale_are_refused(score):
    """Without a model scores from 0 to 1 are assumed; others are refused with the way out."""
    contest = ValueOfInformation().contest(Entrants(2, (0, 1)))
    with pytest.raises(UsageError, match=r"scores from 0 to 1 are assumed.*bonwise study draws"):
        contest.hear(Draw(0), Score(score))


def test_scores_far_off_the_pilot_are_refused(draws):
    """A model learnt on 0 to 100 takes such scores, and none far beyond them."""
    strategy = ValueOfInformation(model=DrawModel.fit(draws * 100))
    contest, _ = played(strategy, draws[0] * 100)
    assert contest.standing().stopped
    with pytest.raises(UsageError, match="far off"):
        strategy.contest(Entrants(2, (0, 1))).hear(Draw(0), Score(1000.0))


def test_another_unit_changes_no_call(draws):
    """Scores in percent, with a model learnt in percent, lead to the same calls."""
    parts, percents = (ValueOfInformation(mean_calls=8, model=DrawModel.fit(draws * unit)) for unit in (1, 100))
    for row in range(40):
        assert played(parts, draws[row])[1] == played(percents, draws[row] * 100)[1]


def test_it_is_named_by_its_settings(tmp_path, model):
    """The name makes the same strategy on a command line."""
    file = tmp_path / "voi.json"
    save_model(model, file)
    strategy = ValueOfInformation(mean_calls=6, model=file, temperature=None)
    assert strategy.name == f"value_of_information:mean_calls=6,model={file},temperature=none"
    again = strategy_from_spec(f"value_of_information:mean_calls=6,model={file}")
    assert again.prices == strategy.prices
    assert isinstance(strategy, Strategy)
    assert ValueOfInformation().name == "value_of_information"
    assert not strategy.compares


def test_the_most_calls_are_counted():
    """A judge that asks a model may be asked 8 times about each candidate; a local one asks none."""
    strategy = ValueOfInformation()
    assert strategy.most_calls(bw.Pointwise("openai/m"), 4) == 32
    assert strategy.most_calls(as_judge(lambda _prompt, text: len(text) / 10), 4) == 0


def test_a_saved_model_is_the_same(tmp_path, model):
    """What is loaded equals what was saved, and the file is small."""
    save_model(model, tmp_path / "voi.json")
    assert load_model(tmp_path / "voi.json") == model
    assert (tmp_path / "voi.json").stat().st_size < 16_000


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"schema": "bonwise.draw_model/1"}', '{"schema": "bonwise.draw_model/2"}', "\x00"]
)
def test_bad_files_are_one_clear_error(tmp_path, text):
    """Whatever else a file holds is refused with its name and the way out."""
    file = tmp_path / "voi.json"
    file.write_text(text)
    with pytest.raises(FileError, match=r"voi\.json"):
        load_model(file)


def test_an_absent_file_is_refused(tmp_path):
    """A strategy whose model is not there is not made."""
    with pytest.raises(FileError, match=r"none\.json"):
        ValueOfInformation(model=tmp_path / "none.json")


def test_the_assumed_model_is_the_simulated_one():
    """What is assumed without a pilot is learnt from the simulated populations, as its file says."""
    both = np.concatenate([simulate(name, n=5000, seed=0, draws=8).draws for name in ("pilot", "one_model")])
    learnt, assumed = DrawModel.fit(both), assumed_model()
    assert assumed.prior.beta == pytest.approx(learnt.prior.beta, abs=1e-6)
    assert assumed.prior.tau2 == pytest.approx(learnt.prior.tau2, rel=1e-6)
    assert assumed.prices == pytest.approx(learnt.prices, abs=1e-6)
    assert assumed.mean_calls == pytest.approx(learnt.mean_calls, abs=1e-6)
