from __future__ import annotations

import json
from pathlib import Path

import pytest

from bonwise.judges.prompt_loading import builtin_names, load, prompts_folder
from cli.commands import CONTROL, typed

HOSTILE = "a\x1b[31mb\u202ec\x07"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Work in a folder with a good prompt file, two bad ones and a file of pools."""
    monkeypatch.chdir(tmp_path)
    text = (prompts_folder() / "pointwise.md").read_text("utf-8")
    for name, content in {
        "good.md": text,
        "tab.md": text.replace("[user]\n", f"[user]\n\t{HOSTILE}\n"),
        "bad.md": text.replace("version = 1", f'version = "{HOSTILE}"'.replace("\x1b", "\\u001b").replace("\a", "")),
        "worse.md": text.replace("{{prompt}}", "{{task}}").replace("version = 1", "version = 0"),
    }.items():
        Path(name).write_text(content, encoding="utf-8")
    pools = [
        {
            "prompt_id": "p1",
            "prompt": "Name a colour",
            "candidates": ["red", {"id": "b", "text": "the colour green"}],
        },
        {
            "prompt_id": HOSTILE,
            "prompt": HOSTILE,
            "candidates": [{"id": HOSTILE, "text": f"x\n{HOSTILE}" + "y" * 70_000}],
        },
    ]
    Path("pools.jsonl").write_text("".join(json.dumps(pool) + "\n" for pool in pools), encoding="utf-8")


def test_the_list_names_every_prompt(capsys):
    """Each built-in prompt has one line with its name, version, mode, digest and description."""
    done = typed(capsys, "prompts", "list")
    assert (done.code, done.err) == (0, "")
    head, *lines = done.out.splitlines()
    assert head.split() == ["name", "version", "mode", "digest", "description"]
    files = [load(name) for name in builtin_names()]
    assert [line.split(maxsplit=4) for line in lines] == [
        [one.name, str(one.version), one.mode, one.digest, one.description] for one in files
    ]


@pytest.mark.parametrize("name", builtin_names())
def test_a_built_in_is_shown_as_it_is(capsys, name):
    """A built-in prompt can be copied by redirecting what is shown: the bytes are those of the file."""
    done = typed(capsys, "prompts", "show", name)
    assert (done.code, done.err) == (0, "")
    assert done.out.encode() == (prompts_folder() / f"{name}.md").read_bytes()


def test_a_file_is_shown_without_its_control_characters(capsys, folder):
    """What a terminal would obey is written out, a tab stays."""
    done = typed(capsys, "prompts", "show", "tab.md")
    assert done.code == 0
    assert "\ta\\x1b[31mb\\u202ec\\x07\n" in done.out
    assert not CONTROL.search(done.out.replace("\t", ""))


def test_a_call_is_shown_word_by_word(capsys, folder):
    """The two parts of a call stand as they are sent, with the candidates in the order named."""
    call = ("--pools", "pools.jsonl", "--prompt-id", "p1")
    file = load("pairwise")
    for flags, texts in (((), ["red", "the colour green"]), (("b", "c0"), ["the colour green", "red"])):
        done = typed(
            capsys, "prompts", "show", "pairwise", *call, *[word for name in flags for word in ("--candidate", name)]
        )
        rendered = file.render("Name a colour", texts)
        assert done.code == 0
        assert done.out == f"[system]\n{rendered.system}\n\n[user]\n{rendered.user}\n"
        assert done.err == f"bonwise: {file.identity} on pool p1, candidates {', '.join(flags or ('c0', 'b'))}\n"


def test_a_hostile_call_is_shown_printable(capsys, folder):
    """Control characters of ids and texts reach neither stream, and a shortened text is counted."""
    done = typed(capsys, "prompts", "show", "pointwise", "--pools", "pools.jsonl", "--prompt-id", HOSTILE)
    assert done.code == 0
    assert "\nx\na\\x1b[31mb\\u202ec\\x07yyy" in done.out
    assert done.err.endswith(", 1 texts shortened\n")
    assert not CONTROL.search(done.out + done.err)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("show", "nope"), "no built-in prompt is called 'nope'"),
        (("show", "nope.md"), "nope.md: no such file"),
        (("show", "a\0b"), "no such file"),
        (("show", "bad.md"), "bad.md, line 3: version is"),
        (("show", "pointwise", "--pools", "pools.jsonl"), "--pools and --prompt-id belong together"),
        (("show", "pointwise", "--prompt-id", "p1"), "--pools and --prompt-id belong together"),
        (("show", "pointwise", "--candidate", "b"), "--candidate names a candidate of a pool"),
        (("show", "pointwise", "--pools", "pools.jsonl", "--prompt-id", "p9"), "pools.jsonl has no pool 'p9'"),
        (
            ("show", "pointwise", "--pools", "pools.jsonl", "--prompt-id", "p1", "--candidate", "z"),
            "pool 'p1' has no candidate 'z' (choose among c0, b)",
        ),
        (
            ("show", "pairwise", "--pools", "pools.jsonl", "--prompt-id", "p1", "--candidate", "b"),
            "mode pairwise judges 2 at a time, not 1 candidates",
        ),
        (("check",), "Missing argument"),
        ((), "Missing command"),
    ],
)
def test_bad_usage_is_one_line(capsys, folder, words, said):
    """What cannot be shown ends with exit code 2 and one line on standard error."""
    done = typed(capsys, "prompts", *words)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert done.err.count("\n") == 1
    assert not CONTROL.search(done.err)


def test_files_in_order_check_clean(capsys, folder):
    """Good files leave standard output empty and end with exit code 0."""
    done = typed(capsys, "prompts", "check", "good.md", *sorted(prompts_folder().glob("*.md")))
    assert (done.code, done.out) == (0, "")
    assert done.err == f"bonwise: {len(builtin_names()) + 1} files, 0 of them not in order\n"


def test_each_problem_is_one_line(capsys, folder):
    """Every problem of every file is one line with file, line number and remedy; the exit code is 2."""
    done = typed(capsys, "prompts", "check", "good.md", "bad.md", "worse.md", "absent.md")
    assert done.code == 2
    lines = done.out.splitlines()
    assert [line.split(": ")[0] for line in lines[:3]] == ["bad.md, line 3", "worse.md, line 3", "worse.md, line 49"]
    assert lines[-1] == "absent.md: no such file (check the path)"
    assert all(line.endswith(")") for line in lines)
    assert done.err == "bonwise: 4 files, 3 of them not in order\n"
    assert not CONTROL.search(done.out)
