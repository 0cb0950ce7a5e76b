"""What results of a factor model decide: a word, its state, and one sentence with the figure and its interval."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bonwise.documents.estimate import EstimateRecord
from bonwise.documents.factor import BaselineRecord, FactorDocument
from bonwise.documents.factor_comparison import FactorComparisonDocument
from bonwise.documents.factor_explanation import FactorExplanationDocument, GapCoefficient
from bonwise.documents.factor_leaderboard import FactorLeaderboardDocument, LeaderboardRow
from bonwise.documents.factor_strengths import FactorStrengthsDocument, GroupAdvantage, PromptAdvantage
from bonwise.documents.factor_study import FactorStudyDocument
from bonwise.printable import printable
from bonwise.report.described.answer import State, StatedVerdict, outcome_of
from bonwise.report.described.factor_baselines import WITHOUT_JUDGES, baseline_name
from bonwise.report.numbers import Bounded, Ends, count, counted, with_interval

__all__ = [
    "clear_coefficients",
    "comparison_answer",
    "explanation_answer",
    "fit_answer",
    "leaderboard_answer",
    "strengths_answer",
    "study_answer",
]

_LONGEST = 32
"""Characters of a name."""

_MOST_NAMES = 3


def fit_answer(document: FactorDocument) -> StatedVerdict:
    """Return whether judges improve the prediction of human ratings that were held out.

    The factor model is compared with the best baseline that uses no judge, which is chosen on the same ratings.

    Parameters
    ----------
    document : FactorDocument
    """
    alone = {name: document.baselines[name] for name in WITHOUT_JUDGES if name in document.baselines}
    if document.holdout is None or not alone:
        told = "Nothing was held out, so it is not known whether the judges add to the human ratings."
        return StatedVerdict("not tested", "open", told)
    name, best = min(alone.items(), key=_loss)
    found = best.difference
    if found.estimate is None:
        why = printable(found.reason or "no reason is known", longest=200)
        return StatedVerdict("undefined", "open", f"Whether the judges add to the human ratings is undefined: {why}.")
    figure = (
        f"the advantage over the best baseline without judges ({baseline_name(name)}) is "
        f"{with_interval(found, sign=True)} nats per rating, {count(document.holdout.n)} held out"
    )
    return {
        "above": StatedVerdict("judges add", "good", f"The judges add to the human ratings: {figure}."),
        "below": StatedVerdict("judges do not help", "bad", f"The judges make the prediction worse: {figure}."),
        "open": StatedVerdict(
            "no gain shown", "open", f"The judges are not shown to add to the human ratings: {figure}."
        ),
    }[outcome_of(found)]


def _loss(named: tuple[str, BaselineRecord]) -> float:
    return named[1].cross_entropy


def study_answer(document: FactorStudyDocument) -> StatedVerdict:
    """Return whether more human ratings, or more judges, predict human ratings better.

    The smallest share is compared with the largest one.

    Parameters
    ----------
    document : FactorStudyDocument
    """
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


def _gains(document: FactorStudyDocument) -> Iterator[tuple[str, str, EstimateRecord]]:
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


def leaderboard_answer(document: FactorLeaderboardDocument) -> StatedVerdict:
    """Return whether the simultaneous interval of the first model lies above those of all others.

    Parameters
    ----------
    document : FactorLeaderboardDocument
    """
    first, *others = document.models
    name, figure = _name(first.model), with_interval(_band(first), sign=True)
    told = f"{figure} above the mean of all models"
    near = [one for one in others if one.band_high >= first.band_low]
    if not near:
        of = counted(len(document.models), "model")
        says = f"{name} is the best of {of}: it is {told}, and no other interval reaches its own."
        return StatedVerdict(f"{name} leads", "good", says)
    them = _listed([one.model for one in near])
    return StatedVerdict(
        "no clear leader",
        "open",
        f"The best model is not settled: {name} is {told}, and its interval overlaps with that of {them}.",
    )


def comparison_answer(document: FactorComparisonDocument) -> StatedVerdict:
    """Return which of two models is better on average over all prompts.

    Parameters
    ----------
    document : FactorComparisonDocument
    """
    first, second = _name(document.model), _name(document.other)
    whole = document.gaps[0]
    found = Ends(whole.estimate, whole.low, whole.high)
    over = f"the mean difference over {counted(whole.prompts, 'prompt')} is {with_interval(found, sign=True)}"
    return {
        "above": StatedVerdict(f"{first} is better", "good", f"{first} is better than {second}: {over}."),
        "below": StatedVerdict(f"{second} is better", "good", f"{second} is better than {first}: {over}."),
        "open": StatedVerdict("no difference shown", "open", f"Neither model is shown to be better: {over}."),
    }[outcome_of(found)]


def explanation_answer(document: FactorExplanationDocument) -> StatedVerdict:
    """Return whether a property of the prompts goes with the gap, by intervals that hold together.

    Parameters
    ----------
    document : FactorExplanationDocument
    """
    explained = Ends(document.explained, document.explained_low, document.explained_high)
    share = f"together they explain {with_interval(explained, 'share')} of its variance"
    of = f"of {count(len(document.coefficients))} coefficients"
    clear = clear_coefficients(document)
    if not clear:
        told = f"No property is shown to be associated with the gap (0 {of} differ from 0): {share}."
        return StatedVerdict("no association shown", "open", told)
    differ = f"{count(len(clear))} {of} {'differs' if len(clear) == 1 else 'differ'} from 0"
    told = f"Properties are associated with the gap ({differ}): {share}."
    return StatedVerdict("association shown", "good", told)


def clear_coefficients(document: FactorExplanationDocument) -> list[GapCoefficient]:
    """Return the coefficients whose simultaneous interval excludes 0."""
    return [
        one for one in document.coefficients if outcome_of(Ends(one.estimate, one.band_low, one.band_high)) != "open"
    ]


def strengths_answer(document: FactorStrengthsDocument) -> StatedVerdict:
    """Return which groups of prompts are strengths and weaknesses of a model; without groups, which prompts.

    Parameters
    ----------
    document : FactorStrengthsDocument
    """
    rows: Sequence[GroupAdvantage | PromptAdvantage] = document.groups or document.prompts
    what = f"{counted(len(rows), 'group')} of prompts" if document.groups else counted(len(rows), "prompt")
    strong = [one for one in rows if one.verdict == "strength"]
    weak = [one for one in reversed(rows) if one.verdict == "weakness"]
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


def _examples(rows: Sequence[GroupAdvantage | PromptAdvantage]) -> str:
    told = [f"{_row_name(one)} {_apart(one)}" for one in rows[:_MOST_NAMES]]
    return ", ".join([*told, *(["..."] if len(rows) > _MOST_NAMES else [])])


def _apart(one: GroupAdvantage | PromptAdvantage) -> str:
    return with_interval(Ends(one.difference, one.band_low, one.band_high), sign=True)


def _row_name(one: GroupAdvantage | PromptAdvantage) -> str:
    if isinstance(one, PromptAdvantage):
        return _name(one.prompt_id)
    return f"{_name(one.column)} = {_name(one.level)}" if one.level else _name(one.column)


def _band(one: LeaderboardRow) -> Ends:
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
