"""Strategies by the texts that name them, from the entry points that built-ins and plug-ins share."""

from __future__ import annotations

from importlib.metadata import entry_points

from bonwise.entry_points import Factory, Group, Kind, option_values
from bonwise.errors import UsageError
from bonwise.judges.registry import judge_from_spec
from bonwise.selection.protocol import Strategy
from bonwise.selection.spec import StrategySpec, read_strategy

__all__ = ["strategies", "strategy_from_spec"]

GROUP = "bonwise.strategies"


def strategy_from_spec(
    text: str, *, model: str | None = None, base_url: str | None = None, seed: int = 0
) -> Strategy:
    """Make the strategy that a command line names.

    Parameters
    ----------
    text : str
        ``KIND``, ``KIND:option=value,option=value``, or with a judge behind ``of=``, which comes last. The factory
        behind the kind is called with the options as keywords; a first parameter without a default is a judge and
        gets the one behind ``of=``.
    model : str, optional
        ``provider/model`` for such a judge that wants a model and names none.
    base_url, seed : str and int, optional
        For such a judge; the seed is also handed to a factory that has a parameter of this name.

    Raises
    ------
    bonwise.errors.UsageError
        No such kind or option, a judge that is missing or not wanted, or a plug-in that cannot be loaded.

    Examples
    --------
    >>> strategy_from_spec("adaptive:margin=0.2,repick=false")
    Adaptive(margin=0.2, max_draws=3, repick=False, temperature=1.0)
    >>> strategy_from_spec("tie_break:of=pairwise", model="openai/gpt-5-mini").name
    'tie_break:of=pairwise:openai/gpt-5-mini'
    """
    spec = read_strategy(text)
    factory = _group().factory(spec.kind)
    options = option_values(spec.kind, spec.options, _options(factory))
    if "seed" in factory.parameters:
        options.setdefault("seed", seed)
    judges = [judge_from_spec(spec.of, model=model, base_url=base_url, seed=seed)] if _wants(factory, spec) else []
    made = factory.make(*judges, **options)
    if not isinstance(made, Strategy):
        raise UsageError(f"{text!r} made no strategy", hint="see the contract in bonwise.selection.protocol")
    return made


def strategies() -> list[Kind]:
    """Return every kind of strategy that is installed; a broken one with the reason."""
    return _group().kinds(lambda factory: (name for name in _options(factory) if name != "seed"))


def _group() -> Group:
    return Group("strategy", tuple(entry_points(group=GROUP)))


def _options(factory: Factory) -> tuple[str, ...]:
    return factory.parameters[1:] if _takes_judge(factory) else factory.parameters


def _takes_judge(factory: Factory) -> bool:
    return bool(factory.required) and factory.required[0] == factory.parameters[0]


def _wants(factory: Factory, spec: StrategySpec) -> bool:
    """Tell whether a judge is to be made; refuse one that is missing, and one that is not wanted."""
    if _takes_judge(factory) and not spec.of:
        raise UsageError(
            f"{str(spec)!r} names no judge", hint=f"write {spec.kind}:of=JUDGE, such as of=pairwise:openai/gpt-5-mini"
        )
    if spec.of and not _takes_judge(factory):
        raise UsageError(
            f"{spec.kind} is made of no judge", hint="leave out of=; --judge names the judge that selects"
        )
    return bool(spec.of)
