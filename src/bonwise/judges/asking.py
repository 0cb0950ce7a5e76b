"""What all judges share that ask a model: their settings, their name, and how answers are taken up."""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import KW_ONLY, dataclass, field, fields
from functools import partial
from pathlib import Path
from textwrap import indent
from typing import Any, ClassVar, Self

from bonwise.calls.ask import Answers, Ask, Choice, Model, encoded, model_from_spec, unreadable
from bonwise.calls.providers.supplied import SuppliedClient, supplied_model
from bonwise.errors import UsageError
from bonwise.flags import takes_numbers
from bonwise.judges import prompt_file, prompt_loading, protocol, registry
from bonwise.judges.parse import answer, readers, refusals
from bonwise.table.checks import check_number, check_whole
from bonwise.table.verdicts import Score, Unscored, Verdict, kept

MISSING = Unscored("owed: no answer arrived", owed=True)


_ASKING = """\
base_url : str, optional
    Another server that speaks the provider's language.
client : object, optional
    A client of the provider's official SDK that you made, for Azure, Bedrock or Vertex or with a proxy of your
    own: it sends the requests, and is neither changed nor closed.
price : tuple of float, optional
    US dollars per million tokens of input, cached or not, and of output: ``(0.25, 2.0)``.
temperature : float, optional
    None leaves it to the server.
max_tokens : int
    The most an answer may have, reasoning included.
params : mapping or str, optional
    Further fields of the request's body, such as ``{"reasoning_effort": "low"}``. They enter the ledger's key.
longest : int
    Characters of one text beyond which its middle is left out.
"""
"""Stands in the documentation of each judge in place of ``**asking``."""


@dataclass(frozen=True)
class AskingSettings(ABC):
    """The settings of a judge that asks one model by one prompt file.

    A `UsageError` refuses a setting that means nothing, a prompt file for another kind of judge, and a client that
    does not fit the provider.
    """

    model: str
    """``provider/model``."""
    _: KW_ONLY
    prompt: str | Path = ""
    """Name of a built-in prompt, or a file; it is read once, when the judge is made."""
    # It may hold a login.
    base_url: str | None = field(default=None, repr=False)
    client: Any = field(default=None, repr=False)
    price: tuple[float, float] | None = field(default=None, repr=False)
    temperature: float | None = 0.0
    max_tokens: int = 1024
    params: Mapping[str, Any] | str | None = field(default=None, hash=False)
    longest: int = 60_000
    file: prompt_file.PromptFile = field(init=False, repr=False)
    asked: Model = field(init=False, repr=False)

    kind: ClassVar[str]
    not_in_texts: ClassVar[frozenset[str]] = frozenset({"client"})
    """Settings that no text can state, so that a command line has none of them."""
    takes_images: ClassVar[bool] = False
    """Whether it shows the model the images of prompts and candidates."""
    needs_logprobs: ClassVar[bool] = False
    """Whether the judge can say nothing where a server sends no log probabilities."""

    def __init_subclass__(cls) -> None:
        if cls.__doc__:  # python -OO leaves documentation out
            cls.__doc__ = re.sub(r"( *)\*\*asking\n.*\n", lambda line: indent(_ASKING, line[1]), cls.__doc__)

    def __post_init__(self) -> None:
        object.__setattr__(self, "temperature", checked_temperature(self.temperature))
        check_whole("max_tokens", self.max_tokens, least=1)
        check_whole("longest", self.longest, least=1)
        object.__setattr__(self, "asked", self._model())
        object.__setattr__(self, "price", self.asked.price)
        object.__setattr__(self, "params", self._fields())
        object.__setattr__(self, "file", self._loaded())
        if self.file.mode != self.mode:
            hint = f"{self.kind} needs a prompt of mode {self.mode}"
            raise UsageError(f"the prompt {self.prompt} is for mode {self.file.mode}", hint=hint)
        self._check()

    def _model(self) -> Model:
        if self.client is None:
            return model_from_spec(self.model, self.base_url, self.price)
        return supplied_model(self.model, self.client, self.base_url, self.price)

    def _loaded(self) -> prompt_file.PromptFile:
        """Read the prompt file."""
        return prompt_loading.load(self.prompt or self.mode)

    def _fields(self) -> dict[str, Any] | None:
        if self.params is None:
            return None
        # Providers are looked up only where a setting depends on them.
        from bonwise.calls.providers.parameters import checked_params  # noqa: PLC0415
        from bonwise.calls.providers.protocol import provider  # noqa: PLC0415

        return checked_params(self.params, provider(self.asked.provider)) or None

    def __copy__(self) -> Self:
        copied = object.__new__(type(self))
        copied.__dict__.update(self.__dict__)
        return copied

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        # A client holds connections: a copy of the judge sends by the same one.
        memo[id(self.client)] = self.client
        copied = object.__new__(type(self))
        memo[id(self)] = copied
        copied.__dict__.update(deepcopy(self.__dict__, memo))
        return copied

    def __getstate__(self) -> object:
        if self.client is not None:
            SuppliedClient(self.client).refuse_pickling()
        return super().__getstate__()

    def reworded(self, file: prompt_file.PromptFile) -> Self:
        """Return the judge that asks by another file of the same mode."""
        copied = protocol.changed(self, file=file)
        for name in ("version", "_schema", "_read"):
            copied.__dict__.pop(name, None)
        return copied

    @property
    def mode(self) -> str:
        """The mode that the prompt file must have."""
        return self.kind

    @protocol.cached_property
    def name(self) -> str:
        """What makes this judge on a command line; options that stand at their default are left out.

        Address, client, price and seed are settings of a whole run, so they are left out too.
        """
        never = ("model", "base_url", "client", "price", "seed")
        return str(registry.Spec(self.kind, options_text(self, never=never), rest=self.model))

    @protocol.cached_property
    def version(self) -> str:
        """Identity of the prompt file, version of the readers, and the seed where it decides what is asked."""
        return f"{self.file.identity} parse{answer.VERSION}{self._drawn()}"

    @protocol.cached_property
    def _schema(self) -> dict[str, Any] | None:
        return self.file.schema

    @protocol.cached_property
    def _read(self) -> Callable[[Choice], Any]:
        """What reads an answer about one candidate, where each is asked about alone."""
        raise NotImplementedError

    def asks(self, prompt: str, candidates: Sequence[str]) -> Sequence[Ask]:
        """Return one question for each candidate that has words; who asks otherwise overrides it."""
        return self.ask_alone(prompt, candidates, self._read)

    @abstractmethod
    def conclude(self, prompt: str, candidates: Sequence[str], answers: Sequence[Answers]) -> protocol.Conclusion:
        """Turn the answers, in the order of the questions, into verdicts."""

    @takes_numbers
    def calls(self, candidates: int) -> int:
        """Return one call per candidate; who asks otherwise overrides it."""
        return candidates

    def judge(self, prompt: str, candidates: Sequence[str]) -> Sequence[Verdict] | Awaitable[Sequence[Verdict]]:
        """Ask, wait for the answers, and return one verdict per candidate."""
        return ask_now(self, prompt, candidates)

    def ask(self, prompt: str, shown: Sequence[str], read: Callable[[Choice], Any]) -> Ask:
        """Return the question about these candidates, in the order in which they are shown."""
        words = self.file.render(prompt, shown, self.longest, self._further(shown))
        if words.images and not self.takes_images:
            protocol.refuse_images([self])
        return Ask(
            self.asked,
            words.system,
            words.user,
            partial(readers.in_answer_to, read, words.user),
            schema=self._schema,
            max_tokens=self.max_tokens,
            temperature=self.temperature,
            top_logprobs=20 if self.needs_logprobs else 0,
            params=self.params if isinstance(self.params, dict) else {},
            # What a server sends of probabilities is no matter of the reply's form.
            second=never if self.needs_logprobs else worth_second_ask,
            shortened=words.shortened,
            replaced=words.replaced,
            images=words.images,
        )

    def ask_alone(self, prompt: str, candidates: Sequence[str], read: Callable[[Choice], Any]) -> list[Ask]:
        """Return one question for each candidate that has words."""
        return [
            self.ask(prompt, [candidates[candidates_with_word]], read)
            for candidates_with_word in protocol.candidates_with_words(candidates)
        ]

    def _further(self, shown: Sequence[str]) -> Mapping[str, str]:  # noqa: ARG002 - of a rubric alone
        """Return the values of variables that the prompt file has beyond those of its mode."""
        return {}

    def _drawn(self) -> str:
        """Return what of the version a seed decides."""
        return ""

    def _check(self) -> None:  # noqa: B027 - most kinds have no settings of their own
        """Look at the settings that only one kind of judge has."""


def never(_choice: Choice, _reading: Unscored) -> bool:
    """Tell that no reply is worth a second ask."""
    return False


def worth_second_ask(choice: Choice, reading: Unscored) -> bool:
    """Tell whether a reply failed in its form alone, as `bonwise.calls.ask.unreadable` does, by its words too."""
    return unreadable(choice, reading) and not (_SAYS_NOTHING.search(choice.text) or refusals.refuses(choice.text))


_SAYS_NOTHING = re.compile(r'"\s*:\s*null\b')  # a field is left open: the model cannot judge


def ask_now(judge: protocol.Judge, prompt: str, candidates: Sequence[str]) -> Sequence[Verdict]:
    """Ask a judge's questions, wait for the answers, and return its verdicts."""
    # What sends questions loads the clients of the services; a judge that is only described needs none.
    from bonwise.judges.judging import judge_now  # noqa: PLC0415

    return judge_now(judge, prompt, candidates).verdicts


def concluded_alone(
    candidates: Sequence[str], answers: Sequence[Answers], score: Callable[[Any, str], Score]
) -> protocol.Conclusion:
    """Return the score of each candidate asked about alone; `score` takes a reading and the words."""
    verdicts: list[Verdict] = [protocol.EMPTY] * len(candidates)
    for candidates_with_word, replies in zip(protocol.candidates_with_words(candidates), answers, strict=True):
        outcome = reading(replies)
        verdicts[candidates_with_word] = (
            outcome if isinstance(outcome, Unscored) else score(outcome, kept(replies.answers[0].raw))
        )
    return protocol.Conclusion(tuple(verdicts))


def reading(answers: Answers) -> Any:
    """Return what the only sample of an ask says; `Unscored`, and owed, where there is none."""
    return answers.answers[0].reading if answers.answers else MISSING


def owed_among(parts: Iterable[object]) -> Unscored | None:
    """Return the most frequent of the parts owed, None for none: a verdict of several waits for all of them."""
    owed = Counter(part for part in parts if isinstance(part, Unscored) and part.owed)
    return owed.most_common(1)[0][0] if owed else None


def most_common(unscored: Iterable[Unscored], of: str) -> Unscored:
    """Return one `Unscored` for several, none owed, with the number of each reason; `of` names them in the plural."""
    every = list(unscored)
    ((most, _),) = Counter(verdict.reason for verdict in every).most_common(1)
    raw = next((verdict.raw for verdict in every if verdict.reason == most), "")
    reason = f"none of {len(every)} {of} was scored: {counted_reasons(every)}"
    return Unscored(reason, raw, alone=all(verdict.alone for verdict in every))


def counted_reasons(unscored: Iterable[Unscored]) -> str:
    """Return the reasons with the number of each, the most frequent first, and those after the third as one."""
    counts = Counter(verdict.reason for verdict in unscored).most_common()
    listed = ", ".join(f"{reason} ({count})" for reason, count in counts[:3])
    others = sum(count for _, count in counts[3:])
    return f"{listed}, other reasons ({others})" if others else listed


def checked_temperature(value: float | None) -> float | None:
    """Return a temperature, None or from 0 to 2, as it is sent: 0, 0.0 and -0.0 are the same question."""
    if value is None:
        return None
    check_number("temperature", value, low=0, high=2)
    return abs(float(value))


def options_text(judge: Any, *, always: Collection[str] = (), never: Collection[str] = ("of",)) -> dict[str, str]:
    """Return a judge's settings as on a command line: `always` even at their default, `never` not at all."""
    options = {}
    for setting in fields(judge):
        value = getattr(judge, setting.name)
        if setting.init and setting.name not in never and (setting.name in always or value != setting.default):
            options[setting.name] = _option(value)
    return options


def _option(value: object) -> str:
    if isinstance(value, Path):
        # A plain word would name a built-in prompt.
        return f"./{value}" if len(value.parts) == 1 else str(value)
    if isinstance(value, Mapping):
        return encoded(value).decode()
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and math.isfinite(value) and value == int(value):
        return str(int(value))
    return str(value)
