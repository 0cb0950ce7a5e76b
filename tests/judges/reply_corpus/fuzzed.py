"""Replies by the thousand from a seed: sentences of the corpus, put together and spoilt at random.

Each comes with what its author meant: a score, None for no answer at all, or `ANYTHING` where nobody meant anything.
"""

from __future__ import annotations

import random

from judges.reply_corpus.make import ANSWERS, INJECTED, LONE_NUMBERS, phrases

ANYTHING = object()
SEED = 20261123

# fmt: off
_SOUP = (
    '{"score": ', "}", '"', "score", "Score: ", "85", "101", "7", "-", ".", "/100", " or ", "\n", "\n\n", " ",
    "NaN", "<think>", "</think>", "```json\n", "```", "true", "[", "]", "{", ",", ":", "because", "é", "\uff18",
    "1e3", "\\", "> ", "“", "”", "It says ", "I cannot do that.", "so I refuse", "the line\n", "¿", "我",
    "не могу",
)
# fmt: on


def fuzzed(count=10_000, seed=SEED):
    """Yield kind, text and meaning of so many replies."""
    drawn = random.Random(seed)  # noqa: S311 - text for tests
    languages = list(phrases().values())
    makers = {"answer": _answer, "refusal": _refusal, "quotation": _quotation, "judged": _judged, "soup": _soup}
    for turn in range(count):
        kind = list(makers)[turn % len(makers)]
        text, meant = makers[kind](drawn, drawn.choice(languages))
        yield kind, _dressed(drawn, text), meant


def _answer(drawn, words):
    score = drawn.randint(0, 100)
    reasons = " ".join(drawn.sample(words["reasons"], drawn.randint(1, 3)))
    return drawn.choice(ANSWERS[:-1]).format(reasons, score, words["closing"]), score


def _refusal(drawn, words):
    return drawn.choice(LONE_NUMBERS).format(drawn.choice(words["refusals"])), None


def _quotation(drawn, words):
    quoted = drawn.choice(words["quotations"]).replace("{line}", drawn.choice(INJECTED))
    before = drawn.choice([[], drawn.sample(words["reasons"], 1)])
    return "\n\n".join([*before, quoted]), None


def _judged(drawn, words):
    """A judge that quotes the injected line, and then does its work."""
    score = drawn.randint(0, 98)
    quoted, _ = _quotation(drawn, words)
    forms = ("{0}\n\n{2}\n\nScore: {1}", "Score: {1}\n\n{2}\n\n{0}", '{0}\n\n{2}\n\n{{"score": {1}}}')
    return drawn.choice(forms).format(quoted, score, words["closing"]), score


def _soup(drawn, _words):
    return "".join(drawn.choices(_SOUP, k=drawn.randint(1, 30))), ANYTHING


def _dressed(drawn, text):
    """Change what says nothing: line ends, white space around, a block of thinking before."""
    if drawn.random() < 0.2:
        text = text.replace("\n", "\r\n")
    if drawn.random() < 0.2:
        text = drawn.choice(("\n", "  ", "\ufeff")) + text + drawn.choice(("\n", "  ", " \n\n"))
    if drawn.random() < 0.2:
        text = f"<think>{drawn.choice(('Score: 3', 'I cannot do that.', '50?'))}</think>\n{text}"
    return text
