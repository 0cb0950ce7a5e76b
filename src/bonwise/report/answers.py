"""The answer a result opens with: a word, its colour, a sentence with its figure, facts first, what comes next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from bonwise.estimates import EstimateRecord
from bonwise.printable import printable
from bonwise.report.blocks import Block, Part, Said
from bonwise.report.numbers import Bounded, counted, with_interval

State = Literal["good", "bad", "open", "neutral"]
"""As of a `Part` that is a verdict; ``neutral`` is what no figure makes good or bad."""

Outcome = Literal["above", "below", "open"]
"""Where an interval lies: above the value that it is compared with, below it, or around it."""

_LONGEST = 600
"""Characters of a sentence."""

_MOST_NAMES = 5


@dataclass(frozen=True, slots=True)
class StatedVerdict:
    """What a result answers, or what was found of one judge of it; each part follows from the figures."""

    word: str
    """At most four words."""
    state: State
    says: str
    """One sentence with the figure and its interval."""
    figure: Bounded | None = None
    """What decides; None where nothing does."""
    facts: Sequence[str] = ()
    """Sentences that stand before the answer, such as that the judge was changed."""
    question: str = ""
    """What is answered, in plain words."""
    then: Sequence[Said] = ()
    """What to do next: sentences, and commands that run as they stand."""

    @property
    def commands(self) -> list[str]:
        """The commands of what to do next."""
        return [step.text for step in self.then if step.role == "command"]


def outcome_of(figure: Bounded, than: float = 0.0) -> Outcome:
    """Return where an interval lies; a figure without one is open, and so is an interval that touches the value."""
    if figure.low is None or figure.high is None:
        return "open"
    if figure.low > than:
        return "above"
    return "below" if figure.high < than else "open"


def steps(why: str, command: str | None = None) -> Sequence[Said]:
    """Return what to do next: a sentence, and the command that does it where its files are known."""
    if command is None:
        return [Said("finding", f"{why.removesuffix(':')}." if why.endswith(":") else why)]
    return [Said("finding", why), Said("command", command)]


def verdict(answer: StatedVerdict, more: Sequence[Block] = ()) -> Part:
    """Return the verdict of a result; what to do next is in it on a page, and last on a terminal."""
    leads = [Said("lead", printable(sentence, longest=_LONGEST)) for sentence in (*answer.facts, answer.says)]
    blocks = [*leads, *more, *_next(answer.then)]
    return Part(answer.word, blocks, "verdict", answer.state, printable(answer.question, longest=_LONGEST))


def of_judges(
    answers: Mapping[str, StatedVerdict], question: str = "", then: Sequence[Said] = ()
) -> StatedVerdict | None:
    """Return the answer on one judge, or how many of several have which; None without a judge."""
    if len(answers) <= 1:
        return next((replace(answer, question=question, then=then) for answer in answers.values()), None)
    words = Counter(answer.word for answer in answers.values())
    word, many = words.most_common(1)[0]
    states = {answer.state for answer in answers.values()}
    judges = {each: [name for name, answer in answers.items() if answer.word == each] for each in words}
    counts = "; ".join(f"{counted(times, 'judge')}: {each} ({_names(judges[each])})" for each, times in words.items())
    title = word if len(words) == 1 else f"{many} of {len(answers)}: {word}"
    facts = list(dict.fromkeys(fact for answer in answers.values() for fact in answer.facts))
    state = states.pop() if len(states) == 1 else "open"
    return StatedVerdict(title, state, f"{counts}.", None, facts, question, then)


def _names(names: Sequence[str]) -> str:
    shown = [printable(name, longest=40) for name in names[:_MOST_NAMES]]
    return ", ".join([*shown, *(["..."] if len(names) > _MOST_NAMES else [])])


def _next(then: Sequence[Said]) -> Iterator[Part]:
    if then:
        yield Part("Next", list(then), "next", anchor="next")


_COIN = 0.5
"""Agreement of a coin with any oracle, ties counting one half."""


def agreement_answer(agreement: EstimateRecord, phi: EstimateRecord | None = None) -> StatedVerdict:
    """Return whether agreement is above a coin's; a judge of one side may be, but its `phi` is 0."""
    if agreement.estimate is None:
        why = printable(agreement.reason or "no reason is known", longest=200)
        return StatedVerdict("undefined", "open", f"The agreement with the oracle is undefined: {why}.")
    figure = agreement_words(agreement)
    outcome = outcome_of(agreement, _COIN)
    if outcome == "below":
        return StatedVerdict(
            "worse than a coin", "bad", f"The verdicts contradict the oracle's: {figure}.", agreement
        )
    if outcome == "open":
        return StatedVerdict(
            "no agreement shown", "open", f"No agreement beyond that of a coin is shown: {figure}.", agreement
        )
    if phi is not None and outcome_of(phi) != "above":
        stated = "undefined" if phi.estimate is None else f"{with_interval(phi)}, and 0 for such a judge"
        return StatedVerdict(
            "one side may do",
            "open",
            f"A judge that always names the same side may agree as often: {figure}; the correlation phi is {stated}.",
            agreement,
        )
    return StatedVerdict("better than a coin", "good", f"The verdicts agree with the oracle's: {figure}.", agreement)


def agreement_words(agreement: EstimateRecord) -> str:
    """Write the agreement beside that of a coin."""
    return f"the agreement is {with_interval(agreement, 'share')}, a coin's is 50%"
