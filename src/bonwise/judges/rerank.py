"""A service that scores all candidates of a prompt by how relevant they are to it, in one call."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import Any, ClassVar

from bonwise.calls.ask import Answers, Ask, Choice, Model, model_from_spec
from bonwise.calls.providers import parameters, protocol, rerank
from bonwise.errors import UsageError
from bonwise.flags import takes_numbers
from bonwise.judges import asking, registry
from bonwise.judges.protocol import EMPTY, Conclusion, cached_property, candidates_with_words
from bonwise.table.verdicts import Score, Unscored, Verdict, kept, plain_number

_VARIABLE = re.compile(r"\{\{(prompt|candidate)\}\}")


@takes_numbers
@dataclass(frozen=True)
class Rerank:
    """A reranker behind an endpoint: one call for all candidates, each scored by its relevance to the prompt.

    The score is the one that the service sends, neither clipped nor scaled: from 0 to 1 by Cohere and Voyage, of
    other services and models any number, such as a logit. Scores are matched by index. A candidate that the reply
    leaves out, names twice or gives no number is unscored; one that names a candidate that was not sent leaves all of
    them unscored, for it may mean any. Candidates are sent whole, as they are.

    Parameters
    ----------
    model : str
        ``cohere/MODEL``, ``jina/MODEL``, ``voyage/MODEL``, ``vllm/MODEL`` or ``tei/MODEL``.
    route : {"rerank", "score", "classify"}
        Which of its routes a server is asked by: vLLM has all three, TEI the first and the last.
    label : str or int, optional
        Of ``classify``, the class whose number is the score: its place at vLLM, its name at TEI. Where a reply has
        several classes and none is stated, nothing is scored.
    text : str, optional
        Of ``classify``, what is sent of a candidate, with ``{{prompt}}`` and ``{{candidate}}`` in their places. vLLM
        needs it, because it classifies single texts; TEI gets prompt and candidate as a pair unless it is given.
    base_url : str, optional
        Another server that speaks the service's language.
    price : tuple of float, optional
        US dollars per million tokens, and 0 for the output: ``(0.05, 0)``; Cohere and TEI count no tokens.
    params : mapping or str, optional
        Further fields of the request's body, such as ``{"truncation": false}``.

    Examples
    --------
    >>> judge = Rerank("cohere/rerank-v3.5")
    >>> judge.name, judge.calls(candidates=8)
    ('rerank:cohere/rerank-v3.5', 1)
    """

    model: str
    _: KW_ONLY
    route: str = "rerank"
    label: str | int | None = None
    text: str = ""
    # It may hold a login.
    base_url: str | None = field(default=None, repr=False)
    price: tuple[float, float] | None = field(default=None, repr=False)
    params: Mapping[str, Any] | str | None = field(default=None, hash=False)
    asked: Model = field(init=False, repr=False)

    kind: ClassVar[str] = "rerank"
    version: ClassVar[str] = "rerank1"

    def __post_init__(self) -> None:
        asked = model_from_spec(self.model, self.base_url, self.price)
        service = protocol.provider(asked.provider)
        if not isinstance(service, rerank.Reranker):
            raise UsageError(f"{asked.provider} is no reranker", hint="write rerank:cohere/rerank-v3.5, for example")
        service.route(self.route)
        self._check_classes(asked.provider)
        fields = None if self.params is None else parameters.checked_params(self.params, service) or None
        for name, value in {"asked": asked, "price": asked.price, "params": fields}.items():
            object.__setattr__(self, name, value)

    def _check_classes(self, service: str) -> None:
        if self.route != "classify" and (self.text or self.label is not None):
            raise UsageError(f"the route {self.route} has no label and no text", hint="leave them out")
        needed = self.text or (self.route == "classify" and service == "vllm")
        if needed and set(_VARIABLE.findall(self.text)) != {"prompt", "candidate"}:
            hint = "state text= as the model was trained, with {{prompt}} and {{candidate}} in it"
            raise UsageError(f"text is {self.text!r}, and one text is sent of each candidate", hint=hint)

    @cached_property
    def name(self) -> str:
        """What makes this judge on a command line."""
        stated = asking.options_text(self, never=("model", "base_url", "price"))
        return str(registry.Spec(self.kind, stated, rest=self.model))

    def asks(self, prompt: str, candidates: Sequence[str]) -> list[Ask]:
        """Return the one question about all candidates that have words."""
        texts = [candidates[at] for at in candidates_with_words(candidates)]
        sent = [_joined(self.text, prompt, text) for text in texts] if self.text else texts
        words = rerank.question(None if self.text else prompt, sent, self.route)
        read = partial(_read_scores, count=len(texts), label=self.label)
        params = self.params if isinstance(self.params, dict) else {}
        return [Ask(self.asked, "", words, read, max_tokens=0, params=params, second=asking.never)] if texts else []

    def calls(self, candidates: int) -> int:
        """Return one call."""
        return min(candidates, 1)

    def conclude(self, prompt: str, candidates: Sequence[str], answers: Sequence[Answers]) -> Conclusion:  # noqa: ARG002
        """Give each candidate the score that the reply has for it."""
        verdicts: list[Verdict] = [EMPTY] * len(candidates)
        places = candidates_with_words(candidates)
        scores = asking.reading(answers[0]) if places else ()
        given = [scores] * len(places) if isinstance(scores, Unscored) else scores
        for at, score in zip(places, given, strict=True):
            verdicts[at] = score if isinstance(score, Unscored) else Score(score)
        return Conclusion(tuple(verdicts))

    def judge(self, prompt: str, candidates: Sequence[str]) -> Sequence[Verdict] | Awaitable[Sequence[Verdict]]:
        """Ask, wait for the answer, and return one verdict per candidate."""
        return asking.ask_now(self, prompt, candidates)


def _joined(template: str, prompt: str, candidate: str) -> str:
    return _VARIABLE.sub(lambda variable: prompt if variable[1] == "prompt" else candidate, template)


def _read_scores(choice: Choice, count: int, label: str | int | None) -> tuple[float | Unscored, ...] | Unscored:
    """Read one score for each of so many candidates, by index."""
    items = json.loads(choice.text)
    times = Counter(item["index"] if type(item.get("index")) is int else -1 for item in items)
    invented = sum(number for index, number in times.items() if not 0 <= index < count)
    if invented:
        what = "a candidate that was not sent" if invented == 1 else f"{invented} candidates that were not sent"
        return Unscored(f"the reply scores {what}", kept(choice.text))
    scores: list[float | Unscored] = [Unscored("the reply leaves it out")] * count
    for item in items:
        at, value = item["index"], _number_in(item, label)
        number = plain_number(value)
        unscored = value if isinstance(value, Unscored) else Unscored("the score is no number")
        scores[at] = unscored if number is None else number
        if times[at] > 1:
            scores[at] = Unscored(f"the reply scores it {times[at]} times")
    return tuple(scores)


def _number_in(item: Mapping[str, Any], label: str | int | None) -> Any:
    """Return what an item states as the score, of one with classes that of the label."""
    classes = item.get("classes")
    if not classes:
        return item.get("relevance_score", item.get("score"))
    stated = next(iter(classes)) if label is None and len(classes) == 1 else str(label)
    which = "no label is stated" if label is None else f"{stated} is none"
    return classes.get(stated, Unscored(f"{which} of the classes {', '.join(classes)}"))
