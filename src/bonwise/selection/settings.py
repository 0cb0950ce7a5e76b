"""How pools are chosen from: who judges, by which strategy, what on failure, what may be used and spent."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol, TypedDict, Unpack, get_args

from bonwise.calls.ledger.place import run_place
from bonwise.calls.settings import EngineSettings, check_seconds
from bonwise.errors import BonwiseError, UsageError
from bonwise.flags import Option, completed
from bonwise.judges.calling import FunctionJudge, as_judge, threads_of
from bonwise.judges.judging import asked
from bonwise.judges.protocol import Judge, Values, is_asking, variables_of
from bonwise.routing.control import FirstPass, Route
from bonwise.selection.contest_run import most_calls_of
from bonwise.selection.protocol import Strategy

if TYPE_CHECKING:
    from bonwise.calls.ask import Model
    from bonwise.calls.engine import Engine
    from bonwise.calls.providers.protocol import Connection
    from bonwise.calls.spending import Spending

OnFailure = Literal["raise", "first", "random", "owe"]


class Routing(Protocol):
    """What a selection asks of a router; `bonwise.Router` is one."""

    @property
    def strong(self) -> Judge:
        """The stronger judge."""
        ...

    @property
    def second(self) -> Judge | None:
        """A further judge whose verdicts the router wants to see on the first pass."""
        ...

    def consider(self, first_pass: FirstPass, key: str = "") -> Route:
        """Say whether the stronger judge decides."""
        ...


def _check_on_failure(name: str, value: Any) -> None:
    if value not in get_args(OnFailure):
        raise UsageError(f"{name} is {value!r}", hint=f"one of {', '.join(get_args(OnFailure))}")


class ChoiceSettings(TypedDict, total=False):
    """How a pick is made."""

    strategy: Annotated[Strategy | None, Option()]
    """Every score once, or for a judge that compares all pairs, unless another one is given."""
    router: Annotated[Routing | None, Option()]
    """Sends some pools to a stronger judge."""
    on_failure: Annotated[OnFailure, Option("raise", _check_on_failure)]
    """What follows where a judge fails or scores nothing: an error; or the best of what could be judged
    (``partial``), and where nothing could be, the first candidate or a random one; or no pick (``owed``).
    """
    seed: Annotated[int, Option(0)]
    """Breaks ties, together with the prompt and the candidates."""


class SelectorSettings(ChoiceSettings, EngineSettings, total=False):
    """The settings of a `bonwise.Selector`, by keyword."""

    text: Annotated[Callable[[Any], str] | None, Option()]
    """Candidate to the text the judge sees."""


@dataclass(frozen=True, slots=True)
class SelectionSettings:
    """The settings of a selection, checked."""

    judge: Judge
    strategy: Strategy
    router: Routing | None = None
    deadline: float | None = None
    """Seconds."""
    on_failure: OnFailure = "raise"
    seed: int = 0
    """Breaks ties."""

    @property
    def asks_models(self) -> bool:
        """Whether some model may be asked."""
        return any(map(is_asking, self.judges)) or most_calls_of(self.strategy, self.judge, 2) > 0

    @property
    def needs_a_loop(self) -> bool:
        """Whether there is something to wait for: a model, an asynchronous function, several threads, a deadline."""
        return self.deadline is not None or any(map(_is_waited_for, self.judges)) or self.asks_models

    @property
    def variables(self) -> tuple[str, ...]:
        """What pools must state beyond prompt and candidates, for the judges and that of the strategy."""
        return variables_of(self.all_judges)

    @property
    def all_judges(self) -> list[Judge]:
        """The judge, those of the router, and that of the strategy."""
        by_strategy = getattr(self.strategy, "pairwise", None)
        return [*self.judges, *([] if by_strategy is None else [by_strategy])]

    def check_bound(self, values: Values | None = None) -> None:
        """Refuse judges that need variables where nothing states them, before anything is asked."""
        lacking = [name for name in self.variables if name not in (values or {})]
        if lacking:
            raise UsageError(
                f"{self.judge.name} needs {', '.join(f'{{{{{name}}}}}' for name in lacking)} of the pool",
                hint="pass pools that state it to select_many, or bind the judge: judge.given({...})",
            )

    @property
    def judges(self) -> list[Judge]:
        """The judge, and those of the router."""
        router = self.router
        others = [] if router is None else [router.strong, router.second]
        return [self.judge, *(other for other in others if other is not None)]


def settings_of(
    judge: Judge | Callable[[str, str], Any], deadline: float | None = None, **choice: Unpack[ChoiceSettings]
) -> SelectionSettings:
    """Check settings and fill in the strategy; `UsageError` refuses them, `JudgeError` what is no judge."""
    chosen = as_judge(judge)
    strategy = choice.get("strategy")
    taken = default_strategy(chosen) if strategy is None else strategy
    if isinstance(taken, type) or not isinstance(taken, Strategy):
        raise UsageError(f"{taken!r} is not a strategy", hint="such as bw.Adaptive(margin=0.1)")
    if taken.compares and is_asking(chosen) and not compares(chosen):
        raise UsageError(
            f"{taken.name} compares candidates, and {chosen.name} scores each alone",
            hint="take a judge that compares, such as pairwise, or the strategy tie_break:of=JUDGE",
        )
    check_seconds("deadline", deadline)
    settled: dict[str, Any] = {**completed(ChoiceSettings, choice, "settings_of"), "strategy": taken}
    most_calls_of(taken, chosen, 2)
    return SelectionSettings(chosen, deadline=deadline, **settled)


def default_strategy(judge: Judge) -> Strategy:
    """Return what a judge does where no strategy is named: compare all pairs, or score each candidate once."""
    if compares(judge):
        from bonwise.selection.strategies.matches import RoundRobin  # noqa: PLC0415 - whichever is needed

        return RoundRobin()
    from bonwise.selection.strategies.scores import Greedy  # noqa: PLC0415

    return Greedy()


def _is_waited_for(judge: Judge) -> bool:
    """Tell whether a judge is a function that is awaited or has several threads: it judges candidates at once."""
    return threads_of(judge) > 1 or (isinstance(judge, FunctionJudge) and judge.asynchronous)


def compares(judge: Judge) -> bool:
    """Tell whether a judge compares candidates in pairs, and scores none alone."""
    return getattr(judge, "pairs", False) is True


_OF_A_POOL = frozenset({"deadline", "max_concurrency", "reask"})
"""What needs no engine where a function asks a model in its turn: pools keep it, or a ledger does."""


@dataclass(frozen=True, slots=True)
class Engines:
    """Makes engines with the same settings, one for each event loop. All spend from one account."""

    settings: EngineSettings
    """Each has its value."""
    spending: "Spending | None" = field(default=None, compare=False, repr=False)
    """The account, where there is a limit."""

    @classmethod
    def of(cls, **settings: Unpack[EngineSettings]) -> "Engines":
        """Check settings, and open an account where there is a limit."""
        made = cls(completed(EngineSettings, settings, "EngineSettings"))
        limits = (made.settings["max_calls"], made.settings["max_tokens"], made.settings["max_cost"])
        if all(limit is None for limit in limits):
            return made
        from bonwise.calls.spending import Spending  # noqa: PLC0415 - most have no limit

        spending = Spending(*limits)
        if spending.shared is not None:
            spending.shared.refuse_without(made.settings["ledger"])
        return replace(made, spending=spending)

    def __reduce__(self) -> tuple[Any, ...]:
        # An account is pickled as its limits: in another process nobody can tell what was spent here.
        return _made_again, (self.settings,)

    @property
    def run(self) -> Path | str | None:
        """The run folder, or the address of a database; None where no answer is kept."""
        return run_place(self.settings["ledger"])

    @property
    def stated(self) -> Mapping[str, Any]:
        """The settings that differ from their defaults."""
        usual = completed(EngineSettings, {}, "EngineSettings")
        return {name: value for name, value in self.settings.items() if value != usual[name]}  # type: ignore[literal-required]

    @property
    def bind(self) -> bool:
        """Whether something is set that holds also for a model that a function asks in its turn."""
        return not self.stated.keys() <= _OF_A_POOL

    def refuse_unpriced(self, made: SelectionSettings) -> None:
        """Refuse a limit on money beside a model without a known price: it would fail at the first call."""
        if self.settings["max_cost"] is None or self.settings["offline"]:
            return
        from bonwise.calls.prices import Prices, unpriced  # noqa: PLC0415 - few limit money
        from bonwise.calls.providers.protocol import provider  # noqa: PLC0415 - as above

        prices = Prices.load()
        parts = made.strategy if is_dataclass(made.strategy) else None
        inner = () if parts is None else (getattr(parts, part.name) for part in fields(parts))
        for judge in filter(is_asking, [*made.judges, *inner]):
            served: list[tuple[Model, str]] = []
            with suppress(BonwiseError):  # what is wrong with a judge is said when it is asked
                asks = asked(judge, "?", ("a", "b"))
                served = [
                    (ask.model, provider(ask.model.provider).request(ask, 1, frozenset()).base_url) for ask in asks
                ]
            for model, base_url in served:
                if prices.of(model, base_url) is None:
                    raise unpriced(model, base_url)

    def make(self) -> "Engine":
        """Return an engine. No attempt takes longer than the deadline."""
        from bonwise.calls.engine import Engine  # noqa: PLC0415 - loads what talks to services, when first needed
        from bonwise.calls.providers.protocol import Connection  # noqa: PLC0415 - as above

        connection = self.settings["connection"] or Connection(connections=self.settings["max_concurrency"])
        settings = self.settings | {"connection": hurried(connection, self.settings["deadline"])}
        return Engine(spending=self.spending, **settings)


def _made_again(settings: EngineSettings) -> Engines:
    return Engines.of(**settings)


def hurried(connection: "Connection", deadline: float | None) -> "Connection":
    """Return a connection that gives up an attempt at the deadline: one that takes longer is of no use."""
    if deadline is None:
        return connection
    soonest = {name: min(getattr(connection, name), deadline) for name in ("timeout", "attempt_timeout")}
    return replace(connection, **soonest)
