"""Prompt files: what they may hold, what is sent, and the commands that show and check them."""

from __future__ import annotations

import json
import pickle
import re
from collections import Counter
from pathlib import Path

import pytest

from bonwise.calls.ask import Choice
from bonwise.errors import FileError, InputError, RowError, UsageError
from bonwise.judges.parse.readers import score
from bonwise.judges.prompt_loading import builtin_names, load, problems, prompt_path, prompts_folder
from bonwise.judges.prompt_sections import MODES
from cli.commands import CONTROL, typed

GOOD = """+++
name = "mine"
version = 2
mode = "pointwise"
variables = ["prompt", "candidate"]

[answer]
score = { type = "integer" }
+++

[system]
Reply with {"score": a whole number}.

[user]
The prompt:
{{prompt}}
The candidate:
{{candidate}}
"""

ANSWERS = {
    "pointwise": ["score", "why"],
    "pointwise-reason": ["reason", "score", "why"],
    "pairwise": ["choice", "confidence", "why"],
    "probability": ["probability", "why"],
    "interval": ["score", "low", "high", "why"],
    "logprob": None,
    "logprob-pairwise": None,
    "decision": None,
    "decision-pairwise": None,
    "listwise": ["scores", "why"],
    "listwise-ranking": ["ranking", "why"],
    "pairwise-persona": ["choice", "confidence", "why"],
    "checklist-draft": ["items", "why"],
    "checklist": ["marks", "why"],
    "published-pointwise": None,
    "published-pairwise": None,
    "published-probability": None,
    "published-interval": None,
    "rubric": ["follows", "correct", "clear", "brief", "why"],
}

PLAIN = """+++
name = "mine"
version = 1
mode = "pairwise"
reply = "plain"
variables = ["prompt", "candidate_a", "candidate_b"]

[answer]
choice = { type = "string", enum = ["A", "B", "TIE"] }
confidence = { type = "integer", enum = [1, 2, 3, 4, 5] }
+++

[system]
Say which is better, and how sure you are.

[user]
{{prompt}}
{{candidate_a}}
{{candidate_b}}
"""

TEXTS_OF_VERSIONS = {
    "checklist@1": "7bb8b594ea99",
    "checklist-draft@1": "938c57df7eff",
    "pairwise-persona@1": "94292354bcc0",
    "decision@1": "e95a99454f34",
    "decision-pairwise@1": "96c7355ab62c",
    "interval@2": "87f0c4288340",
    "listwise@1": "1b2bbb8d26e1",
    "listwise-ranking@1": "9b89b21c1436",
    "rubric@1": "12904c686499",
    "logprob@1": "e9bdb32cd943",
    "logprob-pairwise@1": "563016c42139",
    "pairwise@2": "08fe522b44c5",
    "pointwise@2": "7d972bd14189",
    "pointwise-reason@2": "38cb74379314",
    "probability@2": "29bf46cfe8be",
    "published-interval@1": "d385f56a27a4",
    "published-pairwise@1": "fb2e3f55292c",
    "published-pointwise@1": "442253014bcd",
    "published-probability@1": "884193304a8e",
}

TEXTS_OF_WORDINGS = {
    "interval-2@1": "4553f5a1d0e4",
    "interval-3@1": "ae7b68e05dd5",
    "interval-4@1": "888825b807e1",
    "interval-5@1": "ed5e282a3f09",
    "pairwise-2@1": "ab0000625444",
    "pairwise-3@1": "ca00e03b89f3",
    "pairwise-4@1": "319ca6d42141",
    "pairwise-5@1": "98b3c219fe60",
    "pointwise-2@1": "5deb34f1d4f7",
    "pointwise-3@1": "28b4bc8893e5",
    "pointwise-4@1": "88021a3062b8",
    "pointwise-5@1": "a9a06ea738a0",
    "probability-2@1": "0e52dd32fe54",
    "probability-3@1": "9725d6e5920c",
    "probability-4@1": "a309b4568fe1",
    "probability-5@1": "8a105d37ebab",
}
WORDINGS = sorted((prompts_folder() / "wordings").glob("*/*.md"))


@pytest.fixture
def file(tmp_path):
    """Return a function that writes a prompt file and returns its path."""

    def write(text):
        path = tmp_path / "mine.md"
        path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
        return path

    return write


def test_the_built_ins_are_those_documented():
    """The built-in names are exactly those with a known answer."""
    assert builtin_names() == tuple(sorted(ANSWERS))


@pytest.mark.parametrize("name", builtin_names())
def test_every_built_in_is_in_order(name):
    """A built-in prompt checks clean, is named as its file, and asks for the answer of its mode in its text."""
    prompt = load(name)
    assert problems(prompt_path(name)) == ()
    assert (prompt.name, prompt.source) == (name, str(prompts_folder() / f"{name}.md"))
    assert prompt.description
    assert (prompt.schema or {}).get("required") == ANSWERS[name]
    for field in ANSWERS[name] or ():
        assert f'"{field}": ' in prompt.system
    json.dumps(prompt.schema, allow_nan=False)


@pytest.mark.parametrize("name", builtin_names())
def test_the_item_comes_last(name):
    """Nothing that changes from call to call stands before the rubric, and nothing stands after the item."""
    prompt = load(name)
    last = MODES[prompt.mode].variables[-1]
    assert "{{" not in prompt.system
    assert prompt.user.endswith(f"\n{{{{{last}}}}}")


def test_a_text_does_not_change_under_its_version():
    """Whoever changes a built-in prompt gives it a new version: stored answers belong to one text."""
    assert {f"{name}@{load(name).version}": load(name).digest for name in builtin_names()} == TEXTS_OF_VERSIONS


@pytest.mark.parametrize("path", WORDINGS, ids=lambda path: path.stem)
def test_a_wording_asks_the_same_in_other_words(path):
    """Answer, markers, reply and what is judged are its prompt's to the letter; nothing of the rubric is."""
    own, wording = load(path.parent.name), load(path)
    assert problems(path) == ()
    assert (wording.name, wording.mode, wording.answer, wording.user) == (path.stem, own.mode, own.answer, own.user)
    (said, rest), (other, its_rest) = (file.system.split("Where the texts stand") for file in (own, wording))
    assert rest == its_rest
    assert not {line for line in said.split("\n") if line} & set(other.split("\n"))
    assert 0.6 < len(other) / len(said) < 1.6
    numbers = re.compile(r"^- (\d+)\b|^- At (\d+)\b", re.MULTILINE)
    stated = ["".join(match.groups("")) for match in numbers.finditer(said)]
    if own.mode in ("pointwise", "interval", "pairwise"):
        assert ["".join(match.groups("")) for match in numbers.finditer(other)] == stated


def test_a_wording_does_not_change_under_its_version():
    """Four of each kind, each with an identity of its own, and no two that say the same."""
    files = [load(path) for path in WORDINGS]
    assert {f"{file.name}@{file.version}": file.digest for file in files} == TEXTS_OF_WORDINGS
    assert Counter(path.parent.name for path in WORDINGS) == dict.fromkeys(
        ("interval", "pairwise", "pointwise", "probability"), 4
    )
    assert len({file.system for file in files}) == len(files)


def test_the_scale_of_logprob_modes_is_in_the_text():
    """The plain-text modes say what the one answer may be."""
    assert "a digit from 0 to 9" in load("logprob").system
    assert "A, B or TIE" in load("logprob-pairwise").system


def test_a_plain_reply_sends_no_schema_and_need_not_be_named(file):
    """[answer] lists what the lines hold and is checked as ever; the text may call it what it likes."""
    prompt = load(file(PLAIN))
    assert (prompt.schema, list(prompt.answer)) == (None, ["choice", "confidence"])
    assert load(file(PLAIN.replace('reply = "plain"\n', "").replace("Say", 'Say "choice", "confidence",'))).schema


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"plain"', '"lines"', "reply is 'lines'"),
        ('reply = "plain"', 'reply = "plain"\nform = "tag"', "reply does not fit mode pairwise beside form"),
        ("confidence = {", "sure = {", "[answer] lacks confidence"),
        ('["A", "B", "TIE"]', '["A", "B"]', "the enum of 'choice' does not list its values"),
        ('mode = "pairwise"', 'mode = "logprob-pairwise"', "reply does not fit mode logprob-pairwise"),
    ],
)
def test_a_plain_reply_that_does_not_fit_is_refused(file, old, new, said):
    """A mode without slots, a form beside it, and slots that are not those of the mode."""
    assert said in " ".join(str(problem) for problem in problems(file(PLAIN.replace(old, new))))


def test_a_file_of_ones_own(file):
    """A file is read by its path, and its parts are what is in it."""
    prompt = load(file(GOOD))
    assert (prompt.name, prompt.version, prompt.mode, prompt.variables) == (
        "mine",
        2,
        "pointwise",
        ("prompt", "candidate"),
    )
    assert prompt.system == 'Reply with {"score": a whole number}.'
    assert prompt.user == "The prompt:\n{{prompt}}\nThe candidate:\n{{candidate}}"
    assert prompt.answer == {"score": {"type": "integer"}}
    assert prompt.identity == f"mine@2 {prompt.digest}"
    assert pickle.loads(pickle.dumps(prompt)) == prompt  # noqa: S301 - made one line above
    assert hash(prompt) == hash(load(prompt.source))


def test_every_byte_counts(file):
    """One more blank in the file is another identity."""
    before = load(file(GOOD)).identity
    assert load(file(GOOD + "\n")).identity != before


@pytest.mark.parametrize("text", [GOOD.replace("\n", "\r\n"), "\ufeff" + GOOD])
def test_files_from_other_systems(file, text):
    """Windows line ends and a byte order mark change the digest and nothing else."""
    plain, other = load(file(GOOD)), load(file(text))
    assert (other.system, other.user, other.schema) == (plain.system, plain.user, plain.schema)
    assert other.digest != plain.digest


def test_a_schema_is_a_new_object_each_time():
    """Whoever changes a schema changes nobody else's."""
    prompt = load("pointwise")
    prompt.schema["properties"]["score"]["type"] = "string"
    assert prompt.schema["properties"]["score"]["type"] == ["integer", "null"]


@pytest.mark.parametrize("given", [Path("pointwise"), "./pointwise", "pointwise.md", "x/pointwise"])
def test_a_path_is_never_a_name(given, tmp_path, monkeypatch):
    """A Path, a separator or the ending .md names a file, even where a built-in prompt has that name."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileError, match="no such file"):
        load(given)


def test_a_name_is_never_a_path(tmp_path, monkeypatch):
    """A plain word is a built-in prompt, whatever lies in the current folder."""
    monkeypatch.chdir(tmp_path)
    Path("pointwise").write_text(GOOD, encoding="utf-8")
    Path("mine").write_text(GOOD, encoding="utf-8")
    assert load("pointwise").name == "pointwise"
    assert load(Path("mine")).name == load("./mine").name == "mine"
    with pytest.raises(UsageError, match="no built-in prompt is called 'mine'"):
        load("mine")


@pytest.mark.parametrize("given", ["", "nope", "pointwise.txt", "Pointwise", " pointwise", "pointwise@1", "*"])
def test_what_is_neither_name_nor_path(given):
    """Anything else is refused with the names there are."""
    with pytest.raises(UsageError) as refused:
        load(given)
    assert "pointwise-reason" in refused.value.hint


BAD = {
    "no front matter": ("hello\n" + GOOD, 1, "no front matter"),
    "front matter without an end": (GOOD.replace("\n+++\n", "\n", 1), 1, "the front matter has no end"),
    "not TOML": (GOOD.replace("version = 2", "version 2"), 3, "not TOML"),
    "a key twice": (GOOD.replace("version = 2", 'version = 2\nname = "x"'), 4, "not TOML"),
    "an endless number": (GOOD.replace("version = 2", "version = " + "9" * 5000), 2, "not TOML"),
    "nested without end": (GOOD.replace("version = 2", "version = " + "[" * 5000), 2, "nested too deeply"),
    "unknown key": (GOOD.replace("version = 2", "version = 2\ntemperature = 0"), 4, "unknown key 'temperature'"),
    "no name": (GOOD.replace('name = "mine"\n', ""), 2, "has no name"),
    "a name with a space": (GOOD.replace('"mine"', '"my own"'), 2, "name is 'my own'"),
    "a version in words": (GOOD.replace("= 2", '= "2"'), 3, "version is '2'"),
    "a version that is a truth": (GOOD.replace("= 2", "= true"), 3, "version is True"),
    "version 0": (GOOD.replace("= 2", "= 0"), 3, "version is 0"),
    "an unknown mode": (GOOD.replace('"pointwise"', '"best"'), 4, "mode is 'best'"),
    "a mode that is a list": (GOOD.replace('"pointwise"', '["pointwise"]'), 4, "mode is ['pointwise']"),
    "the mode of another template": (GOOD.replace('"pointwise"', '"probability"'), 5, "variables names candidate"),
    "variables in one text": (GOOD.replace('["prompt", "candidate"]', '"prompt"'), 5, "variables is 'prompt'"),
    "a variable of numbers": (GOOD.replace('["prompt", ', "[1, "), 5, "variables is [1, 'candidate']"),
    "a variable undeclared": (GOOD.replace('["prompt", ', "["), 5, "variables lacks prompt"),
    "a variable declared twice": (GOOD.replace('["prompt", ', '["prompt", "prompt", '), 5, "names one twice"),
    "a declared variable unused": (GOOD.replace("{{prompt}}", "..."), 15, "{{prompt}} is declared and not used"),
    "an unknown variable": (GOOD.replace("{{prompt}}", "{{task}}\n{{prompt}}"), 16, "unknown variable '{{task}}'"),
    "a variable used twice": (GOOD + "{{prompt}}\n", 19, "{{prompt}} is used twice"),
    "a variable within a line": (GOOD.replace("{{prompt}}", "it is {{prompt}}"), 16, "shares its line"),
    "blanks in the braces": (GOOD.replace("{{prompt}}", "{{ prompt }}\n{{prompt}}"), 16, "begins no variable"),
    "a variable in the rubric": (GOOD.replace("Reply", "{{prompt}}\nReply"), 12, "in the system part"),
    "no system part": (GOOD.replace("[system]", "system:"), 19, "no line [system]"),
    "no user part": (GOOD.replace("[user]\n", ""), 18, "no line [user]"),
    "two system parts": (GOOD.replace("[user]", "[system]\n[user]"), 14, "[system] stands here again"),
    "the parts exchanged": (
        GOOD.replace("[system]", "[x]").replace("[user]", "[system]").replace("[x]", "[user]"),
        11,
        "[user] before [system]",
    ),
    "text before the parts": (GOOD.replace("[system]", "Dear judge\n[system]"), 11, "text before [system]"),
    "an empty part": (GOOD.replace('Reply with {"score": a whole number}.', ""), 11, "nothing under [system]"),
    "no answer": (GOOD.replace('[answer]\nscore = { type = "integer" }\n', ""), 2, "[answer] lacks score"),
    "an answer in words": (
        GOOD.replace('[answer]\nscore = { type = "integer" }', 'answer = "integer"'),
        7,
        "answer is 'integer'",
    ),
    "an answer without the score": (GOOD.replace("score = {", "points = {"), 7, "[answer] lacks score"),
    "an answer where none belongs": (GOOD.replace('"pointwise"', '"logprob"'), 7, "answered in plain text"),
    "a field that the text does not ask for": (
        GOOD.replace("[answer]\n", '[answer]\nreason = { type = "string" }\n'),
        8,
        "the text does not ask for 'reason'",
    ),
    "limits in the schema": (GOOD.replace('"integer" }', '"integer", minimum = 0 }'), 8, "uses minimum"),
    "a fragment that is not a table": (GOOD.replace('{ type = "integer" }', '"integer"'), 8, "not a table"),
    "a fragment without a type": (GOOD.replace('type = "integer"', 'description = "x"'), 8, "the type of 'score' is"),
    "a type that JSON has not": (GOOD.replace('"integer"', '"float"'), 8, "the type of 'score' is 'float'"),
    "a type that the mode cannot read": (GOOD.replace('"integer"', '"string"'), 8, "the type of 'score' is 'string'"),
    "an enum of texts for numbers": (
        GOOD.replace('"integer"', '"integer", enum = ["1"]'),
        8,
        "not a list of integer",
    ),
    "an enum of truths for numbers": (
        GOOD.replace('"integer"', '"integer", enum = [true]'),
        8,
        "not a list of integer",
    ),
    "an empty enum": (GOOD.replace('"integer"', '"integer", enum = []'), 8, "not a list of integer"),
    "a description that is none": (
        GOOD.replace('"integer"', '"integer", description = 1'),
        8,
        "description of 'score'",
    ),
    "a description in two lines": (
        GOOD.replace("version = 2", 'version = 2\ndescription = "a\\nb"'),
        4,
        "description",
    ),
    "an unknown form": (GOOD.replace("version = 2", 'version = 2\nform = "xml"'), 4, "form is 'xml'"),
    "a form that has no schema": (
        GOOD.replace("version = 2", 'version = 2\nform = "tag"'),
        8,
        "the form tag is answered",
    ),
    "a field in two lines": (GOOD.replace("version = 2", 'version = 2\nfield = "a\\nb"'), 4, "field is"),
    "a field that is empty": (GOOD.replace("version = 2", 'version = 2\nfield = ""'), 4, "field is ''"),
    "a field that no answer has": (
        GOOD.replace("version = 2", 'version = 2\nfield = "mark"'),
        8,
        "[answer] lacks mark",
    ),
    "a scale upside down": (GOOD.replace("version = 2", "version = 2\nscale = [10, 1]"), 4, "scale is [10, 1]"),
    "a scale of one end": (GOOD.replace("version = 2", "version = 2\nscale = [10]"), 4, "scale is [10]"),
    "a scale of truths": (
        GOOD.replace("version = 2", "version = 2\nscale = [false, true]"),
        4,
        "scale is [False, True]",
    ),
    "a tie that is a candidate": (GOOD.replace("version = 2", 'version = 2\ntie = "a"'), 4, "tie is 'a'"),
    "a tie where nothing is compared": (
        GOOD.replace("version = 2", 'version = 2\ntie = "C"'),
        4,
        "tie does not fit mode pointwise",
    ),
    "not UTF-8": (GOOD.encode() + b"\xe9\n", 19, "not UTF-8"),
    "a NUL": (GOOD.replace("Reply", "Re\0ply"), 12, "NUL"),
}


def test_a_file_may_call_the_answer_something_else(file):
    """A published prompt that asks for a rating from 1 to 10 keeps its key and its scale."""
    words = GOOD.replace("score", "rating").replace("version = 2", 'version = 2\nfield = "rating"\nscale = [1, 10]')
    prompt = load(file(words))
    assert prompt.schema["required"] == ["rating", "why"]
    assert [score(Choice(reply), prompt.asked) for reply in ('{"rating": 7}', "Fine.\nRating: 7/10")] == [7, 7]
    assert prompt.asked.scale == (1, 10)
    assert score(Choice('{"rating": 70}'), prompt.asked).reason == "off the scale 1 to 10: 70"


def test_a_reason_of_its_own_is_no_reason_against_a_score(file):
    """A file that asks for a key why gets reasons there; in any other file a why says that nothing can be judged."""
    own = load(
        file(GOOD.replace("[answer]\n", '[answer]\nwhy = { type = "string" }\n').replace('{"s', '{"why": a, "s'))
    )
    assert own.schema["properties"]["why"] == {"type": "string"}
    reply = Choice('{"why": "It is right.", "score": 85}')
    assert score(reply, own.asked) == 85
    assert score(reply).reason.startswith("cannot judge, though it gives a score: ")
    assert (
        score(Choice('{"why": "It is missing.", "score": null}'), own.asked).reason == "cannot judge: It is missing."
    )


@pytest.mark.parametrize("case", BAD)
def test_what_is_wrong_is_said_with_its_line(file, case):
    """A bad prompt file is refused with its path, the line and a remedy, and the check says the same."""
    text, line, said = BAD[case]
    path = file(text)
    with pytest.raises(InputError) as refused:
        load(path)
    found = problems(path)
    assert str(refused.value) == str(found[0])
    told = [error for error in found if error.message.startswith(f"{path}, line {line}: ") and said in error.message]
    assert told, [str(error) for error in found]
    assert all(error.hint for error in found)


def test_every_problem_is_told(file):
    """A file with problems in several places has them all told at once."""
    text = GOOD.replace('"mine"', '"My"').replace("{{prompt}}", "{{task}}").replace('"integer"', '"string"')
    assert [error.message.rpartition(", line ")[2] for error in problems(file(text))] == [
        "2: name is 'My'",
        "8: the type of 'score' is 'string'",
        "16: unknown variable '{{task}}'",
        "15: {{prompt}} is declared and not used",
    ]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('enum = ["A", "B", "TIE"]', 'enum = ["A", "B"]', "the enum of 'choice' does not list its values"),
        ('enum = ["A", "B", "TIE"], ', "", "the enum of 'choice' does not list its values"),
        ("enum = [1, 2, 3, 4, 5]", "enum = [1, 2, 3]", "the enum of 'confidence' does not list its values"),
    ],
)
def test_values_that_a_mode_reads(file, old, new, said):
    """The pairwise answers are the three words and the five grades, no others."""
    text = prompt_path("pairwise").read_text("utf-8")
    assert old in text
    with pytest.raises(RowError, match=said):
        load(file(text.replace(old, new)))


def test_answer_fields_may_be_tables_of_their_own(file):
    """A field written as a TOML table is found at its line."""
    text = GOOD.replace('[answer]\nscore = { type = "integer" }', '[answer.score]\ntype = "string"')
    (error,) = problems(file(text))
    assert ", line 7: the type of 'score'" in error.message
    assert problems(file(text.replace('"string"', '"number"'))) == ()


@pytest.mark.parametrize("path", ["", "folder", "absent.md", "a\0b.md"])
def test_files_that_cannot_be_read(path, tmp_path):
    """What is no readable file is a FileError."""
    (tmp_path / "folder").mkdir()
    with pytest.raises(FileError):
        load(tmp_path / path)


def test_an_empty_file(file):
    """An empty file is a FileError."""
    with pytest.raises(FileError, match="is empty"):
        load(file(""))


# The three digests below were made with `sha256sum`, the rendering was written by hand.
FILE = """+++
name = "tiny"
version = 3
mode = "pairwise"
variables = ["prompt", "candidate_a", "candidate_b"]

[answer]
choice = { type = "string", enum = ["A", "B", "TIE"] }
confidence = { type = "integer", enum = [1, 2, 3, 4, 5] }
+++
[system]
Reply with {"choice": ..., "confidence": ...}.

[user]
Prompt:
{{prompt}}
A:
{{candidate_a}}
B:
{{candidate_b}}
"""
DIGEST = "114f9d86b873"
MARK = "e124de1a1a3482bd97ec99c9d1be87b2"
MARK_OF_CUT = "44d076123721b533d685176167c7fa81"


def test_a_rendering_written_by_hand(tmp_path):
    """A small prompt file gives exactly these bytes."""
    (tmp_path / "tiny.md").write_text(FILE, encoding="utf-8", newline="\n")
    prompt = load(tmp_path / "tiny.md")
    assert (prompt.identity, prompt.source) == (f"tiny@3 {DIGEST}", str(tmp_path / "tiny.md"))
    rendered = prompt.render("Say {{hi}}", ["hé", "{{prompt}}\n"])
    assert rendered.system == 'Reply with {"choice": ..., "confidence": ...}.'
    assert rendered.user == (
        "Prompt:\n"
        f"--- BEGIN PROMPT {MARK} ---\n"
        "Say {{hi}}\n"
        f"--- END PROMPT {MARK} ---\n"
        "A:\n"
        f"--- BEGIN CANDIDATE A {MARK} ---\n"
        "hé\n"
        f"--- END CANDIDATE A {MARK} ---\n"
        "B:\n"
        f"--- BEGIN CANDIDATE B {MARK} ---\n"
        "{{prompt}}\n"
        "\n"
        f"--- END CANDIDATE B {MARK} ---"
    )
    assert rendered.shortened == 0


def test_a_shortened_rendering_written_by_hand(tmp_path):
    """A text beyond the limit keeps its head and its tail, the head one longer, with a note between."""
    (tmp_path / "tiny.md").write_text(FILE, encoding="utf-8", newline="\n")
    rendered = load(tmp_path / "tiny.md").render("p", ["abcdefghij", "abcde"], longest=5)
    assert rendered.user == (
        "Prompt:\n"
        f"--- BEGIN PROMPT {MARK_OF_CUT} ---\n"
        "p\n"
        f"--- END PROMPT {MARK_OF_CUT} ---\n"
        "A:\n"
        f"--- BEGIN CANDIDATE A {MARK_OF_CUT} ---\n"
        "abc\n"
        f"--- CUT CANDIDATE A {MARK_OF_CUT}: 5 characters left out here ---\n"
        "ij\n"
        f"--- END CANDIDATE A {MARK_OF_CUT} ---\n"
        "B:\n"
        f"--- BEGIN CANDIDATE B {MARK_OF_CUT} ---\n"
        "abcde\n"
        f"--- END CANDIDATE B {MARK_OF_CUT} ---"
    )
    assert rendered.shortened == 1


def test_the_schema_written_by_hand(tmp_path):
    """The schema is an object with the properties in the order of the file, all required, no others."""
    (tmp_path / "tiny.md").write_text(FILE, encoding="utf-8", newline="\n")
    schema = load(tmp_path / "tiny.md").schema
    assert schema == {
        "type": "object",
        "properties": {
            "choice": {"type": ["string", "null"], "enum": ["A", "B", "TIE", None]},
            "confidence": {"type": ["integer", "null"], "enum": [1, 2, 3, 4, 5, None]},
            "why": {"type": ["null", "string"], "description": "Null beside an answer; else why none can be given."},
        },
        "required": ["choice", "confidence", "why"],
        "additionalProperties": False,
    }
    assert list(schema["properties"]) == ["choice", "confidence", "why"]


HOSTILE = "a\x1b[31mb\u202ec\x07"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Work in a folder with a good prompt file, two bad ones and a file of pools."""
    monkeypatch.chdir(tmp_path)
    text = (prompts_folder() / "pointwise.md").read_text("utf-8")
    for name, content in {
        "good.md": text,
        "tab.md": text.replace("[user]\n", f"[user]\n\t{HOSTILE}\n"),
        "bad.md": text.replace("version = 2", f'version = "{HOSTILE}"'.replace("\x1b", "\\u001b").replace("\a", "")),
        "worse.md": text.replace("{{prompt}}", "{{task}}").replace("version = 2", "version = 0"),
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
    assert [line.split(": ")[0] for line in lines[:3]] == ["bad.md, line 3", "worse.md, line 3", "worse.md, line 52"]
    assert lines[-1] == "absent.md: no such file (check the path)"
    assert all(line.endswith(")") for line in lines)
    assert done.err == "bonwise: 4 files, 3 of them not in order\n"
    assert not CONTROL.search(done.out)
