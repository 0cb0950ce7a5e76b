from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonwise.errors import FileError, JudgeError, UsageError
from bonwise.routing.control import FirstPass, Route
from bonwise.routing.gain_model import fit_gain
from bonwise.routing.router import Router, contenders
from bonwise.routing.saved import SavedRouter
from bonwise.table.verdicts import Score, Unscored


def strong(prompt, text):
    """Score by length."""
    return len(text)


def pool(width, *values):
    """Make a first pass with intervals of one width."""
    return FirstPass([Score(one, low=one - width / 2, high=one + width / 2) for one in values or (0.5, 0.6)])


NO_WIDTHS = FirstPass([Score(0.5), Score(0.6)])


def consider_many(router, widths):
    """Route pools of these widths."""
    return [router.consider(pool(width), key=f"p{at}") for at, width in enumerate(widths)]


def test_the_widest_intervals_are_sent():
    """By default a quarter of the pools goes to the stronger judge, those with the widest intervals."""
    router = Router(strong)
    widths = np.random.default_rng(0).random(2000)
    sent = np.array([route.strong for route in consider_many(router, widths)])
    assert (router.signal, router.share, router.second) == ("interval_width", 0.25, None)
    assert abs(sent.mean() - 0.25) < 0.01
    assert widths[sent].mean() > 0.84
    assert widths[~sent].mean() < 0.4


def test_a_route_says_its_signal_and_its_reason():
    """Each of the reasons is given in its place."""
    router = Router(strong, share=0.5)
    nothing = FirstPass([Unscored("empty answer")] * 2)
    routes = [router.consider(one, key=str(at)) for at, one in enumerate([nothing, nothing, nothing, pool(0.2)])]
    assert routes[0] == Route(strong=True, signal=None, reason="no signal: nothing was scored")
    assert routes[1] == Route(strong=True, signal=None, reason="no signal: nothing was scored")
    assert routes[2] == Route(strong=False, signal=None, reason="share is used up, and no signal: nothing was scored")
    assert routes[3].signal == pytest.approx(0.2)
    assert routes[3].reason == "below the threshold"
    calm = Router(strong, share=0.5)
    wide = [route.reason for route in consider_many(calm, [0.1] * 200 + [0.5] * 200)]
    assert set(wide) == {"above the threshold", "below the threshold", "share is used up"}


def test_a_report_counts_everything():
    """The report adds up, and is plain JSON."""
    router = Router(strong, on_missing="random")
    assert router.report().sent_share is None
    routes = consider_many(router, np.random.default_rng(1).random(300))
    routes += [router.consider(NO_WIDTHS, key=f"q{at}") for at in range(10)]
    report = router.report()
    plain = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert plain["seen"] == sum(plain["reasons"].values()) == 310
    assert plain["sent"] == sum(route.strong for route in routes)
    assert plain["without_signal"] == 10
    assert plain["sent_share"] == report.sent / 310
    assert 0.6 < plain["threshold"] < 1
    assert {route.reason for route in routes} == set(plain["reasons"])
    assert plain["on_missing"] == "random"


def test_a_router_whose_signal_has_no_value_sends_nothing():
    """Where no pool has the signal the first picks stand, a warning says so once, and the report says why."""
    router = Router(strong, share=1.0)
    assert router.report().warning is None
    with pytest.warns(UserWarning, match="no value of the signal interval_width") as said:
        routes = [router.consider(NO_WIDTHS, key=str(at)) for at in range(20)]
    assert len(said) == 1
    assert {route.strong for route in routes} == {False}
    assert {route.reason for route in routes} == {"no signal: no score came with an interval"}
    report = router.report()
    assert (report.seen, report.sent, report.without_signal) == (20, 0, 20)
    assert report.to_dict()["warning"] == (
        "no pool had the signal interval_width (no score came with an interval): "
        "0 of 20 pools went to the stronger judge"
    )
    router.consider(pool(0.2), key="last")
    assert router.report().warning is None


def test_a_router_told_so_sends_the_share_at_random_without_a_signal():
    """Of pools without the signal the share is sent, by seed and key alone, and nothing is warned of."""
    routers = [Router(strong, on_missing="random", seed=seed, cap=False) for seed in (1, 1, 2)]
    first, again, other = (
        [router.consider(NO_WIDTHS, key=f"p{at}").strong for at in range(1000)] for router in routers
    )
    assert first == again
    assert first != other
    assert abs(sum(first) - 250) < 40
    apart = np.diff(np.flatnonzero(first))
    assert len(set(apart.tolist())) > 5  # at random, not every fourth
    warning = routers[0].report().warning
    assert warning.endswith(f"{sum(first)} of 1,000 pools went to the stronger judge, at random")


@pytest.mark.filterwarnings("ignore:a pool has no value")
@pytest.mark.parametrize("on_missing", ["keep", "random"])
def test_pools_without_the_signal_do_not_change_how_the_others_are_routed(on_missing):
    """The share of pools that have the signal holds, and so does the cap, whatever the others lack."""
    router = Router(strong, on_missing=on_missing)
    widths = np.random.default_rng(5).random(2000)
    passes = [pool(width) if at % 2 else NO_WIDTHS for at, width in enumerate(widths)]
    sent = np.array([router.consider(one, key=f"p{at}").strong for at, one in enumerate(passes)])
    assert abs(sent[1::2].mean() - 0.25) < 0.02
    assert abs(sent[::2].mean() - (0.25 if on_missing == "random" else 0)) < 0.02
    assert widths[1::2][sent[1::2]].mean() > 0.8
    assert (np.cumsum(sent) <= 0.25 * np.arange(1, 2001) + 1).all()


def test_the_same_pools_are_routed_alike():
    """Pools in the same order and a seed give the same routes; another seed breaks ties otherwise."""
    widths = [0.1, 0.1, 0.2] * 100
    first, again, other = (consider_many(Router(strong, seed=seed), widths) for seed in (3, 3, 4))
    assert first == again
    assert first != other


def test_a_signal_of_a_second_judge():
    """With a second judge pools are sent where the two pick differently."""
    router = Router(strong, "disagreement", second=strong)
    assert router.second.judge("a", ["bb"])[0].value == 2
    agree, differ = ([[Score(one), Score(0.5)]] for one in (0.1, 0.9))
    verdicts = [Score(0.5), Score(0.6)]
    routes = [
        (at % 4 == 0, router.consider(FirstPass(verdicts, differ if at % 4 == 0 else agree), key=str(at)))
        for at in range(800)
    ]
    assert {route.signal for _, route in routes} == {0.0, 1.0}
    late = routes[200:]
    assert sum(route.strong for apart, route in late if not apart) < 0.1 * sum(route.strong for _, route in late)


def test_among_contenders_only_those_are_named():
    """The stronger judge is given the candidates within the noise of the top, where it decides at all."""
    router = Router(strong, share=1.0, among="contenders")
    assert router.consider(pool(0.2, 0.9, 0.75, 0.1)).contenders == (0, 1)
    assert Router(strong, share=1.0).consider(pool(0.2, 0.9, 0.75, 0.1)).contenders == ()
    kept = Router(strong, share=0.01, among="contenders")
    assert {route.contenders for route in consider_many(kept, [0.1] * 20) if not route.strong} == {()}


@pytest.mark.parametrize(
    ("verdicts", "found"),
    [
        ([Score(0.9), Score(0.9), Score(0.1)], (0, 1)),
        ([Score(0.1 + 0.2), Score(0.3), Score(0.1)], (0, 1)),
        ([Score(0.9), Score(0.5), Score(0.1)], (0, 1)),
        ([Score(0.9), Score(0.5), Score(0.5), Score(0.1)], (0, 1, 2)),
        ([Score(0.9, low=0.8), Score(0.7, high=0.8), Score(0.6, high=0.79)], (0, 1)),
        ([Score(0.9, low=0.8), Score(0.9), Score(0.85), Score(0.7)], (0, 1, 2)),
        ([Score(0.9), Unscored("empty answer"), Score(0.9)], (0, 2)),
        ([Score(0.9), Unscored("empty answer")], ()),
        ([Unscored("empty answer")] * 2, ()),
        ([Score(0.9), Score(0.1)], ()),
        ([], ()),
    ],
)
def test_contenders_are_level_with_the_top_or_within_its_noise(verdicts, found):
    """Worked out by hand: intervals that reach the top's, ties, the next highest where one stands alone."""
    assert contenders(verdicts) == found


LEVELS = st.sampled_from([0.1, 0.3, 0.5, 0.7])
VERDICTS = st.lists(
    st.one_of(
        st.just(Unscored("empty answer")),
        st.builds(Score, LEVELS),
        st.builds(lambda value, below, above: Score(value, low=value - below, high=value + above), *[LEVELS] * 3),
    ),
    max_size=6,
)


@given(VERDICTS)
def test_contenders_hold_every_top_candidate_and_at_least_two(verdicts):
    """Nobody with the top score is left out, nobody unscored is in, and there are at least two or all."""
    found = contenders(verdicts)
    if found:
        best = max(one.value for one in verdicts if isinstance(one, Score))
        assert len(found) >= 2
        assert all(isinstance(verdicts[at], Score) for at in found)
        assert {at for at, one in enumerate(verdicts) if isinstance(one, Score) and one.value == best} <= set(found)
        highest_out = [one.value for at, one in enumerate(verdicts) if at not in found and isinstance(one, Score)]
        assert all(value < best for value in highest_out)


@given(VERDICTS, st.randoms(use_true_random=False))
def test_contenders_do_not_depend_on_the_order(verdicts, random):
    """A shuffled pool has the same contenders."""
    order = list(range(len(verdicts)))
    random.shuffle(order)
    shuffled = contenders([verdicts[at] for at in order])
    assert sorted(order[at] for at in shuffled) == list(contenders(verdicts))


@pytest.fixture
def saved():
    """Return a router as a study leaves it: a learnt signal, its share and its values."""
    rng = np.random.default_rng(2)
    features = {"margin": rng.random(200), "width": rng.random(200)}
    model = fit_gain(features, features["width"] - features["margin"])
    values = np.sort(model.predict(features))
    return SavedRouter.of("expected_gain", 0.1, float(values[180]), values, model, judge="interval:m")


def test_a_saved_router_is_used_from_its_file_on_the_first_pool(saved, tmp_path):
    """Signal, share and threshold come from the file: the first pools are judged by them."""
    saved.save(tmp_path / "router.json")
    for source in (saved, tmp_path / "router.json", str(tmp_path / "router.json")):
        router = Router(strong, source)
        assert (router.signal, router.share, router.needs) == ("expected_gain", 0.1, ("margin", "width"))
        assert router.report().threshold == pytest.approx(saved.threshold, abs=0.2)
        assert router.consider(pool(0.05, 0.1, 0.9)).reason == "below the threshold"
        assert router.consider(pool(0.99, 0.5, 0.5)).reason == "above the threshold"
    assert Router(strong, saved, 0.5).share == 0.5


def test_tasks_and_threads_share_one_count():
    """A thousand pools at once, from tasks of one loop and from threads, keep to the cap and are all counted."""
    router = Router(strong)
    widths = np.random.default_rng(3).random(2000)

    async def task(at):
        await asyncio.sleep(0)
        return router.consider(pool(widths[at]), key=f"p{at}")

    async def tasks():
        return await asyncio.gather(*(task(at) for at in range(1000)))

    routes = asyncio.run(tasks())
    assert router.report().seen == 1000
    assert sum(one.strong for one in routes) == router.report().sent <= 251
    with ThreadPoolExecutor(8) as threads:
        routes += threads.map(lambda at: router.consider(pool(widths[at]), key=f"p{at}"), range(1000, 2000))
    report = router.report()
    assert (report.seen, report.sent) == (2000, sum(one.strong for one in routes))
    assert 480 <= report.sent <= 501
    assert sum(report.reasons.values()) == 2000


def test_threads_never_exceed_the_cap_at_any_time():
    """Reports taken while threads route hold the cap, each by itself."""
    router = Router(strong, share=0.1)

    def work(at):
        router.consider(pool(0.9), key=f"p{at}")
        report = router.report()
        return report.sent <= 0.1 * report.seen + 1

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(work, range(1000)))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"signal": "widths"}, "no signal 'widths'"),
        ({"on_missing": "send"}, "on_missing is 'send'"),
        ({"signal": 3}, "signal is 3"),
        ({"signal": "disagreement"}, "looks at a second judge"),
        ({"second": strong}, "does not look at a second judge"),
        ({"among": "some"}, "among is 'some'"),
        ({"share": 0}, "share is 0"),
        ({"share": 1.5}, "share is 1.5"),
        ({"share": "a"}, "share is 'a'"),
        ({"window": 0}, "window is 0"),
    ],
)
def test_a_setting_that_means_nothing_is_refused(settings, words):
    """What means nothing is an error with a hint, before any pool is seen."""
    with pytest.raises(UsageError, match=words) as caught:
        Router(strong, **settings)
    assert caught.value.hint


@pytest.mark.parametrize("signal", ["expected_gain", "margin_level"])
def test_a_signal_that_must_be_learnt_names_the_command_that_learns_it(signal):
    """A fresh router cannot have a learnt signal, and says which command makes it."""
    with pytest.raises(UsageError, match="learnt") as caught:
        Router(strong, signal)
    assert "bonwise route scores.csv --save router.json" in caught.value.hint


@pytest.mark.parametrize("name", ["router.json", "runs/router", "here.txt"])
def test_a_file_that_is_no_saved_router_is_refused(name, tmp_path):
    """A path without a file, or to another kind of file, is an error of files."""
    (tmp_path / "here.txt").write_text("{}", encoding="utf-8")
    with pytest.raises(FileError):
        Router(strong, str(tmp_path / name))


def test_the_stronger_judge_must_be_one():
    """What is no judge is refused at once."""
    with pytest.raises(JudgeError):
        Router("openai/m")
