from __future__ import annotations

import pytest

from bonwise.report.numbers import estimate, interval
from bonwise.report.show import describe, markdown, page, text
from documents.test_compare import changed, result
from report.described.readers import HOSTILE, harmless, lost, words
from report.figures.painted import svg


@pytest.fixture
def document(tmp_path):
    """Return a comparison of two files in one folder."""
    return result(tmp_path)


def findings(document):
    """Return the sentences that only a page has, and its drawings."""
    (part,) = (one for one in describe(document).blocks if getattr(one, "title", "") == "First minus second")
    return [one.text for one in part.blocks if hasattr(one, "text")], [
        one for one in part.blocks if hasattr(one, "says")
    ]


def test_sentences_and_captions_carry_the_figures(document):
    """The differences come first on a page, with their intervals, in words and in the caption of the forest."""
    gain = document.differences["gain"]
    size, ends = estimate(gain), interval(gain, sign=True)
    sentences, (_, drawn, _) = findings(document)
    (said,) = (one for one in sentences if one.startswith("Gain"))
    assert f"the first has {size} more, and the interval of the difference {ends} excludes 0" in said
    assert f"gain +{size} {ends}" in drawn.says
    (tokens,) = (one for one in sentences if one.startswith("Tokens per prompt"))
    assert "first 100, second 101; the first has 1.00 less (no interval)" in tokens
    shown = words(page(document))
    assert shown.index(said) < shown.index("first - second")
    assert said not in " ".join(text(document).split())


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
def test_the_answer_comes_first(document, ends, word, said):
    """The terminal begins with which picks are better, by the interval of the difference; pages hold it too."""
    found = dict(zip(("estimate", "low", "high"), ends, strict=True))
    one = changed(document, lambda plain: plain["differences"]["recovery"].update(found))
    first, lead, *others = text(one).splitlines()
    assert first == f"Verdict: {word}"
    assert lead.startswith(said)
    assert any(line.startswith("Picks of ") for line in others)
    for shown in (words(page(one)), markdown(one)):
        assert said in shown


def test_nothing_that_the_text_says_is_left_out(document):
    """Every word of the text is on the page, and what the other file lacks is counted."""
    assert not lost(document)
    assert "1 only in " in text(document)
    assert "35 prompts in both; in brackets 95% intervals, paired by prompt" in text(document)


def test_one_figure_has_the_same_digits_wherever_it_stands(document):
    """Sentence, caption, drawing and table write estimate and interval alike, with as many decimals each."""
    ends = {"estimate": 0.02772, "low": -0.07458, "high": 0.302}
    one = changed(document, lambda plain: plain["differences"]["recovery"].update(ends))
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


def test_a_difference_of_nothing_is_said(document):
    """No difference, none that could be computed, and a smaller first each have words of their own."""

    def said(**ends):
        one = changed(document, lambda plain: plain["differences"]["gain"].update(ends))
        return next(sentence for sentence in findings(one)[0] if sentence.startswith("Gain"))

    assert "; they do not differ (no interval)." in said(estimate=0.0, low=None, high=None)
    assert "; no difference can be computed." in said(estimate=None, low=None, high=None)
    assert "the first has 0.50 less, and the interval of the difference [-0.60, -0.40] excludes 0" in said(
        estimate=-0.5, low=-0.6, high=-0.4
    )


def test_drawings_name_files_not_folders(document):
    """Below long folders the files are told apart: by name in the drawing, whole or cut in the middle in words."""

    def change(plain):
        for side, name in (("first", "greedy"), ("second", "adaptive")):
            plain[side]["source"] = f"{'folder/' * 30}picks-{name}.jsonl"

    sentences, drawings = findings(changed(document, change))
    names = drawings[-1].to_frame()["row"].tolist()
    assert names == ["random pick", "first: picks-greedy.jsonl", "second: picks-adaptive.jsonl", "best candidate"]
    assert "picks-greedy.jsonl. Second: folder/" in sentences[0]


def test_reasons_are_said_once(document):
    """Why figures or intervals are missing stands below the table, with the metrics that lack them."""

    def change(plain):
        for side in ("first", "second"):
            plain[side]["metrics"]["gain"]["reason"] = plain[side]["metrics"]["recovery"]["reason"] = "too few"
        plain["dropped"] = [{"prompt_id": f"p{at}", "reason": "other candidates"} for at in range(3)]
        plain["settings"]["labels_left_out"] = {"prompts": 3, "rows": 12}

    said = " ".join(text(changed(document, change)).split())
    assert said.count("gain, recovery: too few") == 1
    assert "value_random, value_oracle: no interval of the difference: the same pools" in said
    assert "dropped 3 prompts: other candidates" in said
    assert "labels of 3 prompts that are not in the file left out (12 rows)" in said


def test_partly_labelled_figures_have_a_star(tmp_path):
    """Where prompts lack labels every row says that its figures are of the others."""
    said = text(result(tmp_path, prompts=20))
    assert "gain *" in said
    assert "* from the completely labelled prompts alone\nNext:\n" in said


def test_names_stay_text(document):
    """Files, prompts and reasons are text wherever they are shown."""

    def change(plain):
        for side in ("first", "second"):
            plain[side] |= {"source": f"{HOSTILE}{side}", "only_here": [HOSTILE]}
        plain["dropped"] = [{"prompt_id": HOSTILE, "reason": HOSTILE}]

    harmless(changed(document, change))
