"""Ways of asking: verdicts alone, the command, and what a thousand tokens bring."""

from __future__ import annotations

import csv
import gzip
import json
from collections import defaultdict
from pathlib import Path

import pandas as pd
import pytest

from bonwise.errors import InputError, UsageError
from bonwise.studies.label_strategy.front import study_label_strategy, study_verdicts
from bonwise.testing import simulate
from bonwise.testing.stand_in import stand_in
from cli.commands import CONTROL, pool_file, rows_of, strict, typed, written
from cli.served import served
from studies.pairwise_judges import verdicts

# Verdicts alone: the 44 LLMBar judges against plain counting, and what cannot be studied.


ROLES = {
    "verdict_col": ["winner_order1", "winner_order2"],
    "label_col": "gold",
    "prompt_col": ["dataset", "item"],
    "judge_col": ["llm", "strategy"],
}
TINY = pd.DataFrame({"item": range(4), "one": [1, 1, 2, "tie"], "two": [1, 2, 2, 2], "gold": [1, 1, 2, 2]})


@pytest.fixture(scope="module")
def path(shared):
    """Return the LLMBar verdicts."""
    return shared / "data" / "llmbar_verdicts.csv.gz"


@pytest.fixture(scope="module")
def study(path):
    """Study the LLMBar verdicts."""
    return study_verdicts(path, **ROLES)


@pytest.fixture(scope="module")
def counted(path):
    """Count what each judge said, row by row; a row without both verdicts is passed over."""
    counts = defaultdict(lambda: defaultdict(int))
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        for row in csv.DictReader(stream):
            one, two, gold = row["winner_order1"], row["winner_order2"], row["gold"]
            if not (one and two):
                continue
            mine = counts[f"{row['llm']} / {row['strategy']}"]
            one, two, gold = (int(float(cell)) for cell in (one, two, gold))
            mine["pairs"] += 1
            mine["first"] += one == gold
            mine["second"] += two == gold
            mine["tied"] += one != two
            mine["right"] += one == two == gold
            mine["shown first"] += (one == 1) + (two == 2)
    return counts


@pytest.mark.shared
def test_every_llmbar_judge_is_as_counted(study, counted):
    """Agreement of one order and of both, ties, accuracy of decided verdicts, order effect: all as plain counting."""
    assert set(study.judges) == set(counted)
    assert len(counted) == 44
    for name, judge in study.judges.items():
        c, ways, n = counted[name], judge["ways"], counted[name]["pairs"]
        expected = {
            ("first_order", "agreement"): c["first"] / n,
            ("second_order", "agreement"): c["second"] / n,
            ("both_orders", "agreement"): (c["right"] + c["tied"] / 2) / n,
            ("both_orders", "tie_rate"): c["tied"] / n,
            ("both_orders", "accuracy_decided"): c["right"] / (n - c["tied"]),
            ("first_order", "tie_rate"): 0.0,
        }
        for (way, metric), value in expected.items():
            assert ways[way][metric]["estimate"] == pytest.approx(value, abs=1e-12), (name, way, metric)
        # A pair gives the first shown two chances; it wins half of them where order does nothing.
        assert judge["order"]["first_shown_advantage"]["estimate"] == pytest.approx(c["shown first"] / n - 1)
        assert judge["order"]["flips"]["estimate"] == pytest.approx(c["tied"] / n)
        less = judge["minus_both_orders"]["first_order"]["agreement"]
        assert less["estimate"] == pytest.approx((c["first"] - c["second"]) / 2 / n)


@pytest.mark.shared
def test_both_columns_name_candidates_as_in_the_first_order(study):
    """No judge of LLMBar agrees with the labels in one column and against them in the other."""
    for name, judge in study.judges.items():
        first, second = (judge["ways"][way]["agreement"]["estimate"] for way in ("first_order", "second_order"))
        assert abs(first - second) < 0.07, name


@pytest.mark.shared
def test_two_orders_say_which_verdicts_to_trust(study):
    """GPT-4 with rules is right in .871 of the verdicts that both orders say, in .845 with ties counting one half."""
    ways = study.judges["GPT-4 / Vanilla"]["ways"]["both_orders"]
    assert ways["accuracy_decided"]["estimate"] == pytest.approx(0.871, abs=5e-4)
    assert ways["agreement"]["estimate"] == pytest.approx(0.845, abs=5e-4)
    falcon = study.judges["Falcon / CoT"]["order"]["flips"]
    assert falcon["low"] < falcon["estimate"] < falcon["high"]
    assert falcon["estimate"] == pytest.approx(0.873, abs=5e-4)


@pytest.mark.shared
def test_the_document_is_strict_json(study):
    """The document holds no NaN, and the frame a row for each way and metric of each judge."""
    document = json.loads(json.dumps(study.to_dict(), allow_nan=False))
    assert (document["study"], document["kind"]) == ("label-strategy", "verdicts")
    assert len(study.to_frame()) == 44 * (3 * 3 + 2)


def test_a_tie_in_one_order_and_a_verdict_in_the_other():
    """A verdict beside a tie decides; verdicts that contradict each other tie."""
    found = study_verdicts(TINY, verdict_col=["one", "two"], label_col="gold", prompt_col=["item"]).judges["judge"]
    both = {metric: one["estimate"] for metric, one in {**found["ways"]["both_orders"]}.items()}
    assert both == {"tie_rate": 0.25, "agreement": 0.875, "accuracy_decided": 1.0}
    assert found["order"]["flips"]["estimate"] == 0.5


def test_one_column_has_no_order_effect():
    """With one verdict column nothing is said of orders."""
    found = study_verdicts(TINY, verdict_col=["one"], label_col="gold", prompt_col=["item"])
    assert found.judges["judge"]["order"] is None
    assert set(found.judges["judge"]["ways"]) == {"first_order"}
    assert "flips" not in found.to_text(full=True)


@pytest.mark.parametrize(
    ("roles", "message"),
    [
        ({"verdict_col": ["one", "one"]}, "verdict column 'one' is named twice"),
        ({"verdict_col": ["one", "gold"]}, "verdict column 'gold' is a label column too"),
        ({"verdict_col": ["item"]}, "verdict column 'item' is a prompt column too"),
        ({"verdict_col": ["one", "two"], "judge_col": ["two"]}, "verdict column 'two' is a judge column too"),
        ({"verdict_col": ["one", "two"], "pair_col": ["gold", "one"]}, "verdict column 'one' is a pair column too"),
    ],
)
def test_a_verdict_column_is_named_once_and_is_nothing_else(roles, message):
    """The same column as both orders would make any judge proof against the order; the label, any judge right."""
    with pytest.raises(UsageError, match=message) as refused:
        study_verdicts(TINY, **{"label_col": "gold", "prompt_col": ["item"], **roles})
    assert refused.value.hint
    assert "\n" not in str(refused.value)


def test_three_columns_are_refused():
    """There are two orders."""
    with pytest.raises(InputError, match="3 verdict columns"):
        study_verdicts(TINY, verdict_col=["one", "two", "one"], label_col="gold", prompt_col=["item"])


@pytest.mark.shared
def test_llmbar_judges_on_different_pairs_are_said_not_to_compare(study):
    """Four of the 44 judges were asked about 885 pairs, the others about 419: the document and the text warn."""
    said = "Judges were asked about 419 to 885 pairs, not all about the same: compare only those with the same pairs."
    assert study.to_dict()["sentences"] == [said]
    assert said in " ".join(str(study).split())


def beside_each_other(*judges):
    """Return what is said of judges together; each is a list of items, a negative one without a verdict."""
    rows = [
        {"who": f"j{at}", "item": abs(item), "one": 1 if item > 0 else None, "gold": 1}
        for at, items in enumerate(judges)
        for item in items
    ]
    found = study_verdicts(
        pd.DataFrame(rows), verdict_col=["one"], label_col="gold", prompt_col=["item"], judge_col=["who"]
    )
    return list(found.to_dict()["sentences"])


def test_rows_left_out_make_no_other_pairs():
    """Judges of the same rows compare, also where one of them gave no verdict on some."""
    assert beside_each_other([1, 2, 3], [3, 2, 1]) == []
    assert beside_each_other([1, 2, 3], [1, -2, 3]) == []
    assert beside_each_other([1, 2, 3]) == []


def test_judges_of_as_many_other_pairs_do_not_compare():
    """As many pairs are not the same pairs."""
    (said,) = beside_each_other([1, 2, 3], [2, 3, 4])
    assert said.startswith("Judges were asked about 3 pairs each, not all about the same: ")
    (said,) = beside_each_other([1, 2, 3], [2, 3])
    assert said.startswith("Judges were asked about 2 to 3 pairs, ")


def test_pairs_of_one_prompt_are_told_apart():
    """Other pairs of the same prompts are other pairs."""
    rows = pd.DataFrame({"who": ["a", "a", "b", "b"], "item": 1, "pair": [1, 2, 1, 3], "one": 1, "gold": 1})
    roles = {
        "verdict_col": ["one"],
        "label_col": "gold",
        "prompt_col": ["item"],
        "judge_col": ["who"],
        "pair_col": ["pair"],
    }
    assert len(study_verdicts(rows, **roles).sentences) == 1
    assert not study_verdicts(rows.assign(pair=[1, 2, 1, 2]), **roles).sentences


COMMAND = ("study", "label-strategy")
SIMULATION = simulate("arena", n=60, seed=2)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Work where scores, labels, verdicts and pools lie."""
    monkeypatch.chdir(tmp_path)
    scores = SIMULATION.frame()
    scores.to_csv("scores.csv", index=False)
    verdicts(SIMULATION).to_csv("pairs.csv", index=False)
    texts = [{"id": f"c{i}", "text": f"answer {i}"} for i in range(4)]
    with (tmp_path / "pools.jsonl").open("w", encoding="utf-8") as stream:
        for prompt in dict.fromkeys(scores["prompt_id"]):
            stream.write(json.dumps({"prompt_id": prompt, "prompt": "say", "candidates": texts}) + "\n")
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_the_command_gives_the_document_of_the_call(capsys, folder):
    """The command and the call in Python give one document; the words step aside, the page is written."""
    done = typed(capsys, *COMMAND, "scores.csv", "--verdicts", "pairs.csv", "--json", "-", "--html", "page.html")
    assert done.code == 0, done.err
    called = study_label_strategy("scores.csv", verdicts="pairs.csv").to_dict()
    assert strict(done.out) == json.loads(json.dumps(called))
    assert "Best of n on 60 prompts" in done.err
    assert "Recovery by the way of asking" in (folder / "page.html").read_text(encoding="utf-8")
    assert not CONTROL.search(done.err)


@pytest.mark.usefixtures("folder")
def test_verdicts_alone(capsys, folder):
    """Columns joined by commas name prompt and judge; without the columns that are needed it is said which."""
    (folder / "v.csv").write_text("q,set,who,one,two,gold\n1,a,j,1,1,1\n2,a,j,1,2,2\n", encoding="utf-8")
    flags = ("--verdict-col", "one", "--verdict-col", "two", "--prompt-col", "set,q", "--judge-col", "who")
    done = typed(capsys, *COMMAND, "v.csv", *flags, "--label-col", "gold", "--json", "-")
    assert strict(done.out)["judges"]["j"]["order"]["flips"]["estimate"] == 0.5
    lacking = typed(capsys, *COMMAND, "v.csv", *flags)
    assert (lacking.code, "--label-col" in lacking.err) == (2, True)


@pytest.mark.usefixtures("folder")
def test_pairs_are_drawn_judged_and_weighted(capsys, folder):
    """The drawn pools are taken by bonwise judge; their verdicts and the record give a weighted study."""
    drawn = typed(capsys, *COMMAND, "scores.csv", "--pairs", "40", "--pools", "pools.jsonl", "--out", "todo.jsonl")
    assert drawn.code == 0, drawn.err
    assert "todo.drawn.csv" in drawn.err
    dry = typed(
        capsys, "judge", "todo.jsonl", "--judge", "pairwise:openai/m", "--pairs", "won.csv", "--run", "r", "--dry-run"
    )
    assert dry.code == 0, dry.err
    assert "80" in dry.out + dry.err  # two orders of 40 pairs
    by_pair = {(row["prompt_id"], row["a"], row["b"]): row for row in rows_of("pairs.csv")}
    lines = ["prompt_id,judge,a,b,shown_first,shown_second"]
    for row in rows_of("todo.drawn.csv"):
        found = by_pair[row["prompt_id"], row["a"], row["b"]]
        lines.append(f"{row['pair_id']},j,{row['a']},{row['b']},{found['shown_first']},{found['shown_second']}")
    (folder / "won.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    flags = ("--verdicts", "won.csv", "--drawn", "todo.drawn.csv", "--json", "-")
    done = typed(capsys, *COMMAND, "scores.csv", *flags)
    assert strict(done.out)["judges"]["judge"]["matched_pairs"]["weighted"]
    again = typed(capsys, *COMMAND, "scores.csv", "--pairs", "40", "--pools", "pools.jsonl", "--out", "todo.jsonl")
    assert (again.code, "there already" in again.err) == (2, True)


@pytest.mark.usefixtures("folder")
def test_pairs_are_drawn_where_a_few_prompts_lack_labels(capsys, folder):
    """A draw of scores that lack one label in sixty prompts counts that prompt in words, and leaves it out."""
    scores = SIMULATION.frame()
    scores.loc[2, "oracle_label"] = float("nan")
    scores.to_csv("few.csv", index=False)
    flags = ("--pairs", "20", "--pools", "pools.jsonl", "--out", "todo.jsonl")
    done = typed(capsys, *COMMAND, "few.csv", *flags)
    assert done.code == 0, done.err
    assert "left out 1 prompt: some of its candidates lack labels" in done.out
    assert scores["prompt_id"][2] not in {row["prompt_id"] for row in rows_of("todo.drawn.csv")}


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ((), "no verdicts on pairs"),
        (("--verdicts", "pairs.csv", "--pools", "x.jsonl"), "--pools is only for a draw"),
        (("--pairs", "9", "--out", "x.jsonl"), "--pools"),
        (("--pairs", "9", "--pools", "pools.jsonl", "--out", "x.csv"), "does not end in .jsonl"),
        (("--pairs", "9", "--verdicts", "pairs.csv"), "--verdicts has no say over a draw"),
        (("--verdict-col", "one", "--bins", "9"), "--bins has no say over verdicts alone"),
        (("--verdict-col", "one", "--ragged"), "--ragged has no say"),
        ((*("--verdict-col", "one") * 2, "--label-col", "l", "--prompt-col", "p"), "column 'one' is named twice"),
        (("--verdict-col", "p", "--label-col", "l", "--prompt-col", "q,p"), "column 'p' is a prompt column too"),
        (("--verdicts", "pairs.csv", "--pair-col", "x"), "--pair-col is only for verdicts alone"),
        (("--verdicts", "pairs.csv", "--bins", "1"), "bins must be 2 or more, not 1"),
        (("--verdicts", "pairs.csv", "--html", "pairs.csv"), "read or written already"),
    ],
)
def test_flags_that_do_not_go_together(capsys, flags, message):
    """Each contradiction is one line on standard error, with exit code 2."""
    done = typed(capsys, *COMMAND, "scores.csv", *flags)
    assert done.code == 2
    assert message in done.err
    assert done.err.count("\n") == 1


# From pools to what a thousand tokens bring: both judges asked with --tokens, their files studied.


PROMPTS = 12
WAYS = ("pointwise", "pairwise", "tie_break")


def coarse(request):
    """Answer as the stand-in does, with scores of 0, 50 and 100 alone, so that some tie."""
    said = json.loads(stand_in(request).text)
    if "score" in said:
        said["score"] = 50 * round(said["score"] / 50)
    return json.dumps(said)


@pytest.fixture
def folder_of_tokens(tmp_path, monkeypatch):
    """Work in a folder with pools of three and their labels."""
    monkeypatch.chdir(tmp_path)
    pools = {f"p{x}": [f"answer {x} {i}" + " more" * ((x + i) % 3) for i in range(3)] for x in range(PROMPTS)}
    pool_file("pools.jsonl", pools)
    labels = [
        {"prompt_id": f"p{x}", "candidate": f"c{i}", "oracle_label": (x * 7 + i * 5) % 4 / 4}
        for x in range(PROMPTS)
        for i in range(3)
    ]
    written("labels.csv", labels)
    return tmp_path


def asked(capsys, spec, *more):
    """Judge the pools and return the tokens that the ledger of the run counted."""
    run = spec.partition(":")[0]
    done = typed(capsys, "judge", "pools.jsonl", "--judge", spec, "--run", run, "--tokens", *more)
    assert done.code == 0, done.err
    document = strict(typed(capsys, "ledger", "stats", run, "--json", "-").out)
    return document["input_tokens"] + document["output_tokens"]


def studied(capsys, *more):
    """Return each way's metrics on the prompts with a verdict on every pair, and what the command says."""
    done = typed(capsys, "study", "label-strategy", "scores.csv", "--labels", "labels.csv", *more, "--json", "-")
    assert done.code == 0, done.err
    (judge,) = strict(done.out)["judges"].values()
    ways = judge["strategies"]["every_pair"]["strategies"]
    return {name: {metric: one["estimate"] for metric, one in way["metrics"].items()} for name, way in ways.items()}


def test_tokens_go_from_the_answers_to_the_study(capsys, folder_of_tokens, monkeypatch):
    """Tokens a prompt are those that the ledgers counted, and the gain of 1,000 tokens is the gain over them."""
    with served(monkeypatch, folder_of_tokens, answer=coarse):
        scoring = asked(capsys, "pointwise:openai/m", "--out", "scores.csv")
        comparing = asked(capsys, "pairwise:openai/m", "--out", "earned.csv", "--pairs", "pairs.csv")
    ways = studied(capsys, "--verdicts", "pairs.csv", "--html", "page.html")
    tokens = {name: ways[name]["tokens_per_prompt"] for name in WAYS}
    assert tokens["pointwise"] == pytest.approx(scoring / PROMPTS)
    assert tokens["pairwise"] == pytest.approx(comparing / PROMPTS)
    assert tokens["pointwise"] < tokens["tie_break"] < tokens["pointwise"] + tokens["pairwise"]
    for name in WAYS:
        assert ways[name]["gain_per_1000_tokens"] == pytest.approx(1000 * ways[name]["gain"] / tokens[name])
    page = Path("page.html").read_text(encoding="utf-8")
    assert "gain / 1,000 tokens" in page
    assert "1,000 tokens of comparing every pair bring" in page
    assert f"{tokens['tie_break']:,.0f}" in page


def test_without_tokens_the_study_says_how_to_have_them(capsys, folder_of_tokens, monkeypatch):
    """Files without tokens give no columns of dashes, and a line with the flag that writes them."""
    with served(monkeypatch, folder_of_tokens, answer=coarse):
        typed(capsys, "judge", "pools.jsonl", "--judge", "pointwise:openai/m", "--out", "scores.csv")
        flags = ("--out", "earned.csv", "--pairs", "pairs.csv")
        typed(capsys, "judge", "pools.jsonl", "--judge", "pairwise:openai/m", *flags)
    assert {way["gain_per_1000_tokens"] for way in studied(capsys, "--verdicts", "pairs.csv").values()} == {None}
    files = ("scores.csv", "--labels", "labels.csv", "--verdicts", "pairs.csv")
    said = typed(capsys, "study", "label-strategy", *files, "--full")
    assert "bonwise judge --tokens" in " ".join(said.out.split())
    heads = [line for line in said.out.splitlines() if line.startswith("way ")]
    assert heads
    assert not any("tokens" in line for line in heads)
    assert "tokens; gain / 1,000 tokens: no figure for scores; " in " ".join(said.out.split())
