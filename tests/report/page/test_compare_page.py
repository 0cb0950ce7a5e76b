import json
import re

import pytest

from bonwise.auditing.compare import compare
from bonwise.report.compare_text import compare_text
from bonwise.report.digits import estimate_and_ends
from bonwise.report.page.compare_page import compare_sections
from bonwise.report.page.pages import page
from cli.commands import scored, written

DIGITS = re.compile(r"-?[\d,]+\.\d+")
SCORES = scored([[0.9, 0.1], [0.2, 0.2], [0.3, 0.8]] * 12, [[1, 0], [0.4, 0.6], [0.9, 0.1]] * 12)


def picks(path, at, prompts=36):
    """Write picks of one candidate of every pool."""
    spent = {"answers": 2, "from_ledger": 0, "input_tokens": 80 + at, "output_tokens": 20}
    lines = [
        json.dumps({"prompt_id": f"p{x:03d}", "ids": ["c0", "c1"], "best": f"c{at}", "level": [], **spent}) + "\n"
        for x in range(prompts)
    ]
    path.write_text("".join(lines), "utf-8")
    return path


@pytest.fixture
def compared(tmp_path):
    """Compare the first candidates with the second ones, one prompt less."""
    keys = ("prompt_id", "candidate", "oracle_label")
    labels = written(tmp_path / "labels.csv", [{key: row[key] for key in keys} for row in SCORES])
    return compare(picks(tmp_path / "a<b>.jsonl", 0), picks(tmp_path / "b.jsonl", 1, 35), labels=labels)


def test_sentences_and_captions_carry_the_figures(compared):
    """The differences stand first, with their intervals, in words and in the caption of the forest."""
    document = compared.to_dict()
    differences, _ = compare_sections(document)
    gain = document["differences"]["gain"]
    size, text = estimate_and_ends(gain)
    said = next(one for one in differences.sentences if one.startswith("Gain"))
    assert f"the first has {size} more, and the interval of the difference {text} excludes 0" in said
    assert f"gain {size} {text}" in differences.figures[1].says
    tokens = next(one for one in differences.sentences if one.startswith("Tokens a prompt"))
    assert "first 100.0, second 101.0; the first has 1.000 less (no interval)" in tokens


def test_nothing_that_the_text_says_is_left_out(compared):
    """Every line below the title is on the page: as a sentence, a row of the table or a note; digits may be more."""
    document = compared.to_dict()
    for side in ("first", "second"):
        document[side]["source"] = f"{side}.jsonl"  # the folder of the test is long, and makes a title of two lines
    sections = compare_sections(document)
    said = {line for one in sections for line in (*one.sentences, *one.notes)}
    cells = {cell for one in sections for table in one.tables for row in [table.headers, *table.rows] for cell in row}
    figures = {float(one.replace(",", "")) for cell in cells for one in DIGITS.findall(cell)}
    for word in compare_text(document).replace("─", "").split("\n", 1)[1].split():
        if DIGITS.fullmatch(shown := word.strip("[],").replace(",", "")):
            assert min(abs(float(shown) - figure) for figure in figures) < 0.00051, word
        else:
            assert any(word in line for line in said | cells), word
    assert any(line.startswith("1 only in") for line in said)


def test_one_figure_has_the_same_digits_wherever_it_stands(compared):
    """Sentence, caption, drawing and table write estimate and interval alike, with as many decimals each."""
    document = compared.to_dict()
    document["differences"]["recovery"] |= {"estimate": 0.02772, "low": -0.07458, "high": 0.302}
    differences, sides = compare_sections(document)
    (sentence,) = (one for one in differences.sentences if one.startswith("Recovery"))
    (row,) = (row for row in sides.tables[0].rows if row[0] == "recovery")
    assert "the first has 0.028 more, and the interval of the difference [-0.075, 0.302] holds 0" in sentence
    assert list(row[-2:]) == ["0.028", "[-0.075, 0.302]"]
    for text in (differences.figures[0].says, differences.figures[0].svg):
        assert "0.028 [-0.075, 0.302]" in text
    assert {len(row) for row in sides.tables[0].rows} == {len(sides.tables[0].headers)}


def test_drawings_name_files_not_folders(compared):
    """Below long folders the files are told apart: by name in the drawing, whole or cut in the middle in words."""
    document = compared.to_dict()
    for side, name in (("first", "greedy"), ("second", "adaptive")):
        document[side]["source"] = f"{'folder/' * 30}picks-{name}.jsonl"
    differences, _ = compare_sections(document)
    assert ">first: picks-greedy.jsonl<" in differences.figures[-1].svg
    assert ">second: picks-adaptive.jsonl<" in differences.figures[-1].svg
    assert "picks-greedy.jsonl. Second: folder/" in differences.sentences[0]


def test_the_page_is_written_and_shown_in_notebooks(compared, tmp_path):
    """The file is the page of the document; a notebook gets the findings; names of files make no markup."""
    compared.to_html(tmp_path / "compare.html")
    text = (tmp_path / "compare.html").read_text("utf-8")
    assert text == page(compared.to_dict())
    assert "a&lt;b&gt;.jsonl" in text
    assert "a<b>" not in text
    assert "Gain" in compared._repr_html_()
