"""Studies of raw votes, and the command that the doctor names for files of them."""

from __future__ import annotations

import inspect
import json
import math
import shlex

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonwise.errors import InputError, UsageError
from bonwise.stats.confidence import clustered_mean
from bonwise.votes.front import study_preferences
from cli.commands import CONTROL, strict, typed, written
from golden_tables import golden
from stats.nominal import assert_covered
from table.importers.real_files import REAL_FILES

ASKED = {"verdict_col": "winner", "pair_col": ["model_a", "model_b"], "prompt_col": ["question_id"]}
TIES = ("drop", "half", "pessimistic")


def frame(first, second, ties=0, *, prompts=10, pair=("x", "y")):
    """Make votes on one pair, spread over prompts one after the other."""
    won = ["model_a"] * first + ["model_b"] * second + ["tie"] * ties
    rows = [(*pair, word, at % prompts) for at, word in enumerate(won)]
    return pd.DataFrame(rows, columns=["model_a", "model_b", "winner", "question_id"])


@pytest.fixture(scope="module")
def documents(shared):
    """Study the MT-Bench votes under each way to count ties."""
    source = shared / "data" / "mt_bench_human.csv"
    return {ties: study_preferences(source, ties=ties, **ASKED).to_dict() for ties in TIES}


def figures(document):
    """Name the figures of a document as the golden table does."""
    found = {}
    for name, one in zip(("p10", "p25", "p50"), document["margins"], strict=True):
        found |= {name: one["estimate"], f"{name}_low": one["low"], f"{name}_high": one["high"]}
        found |= {f"votes_{level[2:]}_{name}": needed["estimate"] for level, needed in one["votes_needed"].items()}
    near, ratio, ties = (document[name] for name in ("near_ties", "cluster_ratio", "ties"))
    found |= {"near_ties": near["count"], "near_share": near["share"]["estimate"]}
    found |= {"near_median": near["median"]["estimate"], "near_votes": near["votes_needed"]["0.05"]["estimate"]}
    for one in document["z"]:
        way = one["drawn"].split("_")[0]
        found |= {f"z_{one['votes']}_{way}_{name}": one[name]["estimate"] for name in ("p10", "median")}
    found |= {"ratio_median": ratio["median"]["estimate"], "ratio_least": ratio["least"]}
    found |= {"ratio_most": ratio["most"], "design_effect": ratio["design_effect"]}
    split = document["variance"]["published"]
    found |= {f"variance_{name}": one["estimate"] for name, one in split.items()}
    found |= {"tie_rate_median": ties["median"]["estimate"], "tie_rate_p90": ties["p90"]["estimate"]}
    return found | {"tie_correlation": ties["correlation_with_margin"]["estimate"]}


@pytest.mark.shared
@pytest.mark.parametrize("row", golden("votes_mt_bench"), ids=lambda row: f"{row['encoding']}-{row['figure']}")
def test_the_figures_of_mt_bench(documents, row):
    """Every figure is the recorded one; the published ones follow when ties count for the second model."""
    document = documents["pessimistic" if row["encoding"] == "published" else row["encoding"]]
    assert figures(document)[row["figure"]] == pytest.approx(float(row["value"]), rel=0, abs=float(row["within"]))


@pytest.mark.shared
def test_half_a_part_within_is_lost_in_print(documents):
    """The unbiased variance within prompts of MT-Bench is over 1.7 times the published one; some z are infinite."""
    for ties in ("drop", "pessimistic"):
        found = documents[ties]["variance"]
        assert found["within"]["estimate"] > 1.7 * found["published"]["within"]["estimate"]
    z = {(one["votes"], one["drawn"]): one for one in documents["drop"]["z"]}
    assert z[100, "without_replacement"]["pairs"] == 15
    assert 0 < z[50, "without_replacement"]["infinite_share"] < 0.02


@pytest.mark.shared
def test_concentration_in_mt_bench_is_chance(documents):
    """The rule of 1.5 fires for a third of the pairs, and none exceeds what permuted votes give."""
    found = documents["drop"]["concentration"]
    assert found["above_threshold"] == 5
    assert found["above_chance"] == 0
    assert found["recommend_two_stage"] == []
    assert found["above_chance_expected"] == pytest.approx(0.05 * 15)
    assert found["heterogeneous"] > 5


def test_one_pair_in_twenty_is_expected_above_chance():
    """With 3 pairs tested .15 are expected above what chance gives in 95 %."""
    rows = [frame(10, 30), frame(12, 20, pair=("x", "z")), frame(17, 11, pair=("y", "z"))]
    found = study_preferences(pd.concat(rows), **ASKED).to_dict()["concentration"]
    assert (found["pairs"], found["above_chance_expected"]) == (3, pytest.approx(0.15))


def test_prompts_that_differ_are_told_from_prompts_that_do_not():
    """Chi-squared and both p are in the document, and the page counts pairs whose prompts differ."""
    votes = [frame(20, 0, prompts=5), frame(0, 20, prompts=5).assign(question_id=7), frame(20, 24, pair=("x", "z"))]
    study = study_preferences(pd.concat(votes), **ASKED)
    apart, level = (one["concentration"]["homogeneity"] for one in study.to_dict()["pairs"])
    assert apart["chi2"] == pytest.approx(40)
    assert apart["p"] < 1e-6
    assert apart["p_permuted"] == pytest.approx(1 / 1000)
    assert level["p_permuted"] > 0.05
    assert study.to_dict()["concentration"]["heterogeneous"] == 1
    assert "Win rates differ between prompts" in study.to_text(full=True)


def test_a_pair_by_hand():
    """30 of 40 votes for the second model: margin .25, 10.5 x 4 votes by equation 8, z of 3.65, .1308 nats a vote."""
    found = study_preferences(frame(10, 30), **ASKED).to_dict()["pairs"][0]
    assert (found["first"], found["second"], found["votes"], found["prompts"]) == ("x", "y", 40, 10)
    assert found["margin"] == pytest.approx(0.25)
    assert found["votes_needed"]["0.05"]["estimate"] == pytest.approx(2.62685576536 / 0.0625)
    assert found["votes_needed"]["0.05"]["whole"] == 43
    assert found["z"] == pytest.approx(0.25 / math.sqrt(0.75 * 0.25 / 40))
    info = found["information"]
    assert info["per_vote"]["estimate"] == pytest.approx(0.130812036)
    assert info["stream"] == pytest.approx(40 * 0.130812036)
    assert info["least_votes"]["estimate"] == pytest.approx(1.2040 / 0.130812036, abs=0.001)
    assert "lower bound" in info["least_votes"]["meaning"]


def test_no_figure_is_nan_or_infinite():
    """Votes that are all alike, a margin of 0 and half votes give strict JSON: null, with the count or the reason."""
    rows = [frame(20, 0), frame(10, 10, pair=("x", "z")), frame(12, 11, 5, pair=("y", "z"))]
    for ties in ("drop", "half", "pessimistic"):
        document = study_preferences(pd.concat(rows), ties=ties, **ASKED).to_dict()
        json.dumps(document, allow_nan=False)
        alike, level, _ = document["pairs"]
        assert (alike["z"], alike["z_infinite"]) == (None, True)
        assert alike["cluster_ratio"]["reason"] == "all votes are alike"
        assert level["votes_needed"]["0.05"]["estimate"] is None
        assert level["information"]["least_votes"]["estimate"] is None


def test_clusters_of_one_are_refused_in_words():
    """Where every prompt has one vote the variance is not split and the ratio of 1 is called empty."""
    document = study_preferences(frame(15, 25, prompts=40), **ASKED).to_dict()
    assert "look the same" in document["variance"]["reason"]
    assert document["cluster_ratio"]["single_vote_prompts_only"]
    assert document["pairs"][0]["cluster_ratio"]["estimate"] == pytest.approx(1)
    assert "whatever raters do" in document["pairs"][0]["cluster_ratio"]["reason"]


def test_without_prompts_nothing_is_said_of_them():
    """No prompt column: intervals take every vote on its own, and what needs prompts is null with the reason."""
    document = study_preferences(frame(15, 25), prompt_col=()).to_dict()
    pair = document["pairs"][0]
    assert document["data"]["prompts"] is None
    assert pair["win_rate"]["n"] == 40
    assert all("no prompt column" in pair[name]["reason"] for name in ("cluster_ratio", "variance", "concentration"))
    json.dumps(document, allow_nan=False)


def test_every_row_is_counted():
    """Votes, ties, blanks and pairs with too few votes add up to the rows of the file."""
    blank = frame(1, 0).assign(winner="")
    rows = pd.concat([frame(10, 20, 5), frame(2, 2, pair=("x", "z")), blank])
    data = study_preferences(rows, ties="drop", **ASKED).to_dict()["data"]
    assert data["dropped"] == {"no verdict": 1, "tie": 5, "pair with fewer than 10 votes": 4}
    assert data["rows"] == 40 == data["votes"] + sum(data["dropped"].values())
    assert (data["pairs"], data["pairs_left_out"], data["models"]) == (1, 1, 2)
    with pytest.raises(InputError, match="no pair has 50 votes"):
        study_preferences(rows, ties="drop", fewest_votes=50, **ASKED)


def test_intervals_are_clustered_by_prompt():
    """Copying every vote, prompt and all, leaves the interval where it was; as prompts of their own it shrinks."""
    votes = frame(14, 26)
    once, twice, apart = (
        study_preferences(rows, **ASKED).pairs[0].win_rate
        for rows in (
            votes,
            pd.concat([votes, votes]),
            pd.concat([votes, votes.assign(question_id=votes.question_id + 50)]),
        )
    )
    assert (twice.low, twice.high) == pytest.approx((once.low, once.high))
    assert apart.high - apart.low < 0.8 * (once.high - once.low)


def test_a_real_concentration_is_recommended():
    """Three of 20 prompts that all prefer one model, 30 votes each: screening is recommended, with its cost."""
    rng = np.random.default_rng(5)
    rate = np.repeat(np.r_[np.full(3, 0.95), np.full(17, 0.5)], 30)
    won = np.where(rng.random(600) < rate, "model_b", "model_a")
    votes = pd.DataFrame({"model_a": "x", "model_b": "y", "winner": won, "question_id": np.arange(600) // 30})
    document = study_preferences(votes, **ASKED).to_dict()
    assert document["concentration"]["recommend_two_stage"] == [["x", "y"]]
    found = document["pairs"][0]["screening"]
    assert found["plan"] == {
        "votes": 1200,
        "types": 20,
        "each": 30,
        "first_stage": 600,
        "second_stage": 600,
        "kept": 4,
    }
    power = found["simulated"]
    assert power["repetitions"] == document["settings"]["repetitions"] == 1500
    # A fifth would be kept by chance; three of the four prompts that are kept hold the signal.
    assert power["mass_kept"] > 0.6
    assert power["two_stage"] > 0.95


def test_what_screening_would_see_is_simulated_at_the_votes_own_prompts():
    """Preferences that cancel are seen by screening alone; where no prompt has two votes the reason is said."""
    votes = pd.concat(
        [frame(24, 6, prompts=5), frame(6, 24, prompts=5).assign(question_id=lambda rows: rows.question_id + 5)]
    )
    found = study_preferences(votes, **ASKED).to_dict()["pairs"][0]["screening"]["simulated"]
    assert found["proportional"] < 0.1
    assert found["two_stage"] > 0.3
    alone = study_preferences(frame(15, 25, prompts=40), **ASKED).to_dict()["pairs"][0]["screening"]
    assert (alone["plan"], alone["simulated"]) == (None, None)
    assert "look the same" in alone["reason"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"near_tie": 0.5},
        {"power": 1.0},
        {"confidence": 0.2},
        {"fewest_votes": 1},
        {"kept_share": 0.0},
        {"threshold": 1.0},
        {"votes_at": (0,)},
        {"z_at": (0,)},
        {"resamples": 1},
        {"permutations": 5},
        {"repetitions": 1},
        {"seed": -1},
        {"seed": True},
        {"seed": "0"},
        {"near_tie": "0.1"},
        {"power": None},
        {"fewest_votes": 10.5},
        {"votes_at": 25},
        {"z_at": ("50",)},
        {"resamples": 20.5},
        {"ties": "both"},
    ],
    ids=str,
)
def test_settings_that_mean_nothing_are_refused(wrong):
    """A setting out of its range is refused by name, with one that would do."""
    with pytest.raises(UsageError) as refused:
        study_preferences(frame(10, 30), **ASKED, **wrong)
    assert next(iter(wrong)) in refused.value.message
    assert refused.value.hint
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("columns", "word"),
    [
        ({"verdict_col": ["winner", "loser"]}, "verdict_col"),
        ({"verdict_col": 3}, "verdict_col"),
        ({"pair_col": "model_a"}, "two models"),
        ({"pair_col": [1, 2]}, "pair_col"),
        ({"prompt_col": 5}, "prompt_col"),
    ],
    ids=str,
)
def test_columns_are_named_by_words(columns, word):
    """A column that is no name is refused in one line by its argument."""
    with pytest.raises(UsageError, match=word) as refused:
        study_preferences(frame(10, 30), **{**ASKED, **columns})
    assert "\n" not in str(refused.value)


def test_what_is_no_table_is_refused():
    """A source that is neither a path nor a frame is refused in one line."""
    with pytest.raises(UsageError, match=r"row 0 .* is a int, not a mapping"):
        study_preferences([1, 2], **ASKED)


def test_one_prompt_column_needs_no_list():
    """A word names one column, as a list of it does."""
    listed, word = (
        study_preferences(frame(10, 30), **{**ASKED, "prompt_col": one}) for one in (["question_id"], "question_id")
    )
    assert listed.to_dict() == word.to_dict()


def test_settings_repeat_every_argument_and_cannot_be_written():
    """Each argument is in the settings by its own name, as JSON holds it; the result cannot be changed."""
    study = study_preferences(frame(10, 30), **ASKED, seed=np.int64(3), votes_at=(20,), z_at=[10])
    asked = set(inspect.signature(study_preferences).parameters)
    assert asked <= set(study.settings.keys())
    assert (study.settings["seed"], study.settings["votes_at"], study.settings["z_at"]) == (3, [20], [10])
    assert study.settings["prompt_col"] == ["question_id"]
    json.dumps(study.to_dict(), allow_nan=False)
    with pytest.raises(TypeError):
        study.settings["seed"] = 4
    study.to_dict()["margins"][0]["estimate"] = 9
    study.to_dict()["settings"]["seed"] = 9
    assert study.to_dict()["margins"][0]["estimate"] == pytest.approx(0.25)
    assert study.to_dict()["settings"]["seed"] == 3


def test_printing_draws_nothing_again(monkeypatch):
    """Figures over pairs are made once; page and document repeat them."""
    study = study_preferences(frame(10, 30), **ASKED)
    monkeypatch.setattr(np.random, "default_rng", None)
    assert study.to_text(full=True)
    assert study.to_dict() == study.to_dict()


def test_the_text_says_what_it_must():
    """The page names the way ties count, calls the bound a bound, and offers no test of the mean preference."""
    text = study_preferences(frame(12, 28, 6), ties="half", **ASKED).to_text(full=True)
    for words in (
        "ties: half. 6 votes are ties",
        "no test is known to do with so few",
        "never of the mean preference",
        "That rule alone is not evidence",
        "the binomial test is not defined for half votes",
        "nats a vote: KL(1/2 + margin, 1/2). bound: no test with errors",
        "for planning only",
    ):
        assert words in " ".join(text.split())
    assert "Without replacement the pool" not in text
    assert "Without replacement the pool" in study_preferences(frame(12, 28), **ASKED).to_text(full=True)


def test_nats_and_the_bound_stand_side_by_side():
    """A margin of .25 prints .131 nats a vote and, as a bound, 10 votes."""
    line = next(
        row for row in study_preferences(frame(10, 30), **ASKED).to_text(full=True).splitlines() if "0.131" in row
    )
    assert line.split()[4:7] == ["0.131", ">=", "10"]


def test_the_tables_of_pairs_fit_a_page():
    """With names of 18 letters no line of the piped page is longer than the page is wide."""
    votes = frame(10, 30, pair=("a" * 18, "b" * 18))
    assert max(map(len, study_preferences(votes, **ASKED).to_text(full=True).splitlines())) <= 118


def graded(preferences, names=("example", "gpt")):
    """Return AlpacaEval's records: 1 is all for the first output, 2 all for the second."""
    one, other = names
    return pd.DataFrame(
        {
            "instruction": [f"q{at}" for at in range(len(preferences))],
            "generator_1": other,
            "generator_2": one,
            "preference": preferences,
        }
    )


def test_graded_preferences_keep_their_weight():
    """By hand: (0 + .25 + .5 + 1 + .8) / 5 = .51 for the second output, where 2 of 5 lean to it and one to none."""
    found = study_preferences(graded([1.0, 1.25, 1.5, 2.0, 1.8] * 4), fewest_votes=2)
    assert found.pairs[0].win_rate.estimate == pytest.approx(1 - 0.51)
    assert found.data.ties == 4
    assert found.settings.readings["preference"] == "1: first, 2: second, between them a share of a vote for each"


@given(st.lists(st.floats(1, 2), min_size=3, max_size=30))
def test_the_share_of_graded_preferences_is_that_of_a_loop(preferences):
    """The mean of what lies beyond 1, as AlpacaEval publishes it."""
    values = [*preferences, 1.3]
    found = study_preferences(graded(values), fewest_votes=2, resamples=20, permutations=19, repetitions=2)
    total = 0.0
    for value in values:
        total += value - 1
    assert 1 - found.pairs[0].win_rate.estimate == pytest.approx(total / len(values))


def test_intervals_of_graded_shares_hold_the_truth():
    """Of tables of 60 prompts with two votes each about 95 % of intervals hold the mean of the law."""
    draw, held, tables = np.random.default_rng(8), 0, 400
    for _ in range(tables):
        level = np.repeat(draw.beta(6, 4, size=60), 2)
        share = clustered_mean(draw.beta(4 * level, 4 * (1 - level)), np.repeat(np.arange(60), 2), 0.95, share=True)
        held += share.low <= 0.6 <= share.high
    assert_covered({"share": held}, tables)


def test_the_sentence_gives_the_share_of_the_model_it_names():
    """Whichever of the two is preferred."""
    for first, second in (("a", "b"), ("b", "a")):
        text = str(study_preferences(graded([1.9, 1.8, 1.7] * 20, (first, second)), fewest_votes=2))
        assert f"Verdict: {first} is preferred" in text
        assert f"{first} has 80.0% [" in text
        assert f"of the votes against {second}." in text


def test_the_shared_preferences_give_their_share(shared):
    """A sample of AlpacaEval's annotations."""
    shapes = shared / "data" / "shapes"
    expected = json.loads((shapes / "expected.json").read_text("utf-8"))["weighted_preference.json"]
    (pair,) = study_preferences(shapes / "weighted_preference.json").pairs
    assert (pair.first, pair.votes) == ("example", expected["votes"])
    assert 1 - pair.win_rate.estimate == pytest.approx(expected["share_of_example"], abs=1e-6)


@pytest.mark.parametrize("names", [(1, 2, 3), (3.5, 4.0), ("7", "13")])
@pytest.mark.parametrize("kind", ["name", "word"])
def test_models_may_be_called_by_numbers(names, kind):
    """The verdict is the number of the winner, or a word for its side."""
    draw = np.random.default_rng(2)
    rows = [draw.permutation(len(names))[:2] for _ in range(60)]
    frame = pd.DataFrame({"model_a": [names[a] for a, _ in rows], "model_b": [names[b] for _, b in rows]})
    # The larger number always wins.
    wins = [a > b for a, b in rows]
    named = [names[max(row)] for row in rows]
    frame["winner"] = named if kind == "name" else ["model_a" if won else "model_b" for won in wins]
    found = study_preferences(frame, fewest_votes=2)
    assert all(pair.win_rate.estimate == float(float(pair.second) > float(pair.first)) for pair in found.pairs)


def test_the_five_grades_of_arena_hard_are_read():
    """Each is a vote for a side, or a tie."""
    grades = ["A>>B", "A>B", "A=B", "B>A", "B>>A"]
    frame = pd.DataFrame({"model_a": "x", "model_b": "y", "winner": grades * 4})
    found = study_preferences(frame, fewest_votes=2)
    assert (found.pairs[0].win_rate.estimate, found.data.ties) == (0.5, 4)


# Files of votes: the doctor knows them, and the command that it prints works as it stands.


VOTES = [one for one in REAL_FILES if one.votes is not None]


def suggested(capsys, source):
    """Return the command that the doctor prints for a file that is not a table of scores."""
    done = typed(capsys, "doctor", source)
    assert done.code == 0
    assert "votes on pairs, not a table of scores" in " ".join(done.out.split())
    return shlex.split(done.out[done.out.rindex("bonwise preferences") :])[1:]


@pytest.mark.parametrize("file", VOTES, ids=lambda file: file.name)
def test_the_command_of_a_real_file_works(capsys, file):
    """It ends with 0, and every vote is counted."""
    words = suggested(capsys, file.path)
    done = typed(capsys, *words, "--json", "-")
    assert done.code == 0, done.err
    data = strict(done.out)["data"]
    rows, ties, pairs = file.votes
    assert data["rows"] == rows
    assert data["dropped"].get("tie", 0) == 0
    assert (data["ties"] > 0) == (ties > 0)
    assert data["ties"] <= ties
    assert data["pairs"] + data["pairs_left_out"] == pairs


def made(spelling, rows=40, seed=1, **names):
    """Return votes on three models in a spelling of the first, the second and a tie."""
    draw = np.random.default_rng(seed)
    found = []
    for at in range(rows):
        one, other = draw.choice(["gpt-4", "claude", "llama"], 2, replace=False)
        found.append(
            {
                names.get("prompt", "Question ID"): at // 4,
                names.get("one", "Model A"): str(one),
                names.get("other", "Model B"): str(other),
                names.get("verdict", "Winner"): spelling[int(draw.integers(3))],
            }
        )
    return found


SPELLINGS = [
    *(("left", "right", "tie"), ("A>>B", "B>A", "A=B"), ("[[A]]", "[[B]]", "[[C]]"), ("1", "2", "tie")),
    *(("1", "-1", "0"), ("model_a", "model_b", "both bad"), ("1", "0", ""), ("1", "2", "0"), ("A", "B", "")),
]


@pytest.mark.parametrize("spelling", SPELLINGS, ids="/".join)
def test_the_command_of_every_spelling_works(capsys, tmp_path, spelling):
    """Also where numbers may mean either side: the command then says what they mean."""
    words = suggested(capsys, written(tmp_path / "my votes.csv", made(spelling)))
    done = typed(capsys, *words)
    assert done.code == 0, done.err
    assert "Winner read as" in done.out or "verdicts in Winner" in done.out
    assert ("--verdict-map" in words) == (spelling[1] == "0" or (spelling[2] == "0" and spelling[1] == "2"))


def test_the_command_for_a_judge_beside_people(capsys, tmp_path):
    """A file with votes of a judge and of people is compared in itself."""
    draw = np.random.default_rng(2)
    rows = [
        {
            "prompt_id": at,
            "model_a": "x",
            "model_b": "y",
            "gpt4_winner": draw.choice(["A", "B"]),
            "human_winner": "AB"[at % 2],
        }
        for at in range(20)
    ]
    words = suggested(capsys, written(tmp_path / "v.csv", rows))
    assert words[2:6] == ["--verdict-col", "gpt4_winner", "--label-col", "human_winner"]
    assert typed(capsys, *words).code == 0


def test_numbers_that_may_mean_either_side_are_one_sentence(capsys, tmp_path):
    """0 and 1 are not guessed: the message names the flag, and both ways give opposite win rates."""
    source = written(tmp_path / "v.csv", made(("1", "0", "")))
    done = typed(capsys, "preferences", source)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "--verdict-map 1=first,0=second or --verdict-map 0=first,1=second" in done.err
    found = [
        strict(typed(capsys, "preferences", source, "--fewest-votes", "2", "--verdict-map", text, "--json", "-").out)
        for text in ("1=first,0=second", "0=first,1=second")
    ]
    one, other = ([pair["win_rate"]["estimate"] for pair in document["pairs"]] for document in found)
    assert one == pytest.approx([1 - rate for rate in other])
    assert found[0]["settings"]["verdict_map"] == {"1": "first", "0": "second"}


def test_two_files_on_the_command_line(capsys, tmp_path):
    """The document of the call in Python; flags of votes without labels are refused."""
    judge = written(tmp_path / "judge.csv", made(("A", "B", "tie"), prompt="prompt_id"))
    crowd = written(tmp_path / "crowd.csv", made(("left", "right", "tie"), seed=1))
    frame = pd.read_csv(judge).drop_duplicates(["prompt_id", "Model A", "Model B"])
    frame["key"] = [str(sorted(pair)) for pair in zip(frame["Model A"], frame["Model B"], strict=True)]
    frame.drop_duplicates(["prompt_id", "key"]).drop(columns="key").to_csv(judge, index=False)
    done = typed(capsys, "preferences", judge, "--labels", crowd, "--json", "-")
    assert done.code == 0, done.err
    document = strict(done.out)
    assert document["labels"]["source"] == str(crowd)
    assert document["labels"]["votes"] == 40
    refused = typed(capsys, "preferences", judge, "--labels", crowd, "--ties", "drop")
    assert refused.code == 2
    assert "--ties" in refused.err


HOSTILE = "\x1b]0;x\x07<script>alert(1)</script>\u202e=HYPERLINK(1)"


def test_hostile_names_run_nothing(capsys, tmp_path):
    """Escapes, markup and formulas in names of columns, models and verdicts reach no terminal as such."""
    for row in (
        {"model_a": HOSTILE, "model_b": "y", "winner": "A"},
        {"model_a": "x", "model_b": "y", "winner": HOSTILE},
    ):
        (tmp_path / "v.jsonl").write_text("\n".join([json.dumps(row)] * 12), encoding="utf-8")
        done = typed(capsys, "preferences", tmp_path / "v.jsonl")
        assert not CONTROL.search(done.out + done.err)
    rows = made(("A", "B", "tie"), one=f"Model A ({HOSTILE})", verdict=f"Winner {HOSTILE}")
    source = written(tmp_path / "v.csv", rows)
    for words in (("doctor", source), ("preferences", source, "--ties", "drop")):
        done = typed(capsys, *words)
        assert not CONTROL.search(done.out + done.err)
        assert "Traceback" not in done.err
