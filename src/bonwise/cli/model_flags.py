"""The flags of commands that ask models: which ones, where answers are kept, and what may be spent."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bonwise.cli.arguments import Seed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bonwise.calls.providers.protocol import Connection
    from bonwise.judges.protocol import Judge
    from bonwise.selection.protocol import Strategy

__all__ = ["RUN", "ModelFlags", "PoolModelFlags"]

RUN = Path("bonwise-run")
"""The run folder of a command that names none: a paid answer is never kept nowhere."""

_MODEL = Annotated[str | None, typer.Option("--model", help="provider/model for judges that name none.")]
_BASE_URL = Annotated[str | None, typer.Option("--base-url", help="Another server that speaks the same language.")]
_RUN = Annotated[Path, typer.Option("--run", help="Run folder: the ledger of paid answers.")]
_MAX_CONCURRENCY = Annotated[int, typer.Option("--max-concurrency", help="Calls in flight at once.", min=1)]
_TRANSPORT = Annotated[
    str | None,
    typer.Option("--transport", help="aiohttp sends for less than half of the CPU; it needs bonwise[fast]."),
]
_MAX_COST = Annotated[float | None, typer.Option("--max-cost", help="Most US dollars this command may spend.")]
_MAX_CALLS = Annotated[int | None, typer.Option("--max-calls", help="Most calls this command may send.")]
_MAX_TOKENS = Annotated[int | None, typer.Option("--max-tokens", help="Most tokens this command may use.")]
_DRY_RUN = Annotated[bool, typer.Option("--dry-run", help="Estimate calls, tokens and cost; send nothing.")]
_DEADLINE = Annotated[
    float | None,
    typer.Option("--deadline", help="Seconds for one question: after them it is not tried again, but pending."),
]
_POOL_DEADLINE = Annotated[
    float | None,
    typer.Option("--deadline", help="Seconds for one pool: after them the best known is picked, else --on-failure."),
]
_REASK = Annotated[int, typer.Option("--reask", help="1 asks again where the stored answer is unscored.", min=0)]


@dataclass(frozen=True, kw_only=True)
class ModelFlags:
    """What was said on the command line about asking models."""

    model: str | None = field(default=None, metadata={"flag": _MODEL})
    """For judges that name none."""
    base_url: str | None = field(default=None, metadata={"flag": _BASE_URL})
    """For judges that name none."""
    run: Path = field(default=RUN, metadata={"flag": _RUN})
    """The run folder."""
    max_concurrency: int = field(default=64, metadata={"flag": _MAX_CONCURRENCY})
    """Calls in flight at once at each model."""
    transport: str | None = field(default=None, metadata={"flag": _TRANSPORT})
    """What carries the requests."""
    max_cost: float | None = field(default=None, metadata={"flag": _MAX_COST})
    """Hard limits on what the command spends: US dollars, calls, tokens."""
    max_calls: int | None = field(default=None, metadata={"flag": _MAX_CALLS})
    """Hard limits on what the command spends: US dollars, calls, tokens."""
    max_tokens: int | None = field(default=None, metadata={"flag": _MAX_TOKENS})
    """Hard limits on what the command spends: US dollars, calls, tokens."""
    deadline: float | None = field(default=None, metadata={"flag": _DEADLINE})
    """Seconds."""
    reask: int = field(default=0, metadata={"flag": _REASK})
    seed: int = field(default=0, metadata={"flag": Seed})
    dry_run: bool = field(default=False, metadata={"flag": _DRY_RUN})
    """Whether to send nothing, and say what would be sent."""

    def judges(self, specs: Sequence[str]) -> tuple[Judge, ...]:
        """Make the judges that texts name."""
        from bonwise.judges.registry import judges_from_specs

        return tuple(judges_from_specs(specs, model=self.model, base_url=self.base_url, seed=self.seed))

    def judge(self, spec: str) -> Judge:
        """Make the judge that a text names."""
        from bonwise.judges.registry import judge_from_spec

        return judge_from_spec(spec, model=self.model, base_url=self.base_url, seed=self.seed)

    def strategy(self, spec: str) -> Strategy:
        """Make the strategy that a text names."""
        from bonwise.selection.registry import strategy_from_spec

        return strategy_from_spec(spec, model=self.model, base_url=self.base_url, seed=self.seed)

    def engine_keywords(self, *, asks: bool) -> dict[str, Any]:
        """Return what an engine may use, as keywords; where no model is asked (`asks`) there is no run folder."""
        names = ("max_concurrency", "max_calls", "max_tokens", "max_cost", "deadline", "reask")
        return {
            "ledger": self.run if asks else None,
            "connection": self._connection(),
            **{name: getattr(self, name) for name in names},
        }

    def _connection(self) -> Connection | None:
        from bonwise.calls.providers.protocol import Connection

        if self.transport is None:
            return None
        return Connection(connections=self.max_concurrency, transport=self.transport)


@dataclass(frozen=True, kw_only=True)
class PoolModelFlags(ModelFlags):
    """The same where the deadline is that of a pool."""

    deadline: float | None = field(default=None, metadata={"flag": _POOL_DEADLINE})
