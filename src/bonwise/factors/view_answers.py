"""What results of a factor model decide, with the figure and its interval, and what to do after them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from bonwise.estimates import EstimateRecord
from bonwise.factors import result, result_models
from bonwise.printable import printable, shell_path, shell_word
from bonwise.report.answers import State, StatedVerdict, outcome_of, steps
from bonwise.report.blocks import Said
from bonwise.report.numbers import Bounded, Ends, count, counted, setting, with_interval
from bonwise.results import Document

LIMITS = (
    "What people think that no judge and no rating shows.",
    "Causes: these are associations in the data at hand.",
    "How models that were not rated compare.",
)

BASELINE_WORDS: Mapping[str, str] = {
    "frequencies": "shares of the categories",
    "constant": "strengths of the models",
    "prompt_specific": "strengths, and each prompt's own",
    "verdicts_only": "judges' verdicts alone",
    "constant_and_verdict": "strengths and mean verdict",
    "all_ratings": "strengths and every verdict",
}

WITHOUT_JUDGES = ("frequencies", "constant", "prompt_specific")
"""Baselines that are fitted to human ratings alone."""


def baseline_name(name: str) -> str:
    """Return what a baseline is called."""
    return BASELINE_WORDS.get(name, printable(name))


_LONGEST = 32
"""Characters of a name."""

_MOST_NAMES = 3


def fit_answer(document: result.FactorFit) -> StatedVerdict:
    """Return whether judges improve the prediction of held-out human ratings over the best baseline without one."""
    alone = {name: document.baselines[name] for name in WITHOUT_JUDGES if name in document.baselines}
    if document.holdout is None or not alone:
        unknown = "Nothing was held out, so it is not known whether the judges add to the human ratings."
        return StatedVerdict("not tested", "open", unknown)
    name, best = min(alone.items(), key=lambda named: named[1].cross_entropy)
    gain = best.difference
    if gain.estimate is None:
        why = printable(gain.reason or "no reason is known", longest=200)
        return StatedVerdict("undefined", "open", f"Whether the judges add to the human ratings is undefined: {why}.")
    figure = (
        f"the advantage over the best baseline without judges ({baseline_name(name)}) is "
        f"{with_interval(gain, sign=True)} nats per rating, {count(document.holdout.n)} held out"
    )
    return {
        "above": StatedVerdict("judges add", "good", f"The judges add to the human ratings: {figure}.", gain),
        "below": StatedVerdict("judges do not help", "bad", f"The judges make the prediction worse: {figure}.", gain),
        "open": StatedVerdict(
            "no gain shown", "open", f"The judges are not shown to add to the human ratings: {figure}.", gain
        ),
    }[outcome_of(gain)]


def study_answer(document: result.FactorStudy) -> StatedVerdict:
    """Return whether the largest share of human ratings, or of judges, predicts better than the smallest."""
    gains = {what: (told, found) for what, told, found in _gains(document)}
    if not gains:
        told = "One number of human ratings was fitted: it is not known what more of them would add."
        return StatedVerdict("nothing to compare", "open", told)
    changes = ", and ".join(
        f"by {with_interval(_turned(found), sign=True)} nats with {told}" for told, found in gains.values()
    )
    figure = f"held-out cross-entropy changes {changes}"
    helps = [what for what, (_, found) in gains.items() if outcome_of(found) == "above"]
    hurts = [what for what, (_, found) in gains.items() if outcome_of(found) == "below"]
    if helps:
        state: State = "open" if hurts else "good"
        return StatedVerdict(_both_or("help", helps), state, f"More {' and '.join(helps)} help: {figure}.")
    if hurts:
        return StatedVerdict(_both_or("hurt", hurts), "bad", f"More {' and '.join(hurts)} do not help: {figure}.")
    return StatedVerdict("no gain shown", "open", f"No gain is shown: {figure}.")


def _both_or(verb: str, found: Sequence[str]) -> str:
    return f"both {verb}" if len(found) == 2 else f"more {found[0]} {verb}"


def _gains(document: result.FactorStudy) -> Iterator[tuple[str, str, EstimateRecord]]:
    """Yield what there is more of, how much, and by how much the factor model then loses less."""
    ratings, judges = document.by_labels, document.by_judges
    fitted = [(round(one.fitted), one) for one in (ratings[0], ratings[-1])]
    used = [(one.judges, one) for one in (judges[0], judges[-1])] if judges else []
    for what, noun, ends in (("ratings", "human ratings", fitted), ("judges", "judges", used)):
        if not ends:
            continue
        (fewest, first), (most, _) = ends
        if fewest < most and first.more_than_largest.estimate is not None:
            yield what, f"{count(most)} {noun} instead of {count(fewest)}", first.more_than_largest


def leaderboard_answer(document: result_models.FactorLeaderboard) -> StatedVerdict:
    """Return whether the simultaneous interval of the first model lies above those of all others."""
    first, *others = document.models
    name, figure = _name(first.model), with_interval(_band(first), sign=True)
    told = f"{figure} above the mean of all models"
    near = [other for other in others if other.band_high >= first.band_low]
    if not near:
        of = counted(len(document.models), "model")
        says = f"{name} is the best of {of}: it is {told}, and no other interval reaches its own."
        return StatedVerdict(f"{name} leads", "good", says, _band(first))
    them = _listed([one.model for one in near])
    return StatedVerdict(
        "no clear leader",
        "open",
        f"The best model is not settled: {name} is {told}, and its interval overlaps with that of {them}.",
        _band(first),
    )


def comparison_answer(document: result_models.FactorComparison) -> StatedVerdict:
    """Return which of two models is better on average over all prompts."""
    first, second = _name(document.model), _name(document.other)
    whole, ends = document.gaps[0], _whole_gap(document)
    over = f"the mean difference over {counted(whole.prompts, 'prompt')} is {with_interval(ends, sign=True)}"
    return {
        "above": StatedVerdict(f"{first} is better", "good", f"{first} is better than {second}: {over}.", ends),
        "below": StatedVerdict(f"{second} is better", "good", f"{second} is better than {first}: {over}.", ends),
        "open": StatedVerdict("no difference shown", "open", f"Neither model is shown to be better: {over}.", ends),
    }[outcome_of(ends)]


def _whole_gap(document: result_models.FactorComparison) -> Ends:
    whole = document.gaps[0]
    return Ends(whole.estimate, whole.low, whole.high)


def explanation_answer(document: result_models.FactorExplanation) -> StatedVerdict:
    """Return whether a property of the prompts goes with the gap, by intervals that hold together."""
    explained = Ends(document.explained, document.explained_low, document.explained_high)
    share = f"together they explain {with_interval(explained, 'share')} of its variance"
    of = f"of {count(len(document.coefficients))} coefficients"
    clear = clear_coefficients(document)
    if not clear:
        told = f"No property is shown to be associated with the gap (0 {of} differ from 0): {share}."
        return StatedVerdict("no association shown", "open", told, explained)
    differ = f"{count(len(clear))} {of} {'differs' if len(clear) == 1 else 'differ'} from 0"
    told = f"Properties are associated with the gap ({differ}): {share}."
    return StatedVerdict("association shown", "good", told, explained)


def clear_coefficients(document: result_models.FactorExplanation) -> list[result_models.GapCoefficient]:
    """Return the coefficients whose simultaneous interval excludes 0."""
    return [
        coefficient
        for coefficient in document.coefficients
        if outcome_of(Ends(coefficient.estimate, coefficient.band_low, coefficient.band_high)) != "open"
    ]


def strengths_answer(document: result_models.FactorStrengths) -> StatedVerdict:
    """Return which groups of prompts are strengths and weaknesses of a model; without groups, which prompts."""
    rows: Sequence[result_models.GroupAdvantage | result_models.PromptAdvantage] = document.groups or document.prompts
    what = f"{counted(len(rows), 'group')} of prompts" if document.groups else counted(len(rows), "prompt")
    strong = [row for row in rows if row.verdict == "strength"]
    weak = [row for row in reversed(rows) if row.verdict == "weakness"]
    name = _name(document.model)
    if not strong and not weak:
        most = max(rows, key=lambda one: abs(one.difference))
        says = (
            f"Of {what} none is shown to be a strength or a weakness of {name}: the largest difference from its mean "
            f"is {_apart(most)} ({_row_name(most)})."
        )
        return StatedVerdict("no difference shown", "open", says)
    found: list[str] = []
    if strong:
        found.append(f"strong on {count(len(strong))} ({_examples(strong)})")
    if weak:
        found.append(f"weak on {count(len(weak))} ({_examples(weak)})")
    says = f"Of {what} {name} is {' and '.join(found)}, compared with its own mean."
    word, state = _word(strong=bool(strong), weak=bool(weak))
    return StatedVerdict(word, state, says)


def _word(*, strong: bool, weak: bool) -> tuple[str, State]:
    if strong and weak:
        return "strengths and weaknesses", "open"
    return ("strengths shown", "good") if strong else ("weaknesses shown", "bad")


def _examples(rows: Sequence[result_models.GroupAdvantage | result_models.PromptAdvantage]) -> str:
    told = [f"{_row_name(row)} {_apart(row)}" for row in rows[:_MOST_NAMES]]
    return ", ".join([*told, *(["..."] if len(rows) > _MOST_NAMES else [])])


def _apart(one: result_models.GroupAdvantage | result_models.PromptAdvantage) -> str:
    return with_interval(Ends(one.difference, one.band_low, one.band_high), sign=True)


def _row_name(one: result_models.GroupAdvantage | result_models.PromptAdvantage) -> str:
    if isinstance(one, result_models.PromptAdvantage):
        return _name(one.prompt_id)
    return f"{_name(one.column)} = {_name(one.level)}" if one.level else _name(one.column)


def _band(one: result_models.LeaderboardRow) -> Ends:
    return Ends(one.estimate, one.band_low, one.band_high)


def _turned(found: Bounded) -> Ends:
    """Return what is lost less as a change."""
    low, high = (None if end is None else -end for end in (found.high, found.low))
    return Ends(None if found.estimate is None else -found.estimate, low, high)


def _name(text: str) -> str:
    return printable(text, longest=_LONGEST)


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(map(_name, names[:_MOST_NAMES]))
    return f"{shown} and {count(len(names) - _MOST_NAMES)} more" if len(names) > _MOST_NAMES else shown


_SUFFIXES = (".csv", ".jsonl", ".parquet", ".gz")
"""How the source of ratings ends where it is a file."""


def answer(document: Document) -> StatedVerdict:
    """Return what a result of a factor model answers, and what to do next."""
    kinds: Mapping[type[Document], tuple[Callable[[Any], StatedVerdict], str]] = {
        result.FactorFit: (fit_answer, "Do the judges add to the human ratings?"),
        result.FactorStudy: (study_answer, "Do more human ratings, or more judges, help?"),
        result_models.FactorLeaderboard: (leaderboard_answer, "Which model is the best?"),
        result_models.FactorComparison: (comparison_answer, "Which of the two models is better?"),
        result_models.FactorExplanation: (explanation_answer, "What goes with the gap between the two models?"),
        result_models.FactorStrengths: (strengths_answer, "Where is the model strong, and where weak?"),
        result_models.FactorPrediction: (prediction_answer, "How good is each model expected to be?"),
    }
    answering, question = kinds[type(document)]
    return replace(answering(document), question=question, then=next_steps(document))


def next_steps(document: Document, fit: str | Path | None = None) -> Sequence[Said]:
    """Say what to do after a result, by the file that the fit is in: `fit`, or the one that was asked."""
    asked = document.asked
    saved = shell_path(fit) if fit else None if asked is None else asked.files("view") or asked.files("path")
    prompts = None if asked is None else asked.files("prompts")
    match document:
        case result.FactorFit():
            return _after_fit(document, saved)
        case result.FactorStudy():
            return steps(_AFTER_STUDY[study_answer(document).state == "good"])
        case result_models.FactorLeaderboard(models=[first, second, *_]):
            why = "Compare the first two models prompt by prompt:"
            words = ["compare", saved, shell_word(first.model), shell_word(second.model)]
        case result_models.FactorComparison():
            better = document.other if outcome_of(_whole_gap(document)) == "below" else document.model
            why = f"See on which prompts {_name(better)} is strong or weak:"
            words = ["strengths", saved, shell_word(better)]
        case result_models.FactorExplanation():
            why = "See on which groups of prompts the first model is strong or weak:"
            with_prompts = ["--prompts", prompts] if prompts else []
            words = ["strengths", saved, shell_word(document.model), *with_prompts]
        case result_models.FactorStrengths() if strengths_answer(document).word == "no difference shown":
            return steps("More human ratings make these intervals narrower.")
        case _:
            why, words = "See whether a model leads: rank the models:", ["leaderboard", saved]
    return steps(why, " ".join(["bonwise factor", *map(str, words)]) if saved else None)


_AFTER_STUDY = {
    True: "Collect more of what helps; choose the ratings to ask for at random.",
    False: "Compare more budgets and more splits before you pay for more ratings or judges.",
}
"""By whether more of something helps."""


def _after_fit(document: result.FactorFit, saved: str | None) -> Sequence[Said]:
    """Hold out ratings where none were, rank the models where judges add, otherwise study what would help."""
    stated = fit_answer(document)
    again = _again(document)
    if stated.word == "not tested":
        command = again and f"bonwise factor fit {again} --holdout 0.5"
        return steps("Hold out human ratings to see what the judges add:", command)
    if stated.state == "good":
        if saved is not None:
            return steps("Rank the models:", f"bonwise factor leaderboard {saved}")
        why = "Save the fit, then rank the models by it:"
        return steps(why, again and f"bonwise factor fit {again} --save fit.json")
    command = again and f"bonwise factor study {again}"
    return steps("Study whether more human ratings or more judges would help:", command)


def _again(document: result.FactorFit) -> str | None:
    """Return the arguments that read the same ratings and choose the same model; None where they are no file."""
    settings = document.settings
    if not settings.source.endswith(_SUFFIXES):
        return None
    flags = [f"--human {shell_word(settings.human)}"]
    flags += [f"--{name} {setting(value)}" for name, value in _chosen(settings) if value is not None]
    words = [f"{rater.rater}={','.join(rater.categories)}" for rater in document.raters if rater.rule == "words"]
    flags += [f"--categories {shell_word(word)}" for word in words]
    return " ".join([shell_path(settings.source), *flags])


def _chosen(settings: result.FactorSettings) -> Iterator[tuple[str, float | None]]:
    yield "rank", settings.rank
    yield "prior", settings.prior


WORDS_OF_PREDICTION = {"mean_rating": "mean rating", "net_win_rate": "wins less losses per comparison"}


def prediction_answer(document: result_models.FactorPrediction) -> StatedVerdict:
    """Return which model has the highest predicted average: each interval is of one model alone."""
    best = document.models[0]
    ends = Ends(best.estimate, best.low, best.high)
    says = (
        f"Predicted {WORDS_OF_PREDICTION[document.quantity]} over {counted(document.prompts, 'prompt')}: "
        f"{_name(best.model)} has the highest, {with_interval(ends)}; each interval is of one model alone."
    )
    return StatedVerdict(f"{counted(len(document.models), 'model')} predicted", "neutral", says, ends)
