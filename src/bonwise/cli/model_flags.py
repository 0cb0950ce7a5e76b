"""The flags of commands that ask models: which ones, where answers are kept, and what may be spent."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bonwise.calls.settings import CallSettings, EngineSettings
from bonwise.cli.arguments import Seed
from bonwise.flags import completed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bonwise.judges.protocol import Judge
    from bonwise.selection.protocol import Strategy

__all__ = ["RUN", "ModelFlags", "PoolModelFlags"]

RUN = Path("bonwise-run")
"""The run folder of a command that names none: a paid answer is never kept nowhere."""

_MODEL = Annotated[str | None, typer.Option("--model", help="provider/model for judges that name none.")]
_BASE_URL = Annotated[str | None, typer.Option("--base-url", help="Another server that speaks the same language.")]
_RUN = Annotated[Path, typer.Option("--run", help="Run folder: the ledger of paid answers.")]
_DRY_RUN = Annotated[bool, typer.Option("--dry-run", help="Estimate calls, tokens and cost; send nothing.")]
_OF_A_QUESTION = MappingProxyType(
    {"deadline": "Seconds for one question: after them it is not tried again, but pending."}
)
"""What a flag says that means something else where no pool is picked from."""


@dataclass(frozen=True, kw_only=True)
class ModelFlags:
    """What was said on the command line about asking models."""

    model: str | None = field(default=None, metadata={"flag": _MODEL})
    """For judges that name none."""
    base_url: str | None = field(default=None, metadata={"flag": _BASE_URL})
    """For judges that name none."""
    run: Path = field(default=RUN, metadata={"flag": _RUN})
    """The run folder."""
    engine: Mapping[str, Any] = field(
        default_factory=dict, metadata={"options": CallSettings, "words": _OF_A_QUESTION}
    )
    """How models are asked, and what may be spent, by option of `CallSettings`; of a connection its transport."""
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

    def engine_settings(self, *, asks: bool) -> EngineSettings:
        """Return what an engine may use; where no model is asked (`asks`) there is no run folder."""
        given = completed(EngineSettings, {**self.engine, "ledger": self.run if asks else None}, "engine_settings")
        transport = self.engine.get("connection")
        if transport is not None:
            from bonwise.calls.providers.protocol import Connection

            given["connection"] = Connection(connections=given["max_concurrency"], transport=transport)
        return given


@dataclass(frozen=True, kw_only=True)
class PoolModelFlags(ModelFlags):
    """The same where the deadline is that of a pool."""

    engine: Mapping[str, Any] = field(default_factory=dict, metadata={"options": CallSettings})
