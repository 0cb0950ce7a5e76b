"""Write the table of docs/judges.md: each kind of judge that is registered, in the words given here.

::

    python tests/docs/make_judges.py            # writes the page
"""

from __future__ import annotations

import re
from pathlib import Path

from bonwise.calls.providers.parameters import refuse_impossible
from bonwise.calls.providers.protocol import provider
from bonwise.calls.tokens import ask_text, expected_input_tokens, expected_output_tokens
from bonwise.errors import UsageError
from bonwise.judges.protocol import is_asking
from bonwise.judges.registry import judge_from_spec, kinds

PAGE = Path(__file__).parents[2] / "docs" / "judges.md"
MODELS = {"openai": "openai/gpt-4.1-mini", "anthropic": "anthropic/claude-opus-5"}
HEAD = ("judge", "calls for n candidates", "tokens of a call", "needs", "score of a candidate", "OpenAI", "Anthropic")

ROWS = {
    "pointwise": (("pointwise", "a model", "a whole number from 0 to 100, over 100"),),
    "interval": (
        ("interval", "a model", "a number from 0 to 100, over 100, with `low` and `high` of a 95 % interval"),
    ),
    "probability": (("probability", "a model", "mean stated probability that it is better than an opponent"),),
    "pairwise": (
        (
            "pairwise",
            "a model",
            "share of its comparisons that it won (Borda), a tie and a lost one counting one half",
        ),
    ),
    "logprob": (
        (
            "logprob",
            "a model with log probabilities",
            "expected digit from 0 to 9, over 9, with [`low` and `high`](#log-probabilities)",
        ),
        ("logprob,pairs=true", "a model with log probabilities", "as `probability`, from the token probabilities"),
    ),
    "decision": (
        ("decision", "a model with [decisions](#decisions)", "mean of five levels under the model's probabilities"),
        ("decision,pairs=true", "a model with [decisions](#decisions)", "as `probability`, from the probabilities"),
    ),
    "listwise": (
        ("listwise", "a model", "a whole number from 0 to 100, over 100; more than 20 candidates take n / 10 calls"),
        ("listwise,ranking=true", "a model", "share of the others that it stands above"),
    ),
    "rubric": (("rubric", "a model", "weighted mean of your [criteria](#criteria-of-your-own)"),),
    "resampled": (("resampled,draws=5", "another judge", "mean of the draws, with sd, interval and the draws"),),
    "quantized": (
        ("quantized,bins=20", "another judge", "the other judge's score, rounded to one of `bins` levels"),
    ),
    "checklist": (
        (
            "checklist",
            "a model",
            "share of the drafted items that it has, in 10 categories; see [checklists](#checklists)",
        ),
    ),
    "jury": (
        (
            "jury:pointwise:MODEL+interval:MODEL",
            "two judges or more",
            "mean or median rank of the members, or share of votes for the best",
        ),
    ),
    "verified": (
        (
            "verified,regex=PATTERN",
            "another judge and a check",
            "the other judge's score; none where the [check](#behind-a-check) fails, and no call",
        ),
    ),
    "weighted_majority": (
        (
            "weighted_majority",
            "another judge",
            "share of [votes](#a-vote-of-final-answers) for its final answer, each weighing the other judge's score",
        ),
    ),
    "rerank": (("rerank:voyage/MODEL", "a [reranker](#rerankers)", "the service's own relevance score"),),
    "reward": (
        (
            "reward:FOLDER",
            "a [model on this machine](#models-on-this-machine)",
            "the model's own number, or the probability of a label",
        ),
    ),
    "local": (
        (
            "local:length",
            "nothing",
            "a rule: `length`, `lexical`, `format`, `consensus`, [`majority`](#a-vote-of-final-answers)",
        ),
    ),
    "stack": (
        ("stack:FILE", "a stack that was [fitted to labels](stack.md)", "the label that its judges' scores predict"),
    ),
}
"""Of each kind the judges that have a row: how each is named, what it needs, and what it returns."""

PROMPT, TEXT = "", "placeholder"
FORMULAS = {"1": lambda _: 1, "n + 1": lambda n: n + 1, "n (n - 1)": lambda n: n * (n - 1)}
SIZES = range(2, 9)


def page(text):
    """Return the page with its table made anew."""
    made = f"<!-- kinds -->\n\n{table()}\n<!-- end -->"
    return re.sub(r"<!-- kinds -->.*?<!-- end -->", lambda _: made, text, flags=re.DOTALL)


def table():
    """Return the table; a kind without words here, and words of a kind that is not registered, raise `KeyError`."""
    registered = {kind.name for kind in kinds() if kind.package == "bonwise"}
    if registered != set(ROWS):
        raise KeyError(f"ROWS lacks {registered - set(ROWS)} and has {set(ROWS) - registered} beside")
    lines = [HEAD, ["---"] * len(HEAD), *(cells(*row) for rows in ROWS.values() for row in rows)]
    return "".join(f"|{'|'.join(line)}|\n" if line[0] == "---" else f"| {' | '.join(line)} |\n" for line in lines)


def cells(spec, needs, returns):
    """Return the cells of one judge."""
    if spec.startswith("reward:"):
        return f"`{spec}`", "0", "0", needs, returns, "not needed", "not needed"
    if spec.endswith(":FILE"):
        return f"`{spec}`", "those of its judges", "", needs, returns, "as its judges", "as its judges"
    if spec.startswith("rerank:"):
        judge = judge_from_spec(spec.replace("MODEL", "a-model"))
        return f"`{spec}`", calls(judge), "those of the texts", needs, returns, "not needed", "not needed"
    judges = {name: judge_from_spec(spec.replace("MODEL", model), model=model) for name, model in MODELS.items()}
    judge = judges["openai"]
    if not is_asking(judge) or judge.calls(2) == 0:
        return f"`{spec}`", "0", "0", needs, returns, "not needed", "not needed"
    works = ["yes" if sends(name, judge) else "no" for name, judge in judges.items()]
    return f"`{spec}`", calls(judge), tokens(judge), needs, returns, *works


def calls(judge):
    """Return the formula that gives a judge's calls for every number of candidates that is tried."""
    counts = [judge.calls(n) for n in SIZES]
    per = counts[0] / 2
    formulas = FORMULAS | {"n" if per == 1 else f"{per:g} n": lambda n: per * n}
    return next(words for words, formula in formulas.items() if [formula(n) for n in SIZES] == counts)


def tokens(judge):
    """Return about how many tokens a call of two empty texts sends, as a dry run counts them, and an answer has."""
    sizes = {}
    for ask in judge.asks(PROMPT, [TEXT + "a", TEXT + "b"]):
        words = ask_text(ask).replace(TEXT + "a", "").replace(TEXT + "b", "")
        sizes[round(expected_input_tokens(words), -1), expected_output_tokens(ask)] = None
    return ", ".join(f"{sent:,} + {answer}" for sent, answer in sizes)


def sends(name, judge):
    """Tell whether an SDK can send what a judge asks."""
    try:
        for ask in judge.asks(PROMPT, [TEXT + "a", TEXT + "b"]):
            refuse_impossible(ask, provider(name).capabilities)
    except UsageError:
        return False
    return True


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")
