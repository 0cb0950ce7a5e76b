"""What to do after a result of a factor model: a sentence, and where there is one a command.

No document holds the name of the file of a fit: where it is not given, commands call it ``FIT.json``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bonwise.documents.factor import FactorDocument, FactorSettings
from bonwise.printable import shell_path, shell_word
from bonwise.report.blocks import Said
from bonwise.report.described.answer import StatedVerdict
from bonwise.report.numbers import setting

__all__ = [
    "after_comparison",
    "after_explanation",
    "after_fit",
    "after_leaderboard",
    "after_prediction",
    "after_strengths",
    "after_study",
]

_FIT, _PROMPTS = "FIT.json", "PROMPTS.csv"
_SUFFIXES = (".csv", ".jsonl", ".parquet", ".gz")
"""How the source of ratings ends where it is a file."""


def after_fit(answer: StatedVerdict, document: FactorDocument, fit: str | None = None) -> Sequence[Said]:
    """Hold out ratings where none were, rank the models where judges add, otherwise study what would help."""
    if answer.word == "not tested":
        return _then("Hold out human ratings to see what the judges add:", f"fit {_again(document)} --holdout 0.5")
    if answer.state == "good":
        why = f"Save the fit with --save {_FIT}, then rank the models:" if fit is None else "Rank the models:"
        return _then(why, f"leaderboard {shell_path(fit or _FIT)}")
    return _then("Study whether more human ratings or more judges would help:", f"study {_again(document)}")


def _again(document: FactorDocument) -> str:
    """Return the arguments that read the same ratings and choose the same model."""
    settings = document.settings
    ratings = settings.source if settings.source.endswith(_SUFFIXES) else "RATINGS.csv"
    flags = [f"--human {shell_word(settings.human)}"]
    flags += [f"--{name} {setting(value)}" for name, value in _chosen(settings) if value is not None]
    words = [f"{one.rater}={','.join(one.categories)}" for one in document.raters if one.rule == "words"]
    flags += [f"--categories {shell_word(one)}" for one in words]
    return " ".join([shell_path(ratings), *flags])


def _chosen(settings: FactorSettings) -> Iterator[tuple[str, float | None]]:
    yield "rank", settings.rank
    yield "prior", settings.prior


def after_study(answer: StatedVerdict) -> Sequence[Said]:
    """Collect what helps."""
    if answer.state == "good":
        return [Said("finding", "Collect more of what helps; choose the ratings to ask for at random.")]
    return [Said("finding", "Compare more budgets and more splits before you pay for more ratings or judges.")]


def after_leaderboard(first: str, second: str, fit: str = _FIT) -> Sequence[Said]:
    """Compare the first two models prompt by prompt."""
    return _then(
        "Compare the first two models prompt by prompt:", f"compare {shell_path(fit)} {_both(first, second)}"
    )


def after_comparison(first: str, second: str, fit: str = _FIT) -> Sequence[Said]:
    """Look for what is associated with the gap."""
    asked = f"explain {shell_path(fit)} {_both(first, second)} --prompts {_PROMPTS}"
    return _then("See which properties of the prompts are associated with the gap:", asked)


def after_explanation(model: str, fit: str = _FIT, prompts: str = _PROMPTS) -> Sequence[Said]:
    """Look for the groups on which the model is strong."""
    asked = f"strengths {shell_path(fit)} {shell_word(model)} --prompts {shell_path(prompts)}"
    return _then("See on which groups of prompts the first model is strong or weak:", asked)


def after_strengths(answer: StatedVerdict, fit: str = _FIT) -> Sequence[Said]:
    """Rank the models where they differ, otherwise ask for more ratings."""
    if answer.word == "no difference shown":
        return [Said("finding", "More human ratings make these intervals narrower.")]
    return _then("Rank the models on a category of prompts:", f"leaderboard {shell_path(fit)} --category CATEGORY")


def after_prediction(fit: str = _FIT) -> Sequence[Said]:
    """Rank the models with intervals that hold together."""
    why = "Each interval is of one model alone. To see whether a model leads, rank the models:"
    return _then(why, f"leaderboard {shell_path(fit)}")


def _both(first: str, second: str) -> str:
    return f"{shell_word(first)} {shell_word(second)}"


def _then(why: str, words: str) -> Sequence[Said]:
    return [Said("finding", why), Said("command", f"bonwise factor {words}")]
