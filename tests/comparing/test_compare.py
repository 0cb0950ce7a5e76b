"""Which of several judges or picks is better: figures, document, words and drawings."""

from __future__ import annotations

import copy
import json
import re

import pandas as pd
import pytest

import bonwise as bw
from auditing.tables import cohort, two_judges
from auditing.test_picks import OF_PICKS, greedy_lines, labels_of, logged
from bonwise.auditing.comparison import SAME_PICKS
from bonwise.auditing.front import audit
from bonwise.comparing.front import compare
from bonwise.comparing.result import PickComparison
from bonwise.errors import InputError
from bonwise.report.numbers import estimate, interval
from bonwise.report.show import describe, markdown, page, text
from bonwise.testing import simulate
from cli.commands import scored, written
from report.painted import svg
from report.readers import HOSTILE, harmless, lost, words
from results.round_trips import read_back, refusal
from studies.pairwise_judges import verdicts

SPENT = {"answers": 4, "from_ledger": 0, "input_tokens": 380, "output_tokens": 20}

# By hand: three prompts of labels (a, b).    p: 1 0    q: .2 .8    r: .5 .1
#   first keeps a, b, b with 2, 2, 2 answers of 100 tokens; second keeps a, a, a with 4, 2, 6 answers of 100.
#   gains: first .5 .3 -.2 = .6;  second .5 -.3 .2 = .4;  room .5 .3 .2 = 1
HAND_LABELS = pd.DataFrame(
    {"prompt_id": list("ppqqrr"), "candidate": list("ababab"), "oracle_label": [1, 0, 0.2, 0.8, 0.5, 0.1]}
)
BY_HAND = {
    "gain": (0.2, 0.4 / 3),
    "recovery": (0.6, 0.4),
    "top1_accuracy": (2 / 3, 2 / 3),
    "calls_per_prompt": (2, 4),
    "tokens_per_prompt": (200, 400),
    "gain_per_call": (0.6 / 6, 0.4 / 12),
    "gain_per_1000_tokens": (0.6 / 0.6, 0.4 / 1.2),
}


def line(prompt, best, answers, **more):
    """Make a line of the table worked by hand."""
    tokens = {"input_tokens": 90 * answers, "output_tokens": 10 * answers}
    return {
        "prompt_id": prompt,
        "ids": ["a", "b"],
        "best": best,
        "answers": answers,
        "from_ledger": 0,
        **tokens,
        **more,
    }


def both(tmp_path, first, second):
    """Write two sets of picks and return their paths."""
    return logged(tmp_path / "a.jsonl", first), logged(tmp_path / "b.jsonl", second)


def judged(tmp_path, n=120):
    """Return greedy picks by two judges, their table, and the labels."""
    frame = two_judges(n)
    lines = [[one | SPENT for one in greedy_lines(frame[frame["judge"] == name])] for name in ("first", "second")]
    return both(tmp_path, *lines), frame, labels_of(frame[frame["judge"] == "first"])


def test_a_small_table_is_that_worked_by_hand(tmp_path):
    """Worth, calls, tokens and gain per unit of cost are those of the comment above."""
    paths = both(
        tmp_path,
        [line("p", "a", 2), line("q", "b", 2), line("r", "b", 2)],
        [line("p", "a", 4), line("q", "a", 2), line("r", "a", 6)],
    )
    found = compare(*paths, labels=HAND_LABELS)
    for name, (first, second) in BY_HAND.items():
        for side, value in ((found.first, first), (found.second, second)):
            e = side.metrics[name]
            assert e.estimate == (pytest.approx(value) if e.reason is None or e.estimate is not None else None), name
    assert found.differences["gain"].estimate == pytest.approx(0.2 / 3)
    assert (found.first.calls, found.first.tokens, found.second.calls, found.second.tokens) == (6, 600, 12, 1200)


def test_differences_are_those_of_the_two_score_audits(tmp_path):
    """Greedy picks by two judges differ as the judges do, paired by prompt, intervals too."""
    paths, frame, labels = judged(tmp_path)
    found, scored = compare(*paths, labels=labels), audit(frame)
    expected = scored.comparisons[0].differences
    for name in (one for one in OF_PICKS if one not in ("value_random", "value_oracle")):
        one, other = found.differences[name], expected[name]
        pairs = zip((one.estimate, one.low, one.high), (other.estimate, other.low, other.high), strict=True)
        assert all(a == pytest.approx(b, abs=1e-12) for a, b in pairs), name
        assert found.first.metrics[name].estimate == pytest.approx(scored.judges["first"].metrics[name].estimate)
    assert found.differences["calls_per_prompt"].estimate == 0


def test_the_document_is_strict_json_and_the_text_names_every_measure(tmp_path):
    """The document holds no NaN, and the page has a row for each metric."""
    paths, _, labels = judged(tmp_path)
    found = compare(*paths, labels=labels)
    document = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert document["schema"] == "bonwise.compare/1"
    assert document["first"]["metrics"].keys() == document["differences"].keys()
    assert all(name in found.to_text(full=True) for name in document["differences"])


def test_what_the_pools_alone_decide_differs_by_nothing(tmp_path):
    """Random and perfect picks of the same pools differ by exactly 0, without an interval, and the text says why."""
    paths, _, labels = judged(tmp_path)
    found = compare(*paths, labels=labels)
    for name in ("value_random", "value_oracle"):
        e = found.differences[name]
        assert (e.estimate, e.low, e.high, e.interval, e.reason) == (0.0, None, None, None, "the same pools")
        assert e.n == found.prompts
    assert "value_random, value_oracle: no interval of the difference: the same pools" in found.to_text(full=True)


def test_a_file_differs_from_itself_by_nothing(tmp_path):
    """Picks that are alike on every prompt differ by 0 in all that depends on them, and no bound is put around it."""
    (first, _), _, labels = judged(tmp_path, n=20)
    found = compare(first, first, labels=labels)
    for name in OF_PICKS:
        e = found.differences[name]
        assert (e.estimate, e.low, e.high, e.se) == (0.0, None, None, None), name
    assert found.differences["recovery"].reason == SAME_PICKS
    assert f"gain, recovery, top1_accuracy, hit_rate: no interval of the difference: {SAME_PICKS}" in " ".join(
        found.to_text(full=True).split()
    )


def test_other_picks_of_the_same_worth_keep_their_interval(tmp_path):
    """Two candidates labelled alike are two picks: a prompt not seen might tell them apart."""
    labels = pd.DataFrame(
        {"prompt_id": list("pppqqq"), "candidate": list("abcabc"), "oracle_label": [1, 1, 0, 1, 1, 0]}
    )
    first, second = (
        [{"prompt_id": prompt, "ids": ["a", "b", "c"], "best": best, **SPENT} for prompt in "pq"] for best in "ab"
    )
    found = compare(*both(tmp_path, first, second), labels=labels)
    e = found.differences["value_judge"]
    assert (e.estimate, e.interval) == (0.0, "exact")
    assert e.low < 0 < e.high


def test_labels_may_be_lower_is_better(tmp_path):
    """Both sets are worth what they are by the labels turned round, and the settings and the text say so."""
    paths, _, labels = judged(tmp_path)
    errors = labels.assign(errors=1 - labels["oracle_label"]).drop(columns="oracle_label")
    turned = compare(*paths, labels=errors, columns={"oracle_label": "errors"}, lower_is_better="errors")
    plain = compare(*paths, labels=labels)
    for name in ("recovery", "gain", "top1_accuracy"):
        for one, other in ((turned.first, plain.first), (turned.second, plain.second)):
            assert one.metrics[name].estimate == pytest.approx(other.metrics[name].estimate), name
    assert turned.settings.lower_is_better == ["errors"]
    assert "lower is better (errors): reversed" in str(turned)


def test_one_prompt_is_in_the_singular(tmp_path):
    """The short form counts the prompts."""
    rows = [line("p", "a", 2)]
    assert repr(compare(*both(tmp_path, rows, rows), labels=HAND_LABELS)).endswith("on 1 prompt>")


def test_every_interval_says_whose_it_is(tmp_path):
    """The heads of the table tell the intervals of the first, of the second and of their difference apart."""
    paths, _, labels = judged(tmp_path)
    text = str(compare(*paths, labels=labels))
    heads = next(one for one in text.splitlines() if "metric" in one)
    assert heads.index("[first]") < heads.index("[second]") < heads.index("[first - second]")


def test_prompts_of_one_file_only_are_named(tmp_path):
    """Prompts that one file lacks are listed on the other's side; what cannot be compared has its reason."""
    frame = cohort(60)
    lines = greedy_lines(frame)
    prompts = [one["prompt_id"] for one in lines]
    second = [dict(one) for one in lines[1:]]
    second[0] |= {"best": None, "level": [], "decided_by": "owed"}
    found = compare(*both(tmp_path, lines[:-2], second), labels=labels_of(frame))
    assert (found.first.only_here, found.second.only_here) == ([prompts[0]], prompts[-2:])
    (dropped,) = found.dropped
    assert dropped.prompt_id == prompts[1]
    assert dropped.reason.startswith("nothing picked: owed")
    assert "b.jsonl" in dropped.reason
    assert found.prompts == 56


def test_other_candidates_are_no_pair(tmp_path):
    """A prompt whose pools differ is dropped with that reason."""
    labels = HAND_LABELS
    first = [line("p", "a", 1), line("q", "a", 1), line("r", "a", 1)]
    second = [line("p", "a", 1), line("q", "a", 1), line("r", "a", 1) | {"ids": ["a"]}]
    found = compare(*both(tmp_path, first, second), labels=labels, shape="ragged")
    assert [one.prompt_id for one in found.dropped] == ["r"]
    assert found.prompts == 2


def test_tokens_of_answers_from_a_ledger_are_unknown_unless_said(tmp_path):
    """Where a ledger answered and the line does not say its tokens, what a token brings is null with that reason."""
    first = [line("p", "a", 2), line("q", "b", 2), line("r", "b", 2, from_ledger=1)]
    second = [line("p", "a", 2), line("q", "b", 2), line("r", "b", 2, from_ledger=1, reused_tokens=100)]
    found = compare(*both(tmp_path, first, second), labels=HAND_LABELS)
    assert "ledger" in found.first.metrics["tokens_per_prompt"].reason
    assert found.first.tokens is None
    assert found.second.tokens == 700
    assert found.differences["gain_per_1000_tokens"].reason == found.first.metrics["tokens_per_prompt"].reason
    assert found.differences["calls_per_prompt"].estimate == 0


def test_files_without_a_prompt_in_common_are_refused(tmp_path):
    """Nothing to compare is an error."""
    with pytest.raises(InputError, match="no prompt with a pick in both files"):
        compare(*both(tmp_path, [line("p", "a", 1), line("q", "a", 1)], [line("r", "a", 1)]), labels=HAND_LABELS)


SCORES = scored([[0.9, 0.1], [0.2, 0.2], [0.3, 0.8]] * 12, [[1, 0], [0.4, 0.6], [0.9, 0.1]] * 12)


def picks(path, at, prompts=36, **spent):
    """Write picks of one candidate of every pool, with what they took where that is given."""
    line = {"ids": ["c0", "c1"], "best": f"c{at}", "level": [], **spent}
    path.write_text("".join(json.dumps({"prompt_id": f"p{x:03d}", **line}) + "\n" for x in range(prompts)), "utf-8")
    return path


def result(folder, prompts=36, names=("a.jsonl", "b.jsonl")):
    """Compare the first candidates with the second ones, one prompt less; labels may end before the picks."""
    keys = ("prompt_id", "candidate", "oracle_label")
    labels = written(folder / "labels.csv", [{key: row[key] for key in keys} for row in SCORES[: 2 * prompts]])
    spent = {"answers": 2, "from_ledger": 0, "output_tokens": 20}
    first = picks(folder / names[0], 0, **spent, input_tokens=80)
    return compare(first, picks(folder / names[1], 1, 35, **spent, input_tokens=81), labels=labels)


@pytest.fixture
def document(tmp_path):
    """Return the document of a comparison."""
    return result(tmp_path)


def changed(document, change):
    """Return a document after its plain form was changed."""
    plain = copy.deepcopy(document.to_dict())
    change(plain)
    return PickComparison.model_validate(plain)


def test_what_is_written_is_read_back(tmp_path):
    """A document is read back with the frame of the result: a row per metric, both sides and the difference."""
    found = result(tmp_path)
    loaded = read_back(found, tmp_path)
    frame = loaded.to_frame()
    pd.testing.assert_frame_equal(frame, found.to_frame())
    gain = frame.set_index("metric").loc["gain"]
    assert gain["first"] - gain["second"] == pytest.approx(gain["difference"])
    assert (gain["difference_low"], gain["n"]) == (found.differences["gain"].low, 35)


def test_keys_that_say_nothing_are_absent(document):
    """Labels that were left out are a key where there are some; reasons are where figures are missing."""
    plain = document.to_dict()
    assert "labels_left_out" not in plain["settings"]
    assert "reason" not in plain["differences"]["gain"]
    assert plain["differences"]["value_random"]["reason"] == "the same pools"
    assert plain["first"]["only_here"] == ["p035"]


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        ("prompts", -1),
        ("first.calls", 1.5),
        ("first.picks", ...),
        ("second.metrics.gain.estimate", "0.5"),
        ("second.only_here", "p1"),
        ("differences.gain.n", None),
        ("dropped", {}),
        ("settings.confidence", 95.0),
        ("settings.shape", "round"),
        ("settings.more", 1),
    ],
)
def test_what_cannot_be_is_refused(tmp_path, document, keys, value):
    """A value of another kind, a missing key and an unknown one are refused by their name."""
    assert keys in refusal(document, tmp_path, keys, value)


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ("differences.hit_rate", "differences lacks hit_rate"),
        ("first.metrics.gain", "gain is in one of first.metrics and differences"),
        ("second.metrics.calls_per_prompt", "calls_per_prompt is in one of second.metrics"),
    ],
)
def test_a_metric_stands_on_both_sides_and_as_a_difference(tmp_path, document, keys, said):
    """A metric that one of the three lacks is named."""
    assert said in refusal(document, tmp_path, keys, ...)


@pytest.fixture
def document_of_view(tmp_path):
    """Return a comparison of two files in one folder."""
    return result(tmp_path)


def findings(document):
    """Return the sentences that only a page has, and its drawings."""
    (part,) = (one for one in describe(document).blocks if getattr(one, "title", "") == "First minus second")
    return [one.text for one in part.blocks if hasattr(one, "text")], [
        one for one in part.blocks if hasattr(one, "says")
    ]


def test_sentences_and_captions_carry_the_figures(document_of_view):
    """The differences come first on a page, with their intervals, in words and in the caption of the forest."""
    gain = document_of_view.differences["gain"]
    size, ends = estimate(gain), interval(gain, sign=True)
    sentences, (_, drawn, _) = findings(document_of_view)
    (said,) = (one for one in sentences if one.startswith("Gain"))
    assert f"the first has {size} more, and the interval of the difference {ends} excludes 0" in said
    assert f"gain +{size} {ends}" in drawn.says
    (tokens,) = (one for one in sentences if one.startswith("Tokens per prompt"))
    assert "first 100, second 101; the first has 1.00 less (no interval)" in tokens
    shown = words(page(document_of_view))
    assert shown.index(said) < shown.index("Worth and cost of both, and their differences")
    assert said not in " ".join(text(document_of_view).split())


@pytest.mark.parametrize(
    ("ends", "word", "said"),
    [
        ((0.2, 0.1, 0.3), "the first is better", "The first set of picks is better: recovery is"),
        ((-0.2, -0.3, -0.1), "the second is better", "The second set of picks is better: recovery is"),
        ((0.2, -0.1, 0.5), "no difference shown", "Neither set of picks is shown to be better: recovery is"),
        ((0.2, None, None), "no interval", "The difference has no interval: recovery is"),
        ((None, None, None), "the first is better", "The first set of picks is better: gain is"),
    ],
)
def test_the_answer_comes_first(document_of_view, ends, word, said):
    """The terminal begins with which picks are better, by the interval of the difference; pages hold it too."""
    found = dict(zip(("estimate", "low", "high"), ends, strict=True))
    one = changed(document_of_view, lambda plain: plain["differences"]["recovery"].update(found))
    first, lead, *others = text(one).splitlines()
    assert first == f"Verdict: {word}"
    assert lead.startswith(said)
    assert any(line.startswith("Picks of ") for line in others)
    for shown in (words(page(one)), markdown(one)):
        assert said in shown


def test_nothing_that_the_text_says_is_left_out(document_of_view):
    """Every word of the text is on the page, and what the other file lacks is counted."""
    assert not lost(document_of_view)
    assert "1 only in " in text(document_of_view)
    assert "35 prompts in both; in brackets 95% intervals, paired by prompt" in text(document_of_view)


def test_one_figure_has_the_same_digits_wherever_it_stands(document_of_view):
    """Sentence, caption, drawing and table write estimate and interval alike, with as many decimals each."""
    ends = {"estimate": 0.02772, "low": -0.07458, "high": 0.302}
    one = changed(document_of_view, lambda plain: plain["differences"]["recovery"].update(ends))
    sentences, (shares, *_) = findings(one)
    (sentence,) = (said for said in sentences if said.startswith("Recovery"))
    assert "the first has 3 points more, and the interval of the difference [-7, +30] holds 0" in sentence
    for shown in (shares.says, svg(shares)):
        assert "+3 points [-7, +30]" in shown
    assert [cell.strip() for cell in row_of(markdown(one), "recovery")[-2:]] == ["+3 points", "\\[-7, +30\\]"]
    assert shares.to_frame().set_index("row").loc["recovery"].tolist() == list(ends.values())


def row_of(said, metric):
    """Return the cells of a metric in Markdown."""
    (line,) = (line for line in said.splitlines() if line.startswith(f"| {metric} |"))
    return line.strip("|").split("|")


def test_a_difference_of_nothing_is_said(document_of_view):
    """No difference, none that could be computed, and a smaller first each have words of their own."""

    def said(**ends):
        one = changed(document_of_view, lambda plain: plain["differences"]["gain"].update(ends))
        return next(sentence for sentence in findings(one)[0] if sentence.startswith("Gain"))

    assert "; they do not differ (no interval)." in said(estimate=0.0, low=None, high=None)
    assert "; no difference can be computed." in said(estimate=None, low=None, high=None)
    assert "the first has 0.50 less, and the interval of the difference [-0.60, -0.40] excludes 0" in said(
        estimate=-0.5, low=-0.6, high=-0.4
    )


def test_drawings_name_files_not_folders(document_of_view):
    """Below long folders the files are told apart: by name in the drawing, whole or cut in the middle in words."""

    def change(plain):
        for side, name in (("first", "greedy"), ("second", "adaptive")):
            plain[side]["source"] = f"{'folder/' * 30}picks-{name}.jsonl"

    sentences, drawings = findings(changed(document_of_view, change))
    names = drawings[-1].to_frame()["row"].tolist()
    assert names == ["random pick", "first: picks-greedy.jsonl", "second: picks-adaptive.jsonl", "best candidate"]
    assert "picks-greedy.jsonl. Second: folder/" in sentences[0]


def test_reasons_are_said_once(document_of_view):
    """Why figures or intervals are missing stands below the table, with the metrics that lack them."""

    def change(plain):
        for side in ("first", "second"):
            plain[side]["metrics"]["gain"]["reason"] = plain[side]["metrics"]["recovery"]["reason"] = "too few"
        plain["dropped"] = [{"prompt_id": f"p{at}", "reason": "other candidates"} for at in range(3)]
        plain["settings"]["labels_left_out"] = {"prompts": 3, "rows": 12}

    said = " ".join(text(changed(document_of_view, change), full=True).split())
    assert said.count("gain, recovery: too few") == 1
    assert "value_random, value_oracle: no interval of the difference: the same pools" in said
    assert "dropped 3 prompts: other candidates" in said
    assert "labels of 3 prompts that are not in the file left out (12 rows)" in said


def test_partly_labelled_figures_have_a_star(tmp_path):
    """Where prompts lack labels every row says that its figures are of the others."""
    partly = result(tmp_path, prompts=20)
    for said, below in ((text(partly, full=True), "Next:"), (text(partly), "More:")):
        assert "gain *" in said
        assert f"* from the completely labelled prompts alone\n{below}" in said


def test_names_stay_text(document_of_view):
    """Files, prompts and reasons are text wherever they are shown."""

    def change(plain):
        for side in ("first", "second"):
            plain[side] |= {"source": f"{HOSTILE}{side}", "only_here": [HOSTILE]}
        plain["dropped"] = [{"prompt_id": HOSTILE, "reason": HOSTILE}]

    harmless(changed(document_of_view, change))


# What texts leave out is counted with its noun: prompts are not pairs.


SIMULATION = simulate("arena", n=40, seed=2)


def test_prompts_and_pairs_left_out_are_told_apart():
    """One unlabelled prompt takes its six pairs along: each line says what it counts."""
    scores = SIMULATION.frame()
    scores.loc[0, "oracle_label"] = float("nan")
    text = str(bw.study_label_strategy(scores, verdicts=verdicts(SIMULATION)))
    assert "dropped 1 prompt: partly labelled" in text
    assert "left out 6 pairs: the prompt is not among those that are scored and labelled completely" in text
    assert re.search(r"left out [\d,]+:", text) is None


def test_calibration_counts_prompts():
    """One prompt is dropped, and two candidates have no score, in the singular and in the plural."""
    scores = SIMULATION.frame()
    scores.loc[0, "oracle_label"] = float("nan")
    scores.loc[[4, 8], "judge_score"] = float("nan")
    text = str(bw.study_calibration(scores))
    assert "dropped 1 prompt: partly labelled" in text
    assert "2 candidates without a score: no reason given" in text


def test_a_comparison_of_picks_counts_prompts(tmp_path):
    """Two prompts on which the files name different candidates are two prompts, one whose pick failed is one."""
    frame = cohort(n=120)
    mine = greedy_lines(frame)
    theirs = [dict(one) for one in mine]
    for at in (0, 1):
        theirs[at]["ids"] = [*theirs[at]["ids"][:-1], "other"]
    paths = [logged(tmp_path / f"{name}.jsonl", lines) for name, lines in (("a", mine), ("b", theirs))]
    text = str(compare(*paths, labels=labels_of(frame)))
    assert "dropped 2 prompts: the two files name different candidates" in text
    theirs[1] = mine[1]
    logged(paths[1], theirs)
    text = str(compare(*paths, labels=labels_of(frame)))
    assert "dropped 1 prompt: the two files name different candidates" in text
