"""Draws by other wordings of a prompt and by other seeds: what is asked and kept, the spread, and refusals."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
import random
import re
import statistics
from pathlib import Path

import pytest

import bonwise as bw
from bonwise.calls.engine import Engine
from bonwise.calls.estimate import estimate_asks
from bonwise.errors import UsageError
from bonwise.judges.ask_forms import AskForm
from bonwise.judges.judging import judge_with
from bonwise.judges.prompt_loading import load, wordings
from bonwise.judges.wrappers import Resampled
from bonwise.table.verdicts import Score, Unscored
from bonwise.testing.script import Script
from cli.commands import pool_file, rows_of, typed
from cli.served import served
from judges.replies import answered as concluded

MODEL = "openai/m"
NAMES = ["pointwise", "pointwise-2", "pointwise-3", "pointwise-4", "pointwise-5"]


def answered(judge, prompt, texts, replies):
    """Return the verdicts of a judge whose questions get these replies, in order."""
    return concluded(judge, prompt, texts, replies).verdicts


def _through_pickle(judge):
    return pickle.loads(pickle.dumps(judge))  # noqa: S301 - made here


KINDS = [bw.Pointwise, bw.Interval, bw.Pairwise, bw.Probability]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
def test_each_draw_asks_by_its_own_wording(kind):
    """As many questions as draws times those of the judge; no two have one key, and the first draw is its own."""
    inner = kind(MODEL)
    judge = Resampled(inner, vary="prompt")
    asks, own = judge.asks("p", ["a", "b"]), inner.asks("p", ["a", "b"])
    assert len(asks) == 5 * len(own) == judge.calls(2)
    assert [ask.system for ask in asks[:: len(own)]] == [made.file.system for made in judge.by_draw]
    assert [ask.system for ask in asks[: len(own)]] == [ask.system for ask in own]
    assert all(ask.samples == 1 and ask.temperature == 1.0 for ask in asks)
    from bonwise.calls.providers.protocol import provider  # noqa: PLC0415 - loaded where it is used

    keys = [provider("openai").request(ask, 1, frozenset()).keys([0])[0] for ask in asks]
    assert len(set(keys)) == len(keys)


def test_the_mean_and_the_draws_are_those_of_the_wordings():
    """By hand: 40, 60 and 80 by three wordings are .6 with draws .4, .6 and .8; the reply of each is named."""
    judge = Resampled(bw.Pointwise(MODEL), draws=3, vary="prompt")
    (score,) = answered(judge, "p", ["a"], [[f'{{"score": {n}}}'] for n in (40, 60, 80)])
    assert (score.value, score.draws) == (pytest.approx(0.6), (0.4, 0.6, 0.8))
    half = 4.302652729911275 * 0.2 / 3**0.5
    assert (score.low, score.high) == pytest.approx((0.6 - half, 0.6 + half))
    for file, value in zip(judge.by_draw, (40, 60, 80), strict=True):
        assert f'[{file.file.identity}] {{"score": {value}}}' in score.raw


def test_a_wording_whose_reply_is_lost_is_a_draw_without_a_score():
    """The mean is that of the others; without any of them there is no score."""
    judge = Resampled(bw.Pointwise(MODEL), draws=3, vary="prompt")
    (score,) = answered(judge, "p", ["a"], [['{"score": 40}'], ["no idea"], ['{"score": 80}']])
    assert (score.value, score.draws) == (pytest.approx(0.6), (0.4, None, 0.8))
    (lost,) = answered(judge, "p", ["a"], [["no idea"]] * 3)
    assert isinstance(lost, Unscored)


def test_comparisons_of_each_wording_are_averaged():
    """By hand: three wordings call the first better in both orders, two call it a tie: .8 each way."""
    judge = Resampled(bw.Pairwise(MODEL), vary="prompt")
    words = {"A": '{"choice": "A", "confidence": 3}', "B": '{"choice": "B", "confidence": 3}'}
    tie = '{"choice": "TIE", "confidence": 3}'
    replies = [[words["A"]], [words["B"]]] * 3 + [[tie], [tie]] * 2
    verdicts = answered(judge, "p", ["x", "y"], replies)
    assert [verdict.value for verdict in verdicts] == pytest.approx([0.8, 0.2])
    assert verdicts[0].draws == (1.0, 1.0, 1.0, 0.5, 0.5)


def test_a_judge_within_a_judge_is_reworded():
    """A rounded judge is asked by the wordings too, and a bound rubric keeps its variables."""
    judge = bw.judge_from_spec("resampled,draws=2,vary=prompt,of=quantized,bins=5,of=pairwise:openai/m")
    assert [made.of.file.name for made in judge.by_draw] == ["pairwise", "pairwise-2"]
    assert {made.bins for made in judge.by_draw} == {5}
    assert bw.judge_from_spec(judge.name) == judge


def test_a_folder_of_the_users_own_wordings(tmp_path):
    """In the order of their names; the variables of a rubric reach every wording of it."""
    text = Path(load("rubric").source).read_text("utf-8")
    text = text.replace('["prompt", "candidate"]', '["prompt", "candidate", "reference"]') + "\n\n{{reference}}\n"
    own, folder = tmp_path / "own.md", tmp_path / "others"
    own.write_text(text)
    folder.mkdir()
    for name in ("b", "a"):
        (folder / f"{name}.md").write_text(
            text.replace('name = "rubric"', f'name = "{name}"').replace("You ", f"{name}: you ", 1)
        )
    judge = Resampled(bw.Rubric(MODEL, prompt=own), draws=3, vary="prompt", wordings=folder)
    assert [made.file.name for made in judge.by_draw] == ["rubric", "a", "b"]
    assert "wordings=" in judge.name
    from bonwise.judges.protocol import bound, variables_of  # noqa: PLC0415 - of this test alone

    assert variables_of([judge]) == ("reference",)
    for word in ("first", "second"):
        asks = bound(judge, {"reference": word}).asks("p", ["a"])
        assert [word in ask.user for ask in asks] == [True] * 3
        assert len({ask.system for ask in asks}) == 3


def test_its_version_names_every_wording():
    """Stored scores belong to these texts: another set of wordings is another version."""
    versions = {Resampled(bw.Pointwise(MODEL), draws=n, vary="prompt").version for n in (2, 3)}
    assert len({*versions, Resampled(bw.Pointwise(MODEL), draws=2).version}) == 3
    version = Resampled(bw.Pointwise(MODEL), vary="prompt").version
    assert [part.partition("@")[0] for part in version.split() if "@" in part] == ["pointwise", *NAMES]


@pytest.mark.parametrize("make_again", [copy.copy, copy.deepcopy, _through_pickle])
def test_a_copy_asks_the_same(make_again):
    """Also one that has crossed to another process."""
    judge = Resampled(bw.Pointwise(MODEL), vary="prompt")
    words = [ask.system for ask in judge.asks("p", ["a"])]
    assert [ask.system for ask in make_again(judge).asks("p", ["a"])] == words


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: Resampled(bw.Rubric(MODEL), vary="prompt"), "rubric has no wordings of its own"),
        (lambda: Resampled(bw.Logprob(MODEL), vary="prompt"), "logprob has no wordings of its own"),
        (lambda: Resampled(bw.Pairwise(MODEL, persona="editor"), vary="prompt"), "no wordings of its own"),
        (lambda: Resampled(bw.Pointwise(MODEL), draws=6, vary="prompt"), "6 draws by 5 wordings"),
        (lambda: Resampled(bw.Checklist(MODEL), vary="prompt"), "has no prompt to vary"),
        (lambda: Resampled(lambda _prompt, text: len(text), vary="prompt"), "has no prompt to vary"),
        (lambda: Resampled(bw.Jury([bw.Pointwise(MODEL), bw.Interval(MODEL)]), vary="prompt"), "no prompt to vary"),
        (lambda: Resampled(bw.Rerank("cohere/m"), vary="seed"), "has no seed to vary"),
        (lambda: Resampled(bw.Pointwise("anthropic/m"), vary="seed"), "anthropic takes no seed"),
        (lambda: Resampled(bw.Pointwise(MODEL), vary="seed", temperature=0), "the temperature is 0"),
        (lambda: Resampled(bw.Pointwise(MODEL, params={"seed": 3}), vary="seed"), "params states a seed"),
        (lambda: Resampled(bw.Pointwise(MODEL), vary="order"), "vary is 'order'"),
        (lambda: Resampled(bw.Pointwise(MODEL), wordings="x"), "wordings without vary=prompt"),
        (lambda: Resampled(bw.Pointwise(MODEL), vary="prompt", wordings="nowhere"), "nowhere is not a folder"),
    ],
)
def test_what_cannot_vary_is_refused_before_anything_is_asked(make, what):
    """Each in one sentence, with what to do."""
    with pytest.raises(UsageError, match=re.escape(what)) as caught:
        make()
    assert caught.value.hint


def test_a_folder_that_does_not_fit_is_refused(tmp_path):
    """A file of another mode, one that says the same again, and fewer files than draws."""
    own = load("pointwise")
    (tmp_path / "a.md").write_bytes(Path(load("interval").source).read_bytes())
    with pytest.raises(UsageError, match="is no other wording of the prompt pointwise"):
        wordings(own, tmp_path, 2)
    (tmp_path / "a.md").write_text(Path(own.source).read_text("utf-8").replace('name = "pointwise"', 'name = "mine"'))
    with pytest.raises(UsageError, match="says the same as another wording"):
        wordings(own, tmp_path, 2)
    with pytest.raises(UsageError, match="3 draws by 2 wordings"):
        wordings(own, tmp_path, 3)


def test_a_file_that_only_bears_the_name_of_a_built_in_has_no_wordings(tmp_path):
    """The built-in wordings paraphrase the built-in text, and no other one."""
    path = tmp_path / "pointwise.md"
    path.write_text(Path(load("pointwise").source).read_text("utf-8").replace("You judge", "You rate"))
    with pytest.raises(UsageError, match="has no wordings of its own"):
        Resampled(bw.Pointwise(MODEL, prompt=path), vary="prompt")


def test_seeds_differ_and_share_no_key():
    """Draw k asks with seed k. A server that drops the seed still answers each draw for itself."""
    judge = Resampled(bw.Pointwise(MODEL, params={"top_p": 0.9}), draws=3, vary="seed")
    asks = judge.asks("p", ["a", "b"])
    assert [ask.params for ask in asks] == [{"top_p": 0.9, "seed": draw} for draw in (0, 0, 1, 1, 2, 2)]
    from bonwise.calls.providers.protocol import provider  # noqa: PLC0415 - loaded where it is used

    for dropped in (frozenset(), frozenset({"seed"})):
        requests = [(provider("openai").request(ask, 1, dropped), ask.first_sample) for ask in asks]
        assert len({request.keys([first])[0] for request, first in requests}) == 6
    assert judge.varies_by == "the seed (0 to 2), at temperature 1"
    assert judge.varies_by_what_was_sent([{"temperature": 1.0}]).endswith("it takes no seed")


def test_what_makes_draws_differ_names_the_wordings_and_the_model():
    """The spread is of both, so both are said, and the model's part by what was really sent."""
    judge = Resampled(bw.Pointwise("anthropic/m"), draws=2, vary="prompt")
    own, other = (made.file.identity for made in judge.by_draw)
    noise = "the provider's own noise only: its requests carry no temperature"
    assert judge.varies_by == f"the wording of the prompt ({own}, {other}), and by {noise}"
    judge = Resampled(bw.Pointwise(MODEL), draws=2, vary="prompt")
    assert judge.varies_by_what_was_sent([{}]).endswith("the service's own sampling: it takes no temperature")
    assert judge.varies_by_what_was_sent([{"temperature": 1.0}]).endswith("and by temperature 1")


def test_the_dry_run_counts_what_is_then_sent(capsys, tmp_path, monkeypatch):
    """Estimate, calls and columns: five draws of each of three candidates; a second run costs nothing."""
    monkeypatch.chdir(tmp_path)
    pool_file("pools.jsonl", {"p1": ["one", "two"], "p2": ["three"]})
    words = (
        "judge",
        "pools.jsonl",
        "--judge",
        "resampled,vary=prompt,of=pointwise:anthropic/c",
        "--out",
        "s.csv",
        "--raw",
    )
    with served(monkeypatch, tmp_path) as script:
        before = typed(capsys, *words, "--dry-run")
        assert "15 calls (0 of 15 answers" in before.out
        assert script.counts.requests == 0
        done = typed(capsys, *words)
        assert (done.code, script.counts.paid.total()) == (0, 15)
        after = typed(capsys, *words, "--dry-run")
    assert "0 calls (15 of 15 answers" in after.out
    assert "draws are meant to differ by the wording of the prompt (pointwise@2" in done.err
    rows = rows_of("s.csv")
    assert all(row[f"draw_{at}"] for row in rows for at in range(5))
    assert all(f"[{load('pointwise').identity}]" in row["raw"] for row in rows)


def test_questions_of_several_wordings_have_no_single_form():
    """They are written out for an estimate: one form would count the first wording five times."""
    judge = Resampled(bw.Pointwise(MODEL), vary="prompt")
    assert AskForm.of(judge) is None
    assert AskForm.of(Resampled(bw.Pointwise(MODEL))) is not None

    async def rows():
        async with Engine() as engine:
            return estimate_asks(engine, judge.asks("p", ["a"]))

    estimate = asyncio.run(rows())
    assert (estimate.calls, estimate.samples) == (5, 5)


def test_the_spread_is_that_of_wording_and_model_together():
    """Known truth: wordings shift a score by sd .08, and the model adds .05. Draws have sd sqrt(.08^2 + .05^2)."""
    generator = random.Random(8)  # noqa: S311 - a simulation
    judge, spreads, means = Resampled(bw.Pointwise(MODEL), vary="prompt"), [], []
    for _ in range(400):
        drawn = [0.5 + generator.gauss(0, 0.08) + generator.gauss(0, 0.05) for _ in range(5)]
        replies = [[json.dumps({"score": 100 * value})] for value in drawn]
        (score,) = answered(judge, "p", ["a"], replies)
        assert isinstance(score, Score)
        spreads.append(statistics.variance(score.draws))
        means.append(score.low <= 0.5 <= score.high)
    assert statistics.fmean(spreads) ** 0.5 == pytest.approx((0.08**2 + 0.05**2) ** 0.5, rel=0.05)
    assert 0.92 <= statistics.fmean(means) <= 0.98


def test_a_strategy_may_draw_it_again(monkeypatch, tmp_path):
    """A second draw of the whole judge asks each wording for another answer, and pays for each once."""
    script = Script(lambda request: json.dumps({"score": len(request.system) % 100}))
    from bonwise.testing import ScriptedServer  # noqa: PLC0415 - of this test alone

    async def run(url):
        judge = Resampled(bw.Pointwise(MODEL, base_url=f"{url}/v1"), draws=2, vary="prompt")
        async with Engine(tmp_path / "run") as engine:
            first = await judge_with(engine, judge, "p", ["a"])
            again = await judge_with(engine, judge, "p", ["a"], draw=1)
            return first, again, engine.totals.bill.calls

    with ScriptedServer(script).in_thread() as server:
        first, again, calls = asyncio.run(run(server.url))
    assert calls == 4
    assert first.verdicts[0].draws == again.verdicts[0].draws
