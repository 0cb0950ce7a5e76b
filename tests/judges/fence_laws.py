"""The law of the fence, read from a rendered call without the code that made it."""

from __future__ import annotations

import re
from hashlib import sha256

from bonwise.judges.prompt_file import LONGEST

__all__ = ["assert_fence_holds", "mark_of", "twin_boundary"]


def twin_boundary(identity, texts):
    """Compute the boundary once more: SHA-256 over the parts, each after its length in bytes."""
    parts = [part.encode("utf-8", "surrogatepass") for part in (identity, *texts)]
    return sha256(b"".join(str(len(part)).encode() + b":" + part for part in parts)).hexdigest()[:32]


def mark_of(rendered):
    """Return the boundary of the first fence."""
    return re.search(r"^--- BEGIN PROMPT ([0-9a-f]{32}) ---$", rendered.user, re.MULTILINE)[1]


def shown(text, label, mark, longest):
    """Say what must stand between the two lines of a text."""
    text = "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text)
    if len(text) <= longest:
        return text
    head, tail = longest - longest // 2, longest // 2
    left_out = len(text) - longest
    note = f"--- CUT {label} {mark}: {left_out} characters left out here ---"
    return text[:head] + "\n" + note + "\n" + text[head + left_out : head + left_out + tail]


def assert_fence_holds(file, prompt, candidates, longest=LONGEST, values=None):
    """Hold one call to the law and return what was rendered.

    Each text stands verbatim between its two lines, the boundary is on no other line, what surrounds the
    fences is the template, and every byte can be sent.
    """
    rendered = file.render(prompt, candidates, longest, values)
    texts = (prompt, *candidates, *(values or {}).values())
    labels = [variable.upper().replace("_", " ") for variable in file.variables if variable not in (values or {})]
    if file.mode.startswith("listwise"):
        labels = ["PROMPT", *(f"CANDIDATE {number}" for number in range(1, len(texts)))]
    labels += [name.upper() for name in values or {}]
    mark = mark_of(rendered)
    cut = sum(len(text) > longest for text in texts)
    assert sum(mark in line for line in rendered.user.split("\n")) == 2 * len(texts) + cut
    assert rendered.shortened == cut
    assert rendered.system == file.system
    assert all(mark not in text for text in texts)
    left, rest = "", rendered.user
    for label, text in zip(labels, texts, strict=True):
        before, opened, rest = rest.partition(f"--- BEGIN {label} {mark} ---\n")
        inside, closed, rest = rest.partition(f"\n--- END {label} {mark} ---")
        assert opened
        assert closed
        assert inside == shown(text, label, mark, longest)
        left += before + "{{" + label.lower().replace(" ", "_") + "}}"
    if file.mode.startswith("listwise"):
        numbered = [f"Candidate {at}:\n\n{{{{candidate_{at}}}}}" for at in range(1, len(texts))]
        left = left.replace("\n\n".join(numbered), "{{candidates}}")
    assert left + rest == file.user
    rendered.user.encode()
    return rendered
