"""One LLM call as data: what is asked, what is sent, and what came back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from bonwise.calls.bill import Bill, PartialUsage, Usage
from bonwise.errors import FileError, UsageError
from bonwise.table import checks, verdicts

if TYPE_CHECKING:
    from bonwise.calls.attempts import CallAttempts
    from bonwise.calls.providers.supplied import SuppliedClient
    from bonwise.table.images import Image


KEY_VERSION = 1

ASKER: ContextVar[str] = ContextVar("who asks", default="")
"""Whose questions a service asks: the answers to one asker are never reused for another. Empty for a single user."""

# Made once: `json.dumps` would make one at each call.
_JSON = json.JSONEncoder(allow_nan=False, ensure_ascii=False, separators=(",", ":"))
_ASCII_JSON = json.JSONEncoder(allow_nan=False, separators=(",", ":"))


def encoded(value: object) -> bytes:
    r"""Return JSON in UTF-8. Lone surrogates, which no UTF-8 text can hold, are written as JSON escapes."""
    try:
        return _JSON.encode(value).encode()
    except UnicodeEncodeError:
        return _ASCII_JSON.encode(value).encode()


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it will be sent, apart from its secrets."""

    provider: str
    base_url: str
    """Scheme, host, port and path; no user, password or query."""
    api_version: str
    """Of the service: what the provider's version header says, and whatever else of query and headers, apart from
    secrets, may change an answer. Empty where there is none of that.
    """
    endpoint: str
    """Path below the base, such as ``/chat/completions``."""
    body: Mapping[str, Any]
    """The JSON body."""
    model: str
    """As in the body."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """What of the body shapes the sampling: temperature, schema, logprobs and so on, as sent."""
    not_in_key: frozenset[str] = frozenset()
    """Fields of the body that do not change what an answer says. Everything else enters the key: a field that is
    forgotten here costs a call, one that is forgotten in a list of what counts would serve wrong answers.
    """
    extra: frozenset[str] = frozenset()
    """Fields of the body that the user named: a request can do without those that the service does not know."""
    images: Mapping[str, Image] = field(default_factory=dict, repr=False, compare=False)
    """By the reference that stands for it in the body. What is hashed and kept holds the references only."""
    content: bytes = field(init=False, repr=False, compare=False)
    """The body in the bytes that are hashed and kept, and sent where it has no images."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "content", encoded(self.body))

    def sent_body(self) -> Mapping[str, Any]:
        """Return the body with its images; one that is gone or has changed raises `AttemptError`."""
        try:
            return _with_images(self.body, self.images) if self.images else self.body
        except FileError as error:
            # Raised below: somebody has to put the image back.
            problem = Problem("broken", error.message, sent=False)
        raise AttemptError(problem)

    def sent_content(self) -> bytes:
        """Return the bytes that are sent where there are images."""
        return encoded(self.sent_body())

    def canonical(self) -> bytes:
        """Return the bytes that are hashed, in the order sent: models fill a schema in the order it has."""
        kept = self.content
        if not self.not_in_key.isdisjoint(self.body):
            kept = encoded({name: value for name, value in self.body.items() if name not in self.not_in_key})
        return encoded([KEY_VERSION, self.provider, self.base_url, self.api_version, self.endpoint]) + kept

    def keys(self, samples: Iterable[int], reask: int = 0) -> tuple[bytes, ...]:
        """Return one key a sample: SHA-256 of the canonical request, sample index, reask number and `ASKER`."""
        stem = hashlib.sha256(self.canonical())
        whose = f"\0{ASKER.get()}" if ASKER.get() else ""
        return tuple(_finish(stem, f"\0{sample}\0{reask}{whose}") for sample in samples)


def _with_images(value: Any, images: Mapping[str, Image], key: str = "") -> Any:
    """Return a body in which images stand for their references: no text is looked at, whatever it says."""
    if isinstance(value, Mapping):
        return {name: _with_images(inner, images, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [_with_images(inner, images, key) for inner in value]
    image = images.get(value) if key in ("url", "image_url", "data") and isinstance(value, str) else None
    prefix = "" if image is None or key == "data" else f"data:{image.media_type};base64,"
    return value if image is None else image.address or prefix + image.base64()


def _finish(stem: hashlib._Hash, ending: str) -> bytes:
    whole = stem.copy()
    whole.update(ending.encode())
    return whole.digest()


Finish = Literal["stop", "length", "refusal", "filter", "other"]
"""Why an answer ended: by itself, by `max_tokens` or the context, by refusing, by a content filter, or otherwise."""


@dataclass(frozen=True, slots=True)
class TokenLogprobs:
    """One token of an answer with its most likely alternatives (itself among them, where reported)."""

    token: str
    alternatives: Mapping[str, float]
    """Token to natural log of its probability."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One answer of a reply."""

    text: str
    """What the model said, reasoning channels left out."""
    finish: Finish = "stop"
    detail: str = ""
    """The server's own word for `finish`, and its reason for a refusal."""
    logprobs: tuple[TokenLogprobs, ...] | None = None
    """None where the server sent none, whether or not they were asked for."""
    failed: str = field(default="", repr=False)
    """Why it is no answer of the model: the server's error, in one line."""
    elsewhere: str = field(default="", repr=False)
    """Where the model's words stand instead, and what to set, if they are not in `text`."""
    asked: str = field(default="", repr=False, compare=False)
    """The words that it answers, where a reader needs them to tell what a reply copies from what it says."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A complete answer of a server."""

    choices: tuple[Choice, ...]
    """At least one."""
    usage: Usage | None
    """Of the whole call; None where the server did not count all of it."""
    model: str = ""
    """The snapshot that answered, as the server names it."""
    fingerprint: str = ""
    """The server's configuration, where it says."""
    partial_usage: PartialUsage | None = None
    """What the server counted, where that is only a part of the call."""


Outcome = Choice | verdicts.Unscored
"""An answer to be read; or why there is none: the server refused the request for good, or it is owed."""


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """The outcomes of one call by key, and what they cost."""

    outcomes: Mapping[bytes, Outcome]
    """A key is absent where the server sent fewer answers than were asked for, or where `busy`."""
    bill: Bill = field(default_factory=Bill)
    asked: int = 0
    """Answers that the request asked for."""
    faulty: int = 0
    """Answers of the reply that are none of the model's: their keys are absent too."""
    busy: bool = False
    """Whether another process was asking for some of the keys at that moment."""

    @property
    def tokens_each(self) -> float:
        """Tokens of one of its answers, input and output; 0 where the server counted none."""
        answers = sum(not isinstance(outcome, verdicts.Unscored) for outcome in self.outcomes.values())
        return (self.bill.input_tokens + self.bill.output_tokens) / answers if answers else 0.0


Kind = Literal[
    "throttled", "overloaded", "broken", "timeout", "unsupported", "rejected", "oversized", "denied", "quota"
]
"""
throttled    429: asked again, when the server says where it does
overloaded   408, 409, 5xx, 529, or the server says so under another status: asked again
broken       no connection, a body that was cut or is not JSON, or a reply without an answer: asked again
timeout      no answer in time: asked again
unsupported  a parameter the model does not take: asked again without it
rejected     400, 422 in the service's own words, 413: this request will never be answered; final
oversized    an answer beyond the size that is read: paid perhaps, and as long when made again; final
denied       401, 403, 404, or a refusal that is no word of the service: someone has to mend key, model or address
quota        the account is exhausted: no request will be answered until someone pays
"""

TRANSIENT: frozenset[str] = frozenset({"throttled", "overloaded", "broken", "timeout"})


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a call brought no answer."""

    kind: Kind
    message: str
    """One line, without any secret."""
    status: int | None = None
    """Of HTTP, None where there was no response."""
    parameter: str = ""
    """The parameter that is not supported."""
    retry_after: float | None = None
    """Seconds that the server asks to wait."""
    sent: bool = False
    """Whether the server may have done the work, and may bill it, although no answer arrived."""

    @property
    def transient(self) -> bool:
        """Whether the same request may succeed later."""
        return self.kind in TRANSIENT


class AttemptError(Exception):
    """One attempt brought no answer; stays inside the engine."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        super().__init__(problem.message)


def refused_for_good(problem: Problem) -> verdicts.Unscored:
    """Return the verdict on a request that its server will never answer, or with more than is read."""
    if problem.kind == "oversized":
        return verdicts.Unscored(problem.message)
    return verdicts.Unscored(f"the server refused the request: {problem.message}")


@dataclass(frozen=True, slots=True)
class Model:
    """Which model answers, and where it is served."""

    provider: str
    """A name of the entry-point group ``bonwise.providers``: ``openai``, ``anthropic`` or a plug-in's."""
    name: str
    """As the server knows it."""
    # It may hold a login.
    base_url: str | None = field(default=None, repr=False)
    """Another server that speaks the provider's language."""
    price: tuple[float, float] | None = field(default=None, repr=False)
    """US dollars per million tokens of input and of output, in place of what files state."""
    client: SuppliedClient | None = field(default=None, repr=False)
    """The user's own, which asks it; None where bonwise makes one."""

    def __str__(self) -> str:
        return f"{self.provider}/{self.name}"


_FEWER = "top_logprobs up to "


def takes_fewer(most: int) -> str:
    """Return the name under which a service's limit of log probabilities stands among what it refused."""
    return f"{_FEWER}{most}"


def logprobs_taken(wanted: int, refused: Iterable[str]) -> int:
    """Return how many log probabilities can be asked for, of so many that are wanted."""
    return min([wanted, *(int(name.removeprefix(_FEWER)) for name in refused if name.startswith(_FEWER))])


_SETTLED = ("refused", "cannot judge", "the reader failed")
"""How the reasons of readings begin that another answer is not wanted for."""


def unreadable(choice: Choice, reading: verdicts.Unscored) -> bool:
    """Tell whether an answer failed in its form alone: no refusal, filter or cut, and no "cannot judge"."""
    return choice.finish == "stop" and not reading.owed and not reading.reason.startswith(_SETTLED)


@dataclass(frozen=True, slots=True)
class Ask:
    """One question, its settings, and how an answer to it is read."""

    model: Model
    system: str
    """Instructions: the same for every candidate, so that a server can cache them."""
    user: str
    """What is to be judged."""
    read: Callable[[Choice], Any] = field(compare=False, repr=False)
    """From a `bonwise.calls.ask.Choice` to what it says, or to `bonwise.table.verdicts.Unscored`. It must be pure:
    stored answers are read anew. Plain values, and (named) tuples of them.
    """
    schema: Mapping[str, Any] | None = None
    """JSON schema of the answer, an object; None asks for plain text."""
    max_tokens: int = 1024
    """The most the answer may have, reasoning included."""
    temperature: float | None = None
    """None leaves it to the server."""
    top_logprobs: int = 0
    """How many alternatives to report for each token of the answer; 0 asks for none."""
    params: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """Further fields of the body, as `bonwise.calls.providers.parameters.checked_params` returns them."""
    samples: int = 1
    """Independent answers wanted."""
    first_sample: int = 0
    """Index of the first of them: an answer to a question is kept under its index, so 1 wants another answer than the
    one that a plain ask gets.
    """
    shortened: int = field(default=0, compare=False)
    """Texts in it that were too long and are shown without their middle."""
    second: Callable[[Choice, verdicts.Unscored], bool] = field(default=unreadable, compare=False, repr=False)
    """Whether an answer that was not read is asked for a second time unless ``reask`` says otherwise."""
    replaced: int = field(default=0, compare=False)
    """Halves of surrogate pairs in it, which no server takes, that are shown as U+FFFD."""
    images: tuple[tuple[str, Image], ...] = ()
    """Images, in order, each with the line of `user` behind which it is shown; no line occurs twice."""
    question: Mapping[str, Any] | None = field(default=None, hash=False)
    """A question with its possible answers, for the service's endpoint for decisions: the answer is a distribution.
    Its instructions are `system`.
    """

    def pieces(self) -> Iterator[str | Image]:
        """Yield what is judged, the images between the words."""
        rest = self.user
        for line, image in self.images:
            before, _, rest = rest.partition(line)
            yield from (before + line, image)
        if rest:
            yield rest


def model_from_spec(spec: str, base_url: str | None = None, price: tuple[float, float] | None = None) -> Model:
    """Read ``provider/model``, perhaps at another server's `base_url`; `price` is per million tokens."""
    provider, _, name = spec.partition("/")
    if "," in name and "=" in name:
        raise UsageError(
            f"{spec!r} names no model", hint="options stand before the colon: KIND,option=value:provider/model"
        )
    if not provider or not name or spec != spec.strip():
        raise UsageError(f"{spec!r} names no model", hint="write provider/model, such as openai/gpt-5-mini")
    return Model(provider, name, base_url, checks.checked_price("price", price))


@dataclass(frozen=True, slots=True)
class Answer:
    """One sample."""

    reading: Any | verdicts.Unscored
    """What the ask's reader found; `Unscored` with ``owed`` set where no answer arrived."""
    raw: str = ""
    """The model's words."""
    from_ledger: bool = False
    """Whether it cost nothing: stored already, or shared with another question under way."""


@dataclass(frozen=True, slots=True)
class Answers:
    """All samples of one ask, in the order of their index."""

    answers: tuple[Answer, ...]
    bill: Bill = field(default_factory=Bill)
    effective: Mapping[str, Any] = field(default_factory=dict)
    """The parameters that were really sent; a parameter the server refused is absent."""


def _nobody() -> None:
    """Tell nobody."""


@dataclass(frozen=True, slots=True)
class Occasion:
    """Set around what asks: judges know neither of a time nor of other pools."""

    until: float | None = None
    """Time of the event loop by which answers are needed, where that is earlier than the deadline of the engine."""
    waits: Callable[[], None] = _nobody
    """Called when a call that has failed begins to wait for its next attempt."""


OCCASION: ContextVar[Occasion] = ContextVar("what calls are made for", default=Occasion())  # noqa: B039 - it is frozen

CALLS_FOR: ContextVar[tuple[list[CallAttempts], ...]] = ContextVar("who counts the calls that are begun", default=())
"""Lists to which every call is added that a draw begins, in whatever thread and by whichever engine."""
