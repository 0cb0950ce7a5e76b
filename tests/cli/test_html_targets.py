from __future__ import annotations

from bonwise.testing import simulate
from cli.commands import typed
from docs.stock import write_picks


def stocked(folder):
    """Write scores with labels, and two files of picks of them."""
    drawn = simulate("pilot", n=40, seed=5)
    table = drawn.frame()
    table.to_csv(folder / "scores.csv", index=False)
    ids = list(dict.fromkeys(table["prompt_id"]))
    write_picks(folder / "a.jsonl", ids, drawn.draws[:, :, 0])
    write_picks(folder / "b.jsonl", ids, drawn.draws[:, :, :3].mean(axis=2))
    return {
        "compare": (folder / "a.jsonl", folder / "b.jsonl", "--labels", folder / "scores.csv"),
        "plan": ("--question", "recovery>0", "--pilot", folder / "scores.csv"),
        "route": (folder / "scores.csv",),
    }


def test_a_page_is_written_beside_the_text(tmp_path, capsys):
    """With --html each command writes a whole page, the same for the same input, and prints as before."""
    for name, arguments in stocked(tmp_path).items():
        target = tmp_path / f"{name}.html"
        done = typed(capsys, name, *arguments, "--html", target)
        first = target.read_bytes()
        assert (done.code, first.lower().startswith(b"<!doctype html>"), b"<svg" in first) == (0, True, True)
        assert typed(capsys, name, *arguments, "--html", target).out == done.out
        assert target.read_bytes() == first


def test_a_page_replaces_no_input_and_no_other_output(tmp_path, capsys):
    """A page that would overwrite the scores, or the JSON, is refused, and nothing is written there."""
    for name, arguments in stocked(tmp_path).items():
        source = next(one for one in arguments if str(one).endswith(("csv", "jsonl")))
        before = source.read_bytes()
        for flags in (("--html", source), ("--json", tmp_path / "x", "--html", tmp_path / "x")):
            done = typed(capsys, name, *arguments, *flags)
            assert (done.code, "is read or written already" in done.err) == (2, True)
        assert source.read_bytes() == before
        assert not (tmp_path / "x").exists()


def test_documentation_that_is_nowhere_is_refused_before_anything_is_done(tmp_path, capsys, monkeypatch):
    """A bad BONWISE_DOCS ends with exit code 2, one error and no page; without a page it does not matter."""
    monkeypatch.setenv("BONWISE_DOCS", "javascript:alert(1)")
    for name, arguments in stocked(tmp_path).items():
        done = typed(capsys, name, *arguments, "--html", tmp_path / "page.html")
        assert (done.code, done.out) == (2, "")
        assert "BONWISE_DOCS is neither an address nor a folder of a built site: javascript:alert(1)" in done.err
        assert not (tmp_path / "page.html").exists()
        assert typed(capsys, name, *arguments).code == 0
    # Before the input is read, too.
    assert "BONWISE_DOCS" in typed(capsys, "route", "nowhere.csv", "--html", tmp_path / "page.html").err
