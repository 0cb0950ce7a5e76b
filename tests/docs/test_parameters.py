"""Parameters of the public functions and classes that mean the same are described in the same words."""

from __future__ import annotations

import inspect
import re

import bonwise as bw

MEANS = {
    "bins": "of a score, or of a histogram",
    "cost": "of a plan, or of a run",
    "columns": "asked for, or found",
    "control": "as names, or as a group of figures",
    "design": "of a figure, or of a sequence of figures",
    "draws": "asked for, or found",
    "frame": "of scores, or of something else",
    "gap_groups": "of strata, or of accuracies",
    "half_width": "of the interval of one question",
    "label_file": "of this phase, of earlier ones, or in the order of labelling",
    "labels_left_out": "of an audit, or of a table",
    "max_draws": "a limit, or what a model was learnt from",
    "mean_calls": "of a strategy, or of a joint budget",
    "orders": "of a mode that has them, or of every question",
    "pair": "of a figure on votes",
    "path": "of any file",
    "pools": "where texts are, or what a page shows",
    "power": "of a test, or of a pair",
    "prompt": "a text, a file, or columns",
    "prompts": "counted where they are used",
    "question": "of a kind of study",
    "resamples": "of what the function draws",
    "seed": "of what the function draws",
    "source": "of a kind of table",
    "temperature": "of a first score, or of a further one",
    "ties": "of votes, in each kind of study",
    "verdict_col": "of a vote, or of a pilot",
    "verdicts": "of one order, or of two",
}
"""Parameters whose meaning depends on what takes them."""

OTHERWISE = {
    ("Resampled", "confidence"): "there is one interval",
    ("Resampled", "of"): "it takes no judge of its own kind",
    ("RouteStudy.router", "judge"): "a judge that was studied",
    ("audit_preferences", "judge"): "a column",
    ("audit_preferences", "labels"): "of pairs",
    ("audit_preferences", "oracle"): "a column",
    ("study_verdicts", "judge"): "a column",
    ("judge", "deadline"): "there is one per question",
    ("judge", "max_concurrency"): "its pools have no deadline",
    ("monitor", "confidence"): "it also limits false claims",
    ("plan", "confidence"): "of a test",
    ("watch", "confidence"): "it also limits false alarms",
    ("watch", "judge"): "of the audit that is the baseline",
}
"""Single parameters that differ from others of the same name and type, and why."""


SECTION = re.compile(r"^Parameters\n-+\n(.*?)(?=^\S[^\n]*\n-{3,}$|\Z)", re.DOTALL | re.MULTILINE)
ENTRY = re.compile(r"^(\S[^\n]*?) : ([^\n]*)\n((?:[ ]+[^\n]*\n|\n)*)", re.MULTILINE)


def described(doc):
    """Yield name, type and text of each parameter of a docstring."""
    section = SECTION.search(inspect.cleandoc(doc))
    for entry in ENTRY.finditer(f"{section[1]}\n" if section else ""):
        for name in entry[1].split(", "):
            yield name, entry[2], " ".join(entry[3].split())


def public_docstrings():
    """Yield name and docstring of every public function and class, and of the public methods."""
    for name in bw.__all__:
        value = getattr(bw, name)
        if not callable(value):
            continue
        yield name, value.__doc__
        for key in vars(value) if inspect.isclass(value) else ():
            if not key.startswith("_") and callable(getattr(value, key)) and getattr(value, key).__doc__:
                yield f"{name}.{key}", getattr(value, key).__doc__


def first_sentence(text):
    """Return a description up to what one function adds to it."""
    return text.removesuffix(".").partition(". ")[0]


def test_the_same_parameter_has_the_same_description():
    """One name and type begin with the same sentence wherever they are described, but for the stated differences."""
    found = {}
    for where, doc in public_docstrings():
        for name, kind, text in described(doc):
            if name in MEANS or (where, name) in OTHERWISE or re.fullmatch(r"As in `bonwise\.\w+`\.", text):
                continue
            if text:
                found.setdefault((name, kind), {}).setdefault(first_sentence(text), []).append(where)
    assert len(found) > 100
    assert sum(len(places) > 1 for texts in found.values() for places in texts.values()) > 15
    assert {key: texts for key, texts in found.items() if len(texts) > 1} == {}


def test_no_difference_is_stated_in_vain():
    """Every stated difference is of a parameter that is still there."""
    here = {(where, name) for where, doc in public_docstrings() for name, _, _ in described(doc)}
    assert set(OTHERWISE) <= here
    assert set(MEANS) <= {name for _, name in here}
