from __future__ import annotations

from bonwise.judges.prompt_loading import load

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
            "choice": {"type": "string", "enum": ["A", "B", "TIE"]},
            "confidence": {"type": "integer", "enum": [1, 2, 3, 4, 5]},
        },
        "required": ["choice", "confidence"],
        "additionalProperties": False,
    }
    assert list(schema["properties"]) == ["choice", "confidence"]
