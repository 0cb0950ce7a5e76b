"""The flags of commands that ask models: which ones, where answers are kept, and what may be spent."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bonwise.calls.ledger.place import is_address
from bonwise.calls.settings import BATCH_OPTIONS, CallSettings, EngineSettings, JudgeSettings
from bonwise.cli.arguments import Seed, rare
from bonwise.errors import UsageError
from bonwise.flags import completed, texts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bonwise.judges.protocol import Judge
    from bonwise.selection.protocol import Strategy

RUN = Path("bonwise-run")
"""The run folder of a command that names none: a paid answer is never kept nowhere."""

RubricFile = Annotated[
    list[str] | None,
    typer.Option("--rubric", help="Judge by the criteria of this file: the judge rubric,prompt=FILE of --model."),
]
"""A judge by criteria of the user's own."""


def judge_specs(judges: list[str] | None, rubrics: list[str] | None) -> list[str]:
    """Return the texts that name judges, with that of a rubric; `UsageError` where there is none."""
    from bonwise.judges.registry import Spec

    if rubrics and len(rubrics) > 1:
        raise UsageError("--rubric is given twice", hint="name further ones by --judge rubric,prompt=FILE")
    specs = [*(judges or ()), *(str(Spec("rubric", {"prompt": rubric})) for rubric in rubrics or ())]
    if not specs:
        raise UsageError("no judge is given", hint="name one by --judge KIND:provider/model, or by --rubric FILE")
    return specs


_MODEL = Annotated[str | None, typer.Option("--model", help="provider/model for judges that name none.")]
_BASE_URL = Annotated[str | None, typer.Option("--base-url", help="Another server that speaks the same language.")]
_PARAM = Annotated[
    list[str] | None,
    rare("--param", help="KEY=VALUE, a field of each request's body, such as reasoning_effort=low (repeatable)."),
]
_CHECK = Annotated[str | None, rare("--check", help="Command that gets a candidate on stdin: 0 passes, 1 fails.")]
_CHECK_TIMEOUT = Annotated[float, rare("--check-timeout", help="Seconds that --check has for one candidate.")]
_IMAGES = Annotated[
    Path | None, rare("--images", help="Folder of the images in prompts and candidates; judges then see them.")
]
_RUN = Annotated[Path, typer.Option("--run", help="Run folder: the ledger of paid answers.")]
_LEDGER = Annotated[
    str | None,
    rare("--ledger", help="Keep answers in postgresql://USER@HOST/DB, shared by many machines, not in --run."),
]
_DRY_RUN = Annotated[bool, typer.Option("--dry-run", help="Estimate calls, tokens and cost; send nothing.")]
_OF_A_QUESTION = MappingProxyType(
    {"deadline": "Seconds for one question: after them it is not tried again, but pending."}
)
"""What a flag says that means something else where no pool is picked from."""


@dataclass(frozen=True, kw_only=True)
class ModelFlags:
    """What was said on the command line about asking models."""

    heading = "Models and spending"
    model: str | None = field(default=None, metadata={"flag": _MODEL})
    base_url: str | None = field(default=None, metadata={"flag": _BASE_URL})
    """Both: for judges that name none."""
    param: list[str] | None = field(default=None, metadata={"flag": _PARAM})
    """Fields of the body of every request of a judge."""
    check: str | None = field(default=None, metadata={"flag": _CHECK})
    """A command that candidates must pass, before any judge."""
    check_timeout: float = field(default=10.0, metadata={"flag": _CHECK_TIMEOUT})
    images: Path | None = field(default=None, metadata={"flag": _IMAGES})
    """Below which files may be sent as images; None sends none."""
    run: Path = field(default=RUN, metadata={"flag": _RUN})
    """The run folder."""
    ledger: str | None = field(default=None, metadata={"flag": _LEDGER})
    """The address of a database that takes its place."""
    engine: Mapping[str, Any] = field(
        default_factory=dict, metadata={"options": CallSettings, "words": _OF_A_QUESTION}
    )
    """How models are asked, and what may be spent, by option of `CallSettings`; of a connection its transport."""
    seed: int = field(default=0, metadata={"flag": Seed})
    dry_run: bool = field(default=False, metadata={"flag": _DRY_RUN})
    """Whether to send nothing, and say what would be sent."""

    @property
    def place(self) -> Path | str:
        """Where answers are kept."""
        if self.ledger is not None and not is_address(self.ledger):
            raise UsageError(
                "--ledger is not the address of a database", hint="write postgresql://USER@HOST/DATABASE"
            )
        return self.ledger or self.run

    def judges(self, specs: Sequence[str]) -> tuple[Judge, ...]:
        """Make the judges that texts name."""
        from bonwise.judges.registry import judges_from_specs

        return tuple(map(self._checked, judges_from_specs(specs, **self._shared())))

    def judge(self, spec: str) -> Judge:
        """Make the judge that a text names."""
        from bonwise.judges.registry import judge_from_spec

        return self._checked(judge_from_spec(spec, **self._shared()))

    def _checked(self, judge: Judge) -> Judge:
        if self.check is None:
            return judge
        from bonwise.judges.verified import Verified

        return Verified(judge, command=self.check, timeout=self.check_timeout)

    def strategy(self, spec: str) -> Strategy:
        """Make the strategy that a text names."""
        from bonwise.selection.registry import strategy_from_spec

        return strategy_from_spec(spec, **self._shared())

    def _shared(self) -> dict[str, Any]:
        params = {
            name: _value(text)
            for name, text in texts(self.param, "--param", "reasoning_effort=low", hide=True).items()
        }
        return {"model": self.model, "base_url": self.base_url, "seed": self.seed, "params": params or None}

    def engine_settings(self, *, asks: bool) -> EngineSettings:
        """Return what an engine may use; where no model is asked (`asks`) there is no run folder."""
        own = {name: value for name, value in self.engine.items() if name not in BATCH_OPTIONS}
        given = completed(EngineSettings, {**own, "ledger": self.place if asks else None}, "engine_settings")
        transport = self.engine.get("connection")
        if transport is not None:
            from bonwise.calls.providers.protocol import Connection

            given["connection"] = Connection(connections=given["max_concurrency"], transport=transport)
        return given


def _value(text: str) -> Any:
    """Return what JSON makes of a text; any other is a word."""
    try:
        return json.loads(text)
    except ValueError:
        return text


@dataclass(frozen=True, kw_only=True)
class PoolModelFlags(ModelFlags):
    """The same where the deadline is that of a pool."""

    engine: Mapping[str, Any] = field(default_factory=dict, metadata={"options": CallSettings})


@dataclass(frozen=True, kw_only=True)
class JudgeModelFlags(ModelFlags):
    """The same where questions may go into batches."""

    engine: Mapping[str, Any] = field(
        default_factory=dict, metadata={"options": JudgeSettings, "words": _OF_A_QUESTION}
    )
