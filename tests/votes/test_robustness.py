"""Margins by prompt, over time, with one vote per prompt, in two files; what pairs could show; ways to count ties."""

from __future__ import annotations

import math
from itertools import product
from statistics import fmean, median

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, spearmanr

import bonwise as bw
from bonwise.errors import InputError, UsageError
from bonwise.report.blocks import drawings_of
from bonwise.report.show import describe
from bonwise.table.votes import VoteTable
from bonwise.votes import robustness
from bonwise.votes.concentration import variance_split
from bonwise.votes.front import study_preferences
from cli.commands import strict, typed
from golden_tables import golden

FEW = {"resamples": 50, "permutations": 19, "repetitions": 20}


def simulated(seed, margins, prompts=40, each=3, spread=0.0, tie=0.0):
    """Make votes on pairs (a0, b0), (a1, b1) ... whose margins vary over prompts by a spread."""
    draw = np.random.default_rng(seed)
    rows = []
    for pair, margin in enumerate(margins):
        rates = (
            np.clip(0.5 + margin + draw.normal(0, spread, prompts), 0, 1)
            if spread
            else np.full(prompts, 0.5 + margin)
        )
        for prompt, rate in enumerate(rates):
            for _ in range(each):
                won = "tie" if draw.random() < tie else "model_b" if draw.random() < rate else "model_a"
                rows.append((f"a{pair}", f"b{pair}", prompt, won))
    return pd.DataFrame(rows, columns=["model_a", "model_b", "question_id", "winner"])


def settings(**changed):
    """Return the settings of a study."""
    found = study_preferences(simulated(1, [0.1]), **FEW).settings
    return found.model_copy(update=changed)


ASKED = settings()


@pytest.fixture(scope="module")
def published(shared):
    """Study the votes of MT-Bench with ties dropped."""
    return study_preferences(shared / "data" / "mt_bench_human.csv", ties="drop", by="prompt", permutations=19)


@pytest.mark.shared
@pytest.mark.parametrize("row", golden("votes_robustness"), ids=lambda row: row["figure"])
def test_the_figures_of_mt_bench(published, row):
    """Near ties by prompt, stability and reuse are those of the prototype."""
    held, reuse = published.stability, published.reuse
    figures = {
        "early_late": held.early_late.estimate,
        "early_all": held.early_all.estimate,
        "expected": held.expected.estimate,
        "expected_low": held.expected.low,
        "expected_high": held.expected.high,
        "single": reuse.share.estimate,
        "change_median": reuse.change.estimate,
        "change_most": reuse.most,
    }
    for near in published.by_prompt:
        figures |= {f"cells_{near.fewest}": near.cells, f"near_share_{near.fewest}": near.share.estimate}
    assert figures[row["figure"]] == pytest.approx(float(row["value"]), rel=0, abs=float(row["within"]))


@pytest.mark.shared
def test_chance_alone_fills_the_threshold_of_five_votes(published):
    """With 5 votes 3 to 2 lies on the threshold: chance gives more near ties than there are."""
    five = published.by_prompt[1]
    assert five.near_ties == 17
    assert five.if_level > 3 * five.near_ties
    assert five.if_as_pair > five.near_ties
    assert published.stability.stable
    assert published.stability.drift.low > 0  # ranks hold, and yet margins grow along the file
    assert len(published.prompt_margins) == 385


# Margins by prompt.


@given(
    st.integers(1, 7).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))),
    st.sampled_from([0.5, 0.3, 0.9]),
    st.sampled_from([0.05, 0.1, 0.25]),
)
def test_near_ties_by_chance_are_those_of_plain_loops(counts, rate, tau):
    """Every order of the votes that decide is gone through; ties stay ties."""
    votes, decided = counts
    chance = 0.0
    for order in product((0, 1), repeat=decided):
        share = (sum(order) + (votes - decided) / 2) / votes
        if abs(share - 0.5) <= tau + 1e-9:
            chance += math.prod(rate if vote else 1 - rate for vote in order)
    found = robustness.near_by_chance(np.array([votes]), np.array([float(decided)]), np.array([rate]), tau)
    assert found[0] == pytest.approx(chance, abs=1e-12)


def test_five_votes_by_hand():
    """P(2 or 3 of 5) of a coin is 20/32; of 4 votes only 2 of 4 is within .1, 6/16."""
    found = robustness.near_by_chance(np.array([5, 4]), np.array([5.0, 4.0]), np.full(2, 0.5), 0.1)
    assert found.tolist() == pytest.approx([20 / 32, 6 / 16])


def test_margins_by_prompt_are_those_of_plain_loops():
    """Counts, shares and margins by pair and prompt, with ties as halves."""
    frame = simulated(3, [0.2, -0.1], prompts=30, each=4, tie=0.2)
    study = study_preferences(frame, by="prompt", fewest_votes=4, **FEW)
    worth = {"model_a": 0.0, "tie": 0.5, "model_b": 1.0}
    cells = {}
    for row in frame.itertuples():
        cells.setdefault((row.model_a, row.model_b, str(row.question_id)), []).append(worth[row.winner])
    expected = {key: (len(votes), fmean(votes) - 0.5) for key, votes in cells.items()}
    found = {(one.first, one.second, one.prompt): (one.votes, one.margin) for one in study.prompt_margins}
    assert found == {key: pytest.approx(value) for key, value in expected.items()}
    assert [row.fewest for row in study.by_prompt] == [3, 4, 5, 10]
    near = sum(abs(margin) <= 0.1 + 1e-12 for _, margin in expected.values())
    assert (study.by_prompt[1].cells, study.by_prompt[1].near_ties) == (60, near)
    assert study.by_prompt[3].share.estimate is None
    rows = study.to_frame()
    assert (rows["metric"] == "prompt_margin").sum() == 60
    assert set(rows.loc[rows["metric"] == "prompt_margin", "prompt"]) == {str(at) for at in range(30)}


def test_near_ties_expected_are_those_that_come():
    """Where no prompt leans, and where all lean as their pair does, so many near ties come on average."""
    for margin in (0.0, 0.15):
        found = [
            study_preferences(simulated(seed, [margin], prompts=200, each=6), by="prompt", **FEW).by_prompt[1]
            for seed in range(4)
        ]
        expected = fmean(row.if_as_pair for row in found)
        rate = 200 * float(binom.pmf(3, 6, 0.5 + margin))
        assert fmean(row.near_ties for row in found) == pytest.approx(expected, abs=4 * math.sqrt(200 * 0.25 / 4))
        assert expected == pytest.approx(rate, rel=0.1)


def test_prompts_need_a_column():
    """Margins by prompt without prompts are refused."""
    with pytest.raises(UsageError, match="column of prompts"):
        study_preferences(simulated(1, [0.1]), by="prompt", prompt_col=(), **FEW)


# What each pair could show.


def test_detectable_by_hand():
    """(1.95996 + 1.28155) / (2 sqrt 100) = .16208 with independent votes; a design effect of 4 doubles it."""
    study = study_preferences(simulated(2, [0.3], prompts=100, each=1), **FEW)
    assert study.pairs[0].detectable == pytest.approx(0.1620758, abs=1e-6)
    same = simulated(2, [0.3], prompts=25, each=1)
    fourfold = study_preferences(pd.concat([same] * 4), **FEW).pairs[0]
    assert fourfold.cluster_ratio.design_effect == pytest.approx(4)
    assert fourfold.detectable == pytest.approx(2 * 0.1620758, abs=1e-6)


@pytest.mark.parametrize(
    ("margin", "prompts", "verdict"), [(0.3, 200, "shown"), (0.0, 900, "level"), (0.0, 20, "underpowered")]
)
def test_the_verdict_of_a_pair(margin, prompts, verdict):
    """A clear preference is shown, many level votes are level, and a few are underpowered."""
    assert study_preferences(simulated(4, [margin], prompts=prompts, each=1), **FEW).pairs[0].verdict == verdict


def test_verdicts_err_as_seldom_as_they_say():
    """At a margin of 0 shown comes in 5 %; at the near tie itself level comes in 5 % at most; power is as stated."""
    pairs, few = 60, FEW | {"repetitions": 2, "resamples": 2}
    level = study_preferences(simulated(5, [0.0] * pairs, prompts=150, each=2), **few).pairs
    border = study_preferences(simulated(6, [0.1] * pairs, prompts=150, each=2), **few).pairs
    assert sum(pair.verdict == "shown" for pair in level) / pairs == pytest.approx(0.05, abs=0.085)
    assert sum(pair.verdict == "level" for pair in border) / pairs <= 0.13
    power = [pair.verdict == "shown" for pair in border]
    # 300 votes find .0936 with power .9, and .1 a little more often.
    assert fmean(power) == pytest.approx(0.94, abs=0.09)


# Over time and with one vote per prompt.


def test_stability_is_that_of_plain_loops():
    """Ranks by hand, over pairs with votes enough."""
    frame = simulated(7, [0.02, 0.1, 0.2, 0.3, 0.4], prompts=60, each=2)
    frame = pd.concat([frame, simulated(8, [0.4], prompts=12, each=2).replace({"a0": "c", "b0": "d"})])
    study = study_preferences(frame, early_votes=40, **FEW)
    ends = []
    for pair in range(5):
        votes = [float(won == "model_b") for won in frame[frame["model_a"] == f"a{pair}"]["winner"]]
        ends.append([abs(fmean(votes[:40]) - 0.5), abs(fmean(votes[-40:]) - 0.5)])
    early, late = zip(*ends, strict=True)
    assert study.stability.pairs == 5
    assert study.stability.early_late.estimate == pytest.approx(spearmanr(early, late)[0])
    assert study.stability.drift.estimate == pytest.approx(fmean(late) - fmean(early))
    assert [pair.early_late for pair in study.pairs] == [*map(pytest.approx, ends), None]


def test_constant_margins_are_stable_and_others_are_not():
    """Constant margins are called stable in about 97.5 % of files; margins that are dealt anew are not."""
    margins = np.linspace(0, 0.4, 12)
    asked = settings(early_votes=30, resamples=20)
    stable = {"kept": 0, "dealt": 0}
    for seed in range(40):
        draw = np.random.default_rng(seed)
        for kind, late in (("kept", margins), ("dealt", draw.permutation(margins))):
            votes = {
                (f"a{at}", "b"): (
                    np.concatenate([draw.random(30) < 0.5 + one, draw.random(30) < 0.5 + other]) * 1.0,
                    None,
                )
                for at, (one, other) in enumerate(zip(margins, late, strict=True))
            }
            stable[kind] += robustness.stability(votes, asked)[0].stable
    assert stable["kept"] >= 36
    assert stable["dealt"] <= 12


def test_few_pairs_say_nothing_of_stability():
    """Two pairs have no correlation, and the reason is given."""
    study = study_preferences(simulated(9, [0.1, 0.2], prompts=60, each=2), **FEW)
    assert study.stability.early_late.estimate is None
    assert "fewer than 5 pairs" in study.stability.early_late.reason
    assert study.stability.stable is None
    assert "order of the file" not in study.to_text(full=True)


@given(st.lists(st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.integers(0, 4)), min_size=1, max_size=20))
def test_reuse_is_that_of_plain_loops(votes):
    """Prompts with one vote, and the margin of first votes."""
    first, every = {}, {}
    for value, prompt in votes:
        first.setdefault(prompt, value)
        every.setdefault(prompt, []).append(value)
    pair = (np.array([value for value, _ in votes]), np.array([prompt for _, prompt in votes]))
    found = robustness.prompt_reuse({("a", "b"): pair}, ASKED)
    single = sum(len(values) == 1 for values in every.values())
    assert (found.prompts, found.single) == (len(every), single)
    assert found.share.estimate == pytest.approx(single / len(every))
    change = abs(abs(fmean(first.values()) - 0.5) - abs(fmean(pair[0]) - 0.5))
    assert found.most == pytest.approx(change)


def test_the_first_votes_alone_change_margins_as_chance_does():
    """With 4 votes on each of 100 prompts the margin of 0.3 moves by a few standard errors at most."""
    found = study_preferences(simulated(10, [0.3] * 20, prompts=100, each=4), **FEW).reuse
    error = math.sqrt(0.8 * 0.2 * (1 / 100 - 1 / 400))
    assert found.change.estimate == pytest.approx(0.674 * error, rel=0.5)
    assert found.most < 4 * error


# In another file.


def test_against_is_that_of_plain_loops():
    """Medians over pairs in both files, and the ratio of means between prompts."""
    frames = [simulated(seed, [0.1, 0.2, 0.0], spread=spread) for seed, spread in ((11, 0.3), (12, 0.15))]
    study = study_preferences(frames[0], against=frames[1], **FEW)
    tables = [VoteTable.read(frame) for frame in frames]
    splits = [
        [variance_split(table.preferred[rows], table.prompt[rows]) for rows in (table.first == at for at in range(3))]
        for table in tables
    ]
    for side, parts in zip((study.against.here, study.against.there), splits, strict=True):
        for name in ("total", "within", "between"):
            expected = median(getattr(one, name) for one in parts)
            assert getattr(side, name).estimate == pytest.approx(expected)
    means = [fmean(one.between for one in parts) for parts in splits]
    assert study.against.ratio.estimate == pytest.approx(means[0] / means[1])
    assert [pair.between for pair in study.pairs] == [
        pytest.approx([one.between, other.between]) for one, other in zip(*splits, strict=True)
    ]


def test_the_ratio_is_that_of_the_truth():
    """Spreads of .2 and .1 are a ratio of 4, which most intervals over 20 pairs hold."""
    held = 0
    for seed in range(8):
        here = simulated(seed, [0.0] * 20, prompts=60, each=4, spread=0.2)
        there = simulated(100 + seed, [0.0] * 20, prompts=60, each=8, spread=0.1)
        values = [_pairs(frame) for frame in (here, there)]
        ratio = robustness.against_file(*values, "there", settings(resamples=400))[0].ratio
        held += ratio.low <= 4 <= ratio.high
    assert held >= 6


def _pairs(frame):
    table = VoteTable.read(frame)
    return {
        (table.models[a], table.models[b]): (table.preferred[rows], table.prompt[rows])
        for a, b in sorted({*zip(table.first.tolist(), table.second.tolist(), strict=True)})
        for rows in [(table.first == a) & (table.second == b)]
    }


def test_one_vote_per_prompt_is_refused(capsys, tmp_path):
    """With one vote a prompt all variance is between by construction: no ratio of it is printed."""
    here, single = simulated(13, [0.1, 0.2], spread=0.2), simulated(14, [0.1, 0.2], each=1)
    with pytest.raises(InputError, match="two prompts that have two votes"):
        study_preferences(here, against=single, **FEW)
    part = pd.concat([single[single["model_a"] == "a0"], simulated(15, [0.1, 0.2]).query("model_a == 'a1'")])
    found = study_preferences(here, against=part, **FEW)
    assert (found.against.pairs, found.against.refused) == (1, 1)
    assert "1 pair of both files left out" in found.to_text(full=True)
    here.to_csv(tmp_path / "here.csv", index=False)
    single.to_csv(tmp_path / "there.csv", index=False)
    done = typed(capsys, "preferences", tmp_path / "here.csv", "--against", tmp_path / "there.csv")
    assert (done.code, done.err.count("\n")) == (2, 1)


@pytest.mark.shared
def test_two_real_files(shared):
    """Human and GPT-4 votes of MT-Bench differ over prompts about as much."""
    data = shared / "data"
    found = study_preferences(data / "mt_bench_human.csv", against=data / "mt_bench_gpt4_pair.csv", permutations=19)
    assert found.against.pairs == 15
    assert found.against.ratio.low < 1 < found.against.ratio.high


# Three ways to count ties, the page, the command.


@pytest.mark.shared
def test_all_ways_to_count_ties_are_those_of_each(shared):
    """One table holds what three studies say."""
    source = shared / "data" / "mt_bench_human.csv"
    found = study_preferences(source, ties="all", **FEW)
    assert found.settings.ties == "half"
    for row in found.encodings:
        alone = study_preferences(source, ties=row.ties, **FEW)
        assert (row.margins, row.near_ties) == (alone.margins, alone.near_ties)
    assert [row.near_ties.count for row in found.encodings] == [1, 2, 3]
    assert "pessimistic" in found.to_text(full=True)


def test_the_page_has_its_figures(tmp_path):
    """Margins, votes needed with the line of equation 8, detection of near ties, early against late."""
    frame = simulated(16, [0.02, 0.1, 0.25, 0.3, 0.35], prompts=60, each=2)
    study = study_preferences(frame, against=frame, **FEW)
    drawn = {drawing.key: drawing for drawing in drawings_of(describe(study).blocks)}
    assert {*drawn} >= {"votes-margins", "votes-needed", "votes-detection", "votes-early-late"}
    needed = drawn["votes-needed"].to_frame()
    law = needed[needed["line"].str.startswith("independent")]
    assert (law["y"] * law["x"] ** 2).tolist() == pytest.approx([2.62685576536 / 4 * 4] * len(law))
    points = needed[needed["line"].str.startswith("pairs")].set_index("name")
    for pair in study.pairs:
        effect = max(pair.cluster_ratio.design_effect, 1)
        expected = pair.votes_needed.at_05.estimate * effect
        assert points.loc[f"{pair.first} and {pair.second}", "y"] == pytest.approx(expected)
    shares = drawn["votes-margins"].to_frame().groupby("line")["y"].sum()
    assert shares.tolist() == pytest.approx([2.0, 2.0])  # each step has two ends
    study.to_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    assert page.count("<svg") >= 5
    assert "votes-early-late" in page


@pytest.mark.parametrize("ties", ["half", "drop"])
def test_detection_of_near_ties_is_drawn_for_halves_too(ties):
    """By the exact test where votes are whole, by equation 8 where they are halves; both rise with the votes."""
    study = study_preferences(simulated(17, [0.04, 0.3], prompts=80, each=3, tie=0.2), ties=ties, **FEW)
    (drawn,) = (one for one in drawings_of(describe(study).blocks) if one.key == "votes-detection")
    assert drawn.to_frame()["y"].is_monotonic_increasing


def test_the_short_form_fits_a_screen(capsys, tmp_path):
    """Whatever is asked for, the short form has at most 40 lines, and --full the rest."""
    frame = simulated(18, np.linspace(0, 0.4, 12), prompts=60, each=2, tie=0.1)
    frame.to_csv(tmp_path / "votes.csv", index=False)
    asked = (
        "preferences",
        tmp_path / "votes.csv",
        "--ties",
        "all",
        "--by",
        "prompt",
        "--early-votes",
        40,
        "--against",
        tmp_path / "votes.csv",
    )
    short, full = typed(capsys, *asked), typed(capsys, *asked, "--full")
    assert (short.code, full.code) == (0, 0)
    assert len(short.out.splitlines()) <= 40
    for words in ("Prompts of each pair", "between, ratio of means", "by how ties count", "one vote per prompt"):
        assert words in full.out
    strict(typed(capsys, *asked, "--json", "-").out)


def test_a_study_with_all_of_it_can_be_loaded(tmp_path):
    """Written and read again it is the same, and names with markup or terminal codes are text."""
    frame = simulated(19, [0.1, 0.2, 0.3], tie=0.1).replace({"a0": "<script>bad", "b0": "\x1b[31mred"})
    study = study_preferences(frame, ties="all", by="prompt", against=frame, early_votes=30, **FEW)
    (tmp_path / "study.json").write_text(study.to_json(), encoding="utf-8")
    assert bw.load(tmp_path / "study.json") == study
    study.to_html(tmp_path / "page.html")
    assert "<script>bad" not in (tmp_path / "page.html").read_text("utf-8")
    assert "\x1b" not in study.to_text(full=True)
