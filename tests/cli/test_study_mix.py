from __future__ import annotations

import pytest

from cli.commands import CONTROL, scored, strict, typed, written

SCORES = scored(
    [[0.9, 0.8, 0.1], [0.2, 0.2, 0.0], [0.3, 0.8, 0.1]] * 12, [[1, 0.7, 0], [0.4, 0.6, 0.1], [0.9, 0.5, 0.2]] * 12
)


@pytest.fixture
def scores(tmp_path):
    """Write pools whose third candidate is easy to tell apart."""
    return written(tmp_path / "scores.csv", SCORES)


def test_the_study_prints_its_findings_and_writes_its_document(scores, tmp_path, capsys):
    """The curve goes to standard output, the document to a file, the same sentences in both."""
    done = typed(capsys, "study", "mix", scores, "--control", "c2", "--json", tmp_path / "mix.json")
    assert done.code == 0, done.err
    document = strict((tmp_path / "mix.json").read_text("utf-8"))
    assert document["study"] == "mix"
    for sentence in document["judges"]["j"]["sentences"]:
        assert " ".join(sentence.split()[:4]) in " ".join(done.out.split())
    assert "easy pairs alone" in done.out
    assert not CONTROL.search(done.out)


def test_the_study_writes_its_page(scores, tmp_path, capsys):
    """With --html the study is a page that holds its drawings and findings."""
    done = typed(capsys, "study", "mix", scores, "--control", "c2", "--html", tmp_path / "mix.html")
    assert done.code == 0, done.err
    text = (tmp_path / "mix.html").read_text("utf-8")
    assert "Agreement by the share of easy pairs" in text
    assert text.count("<svg") == 2


def test_without_a_control_the_hint_names_the_flag(scores, capsys):
    """The command refuses to guess which candidate is the easy one."""
    done = typed(capsys, "study", "mix", scores)
    assert done.code == 2
    assert "--control; the candidates are c0, c1, c2" in done.err


def test_the_input_is_not_overwritten(scores, capsys):
    """A page that would replace the scores is refused."""
    done = typed(capsys, "study", "mix", scores, "--control", "c2", "--html", scores)
    assert (done.code, "read or written already" in done.err) == (2, True)
