"""How good a judge is at picking the best candidate: ``bonwise.audit/1``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from bonwise.documents.audited.annotators import Annotators
from bonwise.documents.audited.candidate_effects import CandidateEffects
from bonwise.documents.audited.cells import LabelledCells
from bonwise.documents.audited.compared import JudgesCompared
from bonwise.documents.audited.data import AuditData
from bonwise.documents.audited.gate import Gate
from bonwise.documents.audited.judge import Balance, Ends, JudgeFound
from bonwise.documents.audited.sampling import Sampling
from bonwise.documents.audited.settings import AuditSettings
from bonwise.documents.audited.suspicion import AuditSuspicion
from bonwise.documents.audited.verdict import Verdict
from bonwise.documents.choice import ChoiceRecord
from bonwise.documents.document import Document, FrameRow
from bonwise.documents.estimate import EstimateRecord
from bonwise.documents.record import given
from bonwise.documents.unused_labels import UnusedLabels
from bonwise.errors import UsageError

__all__ = ["MODEL", "AuditDocument"]

_ALONE = ("judge", "data", "metrics", "verdict")
_OPTIONAL = (
    "sampling",
    "balance",
    "bounds",
    "with_control",
    "suspicions",
    "unused_labels",
    "labelled_cells",
    "candidate_effects",
)
_TOGETHER = ("judges", "comparisons", "not_audited")


class AuditDocument(Document):
    """An audit of one judge, or of several.

    What was found of one judge stands beside the settings; of several, in `judges` with what compares them. Read
    either way: `judges` is there for one judge too, and ``document["recovery"]``, `metrics`, `verdict` and `data` are
    those of the only judge.
    """

    schema_: Literal["bonwise.audit/1"] = Field(default="bonwise.audit/1", alias="schema")
    judge: str | None = None
    """Name of the only judge."""
    data_of_one: AuditData | None = Field(default=None, alias="data")
    """Of the only judge, as in `judges` of several."""
    metrics_of_one: dict[str, EstimateRecord] | None = Field(default=None, alias="metrics")
    """Of the only judge, as in `judges` of several."""
    verdict_of_one: Verdict | None = Field(default=None, alias="verdict")
    """Of the only judge, as in `judges` of several."""
    sampling: Sampling | None = None
    """Of the only judge, as in `judges` of several."""
    balance: list[Balance] | None = None
    """Of the only judge, as in `judges` of several."""
    bounds: dict[str, Ends] | None = None
    """Of the only judge, as in `judges` of several."""
    with_control: dict[str, EstimateRecord] | None = None
    """Of the only judge, as in `judges` of several."""
    several_judges: Annotated[dict[str, JudgeFound], Field(min_length=1)] | None = Field(default=None, alias="judges")
    """Several judges by name, or the one that is left of several."""
    pairs: list[JudgesCompared] | None = Field(default=None, alias="comparisons")
    """Every pair of several judges."""
    left_unaudited: dict[str, str] | None = Field(default=None, alias="not_audited")
    """Of several judges, those without a prompt to audit them on, and why."""
    covariates: dict[str, str] | None = None
    """The judges that only help to audit another one, and why."""
    settings: AuditSettings
    """What was asked for, and what the table was taken for."""
    gates: Annotated[list[Gate], Field(min_length=1)] | None = None
    """Where some were asked for."""
    suspicions: list[AuditSuspicion] | None = None
    """Of the only judge, as in `judges` of several."""
    unused_labels: UnusedLabels | None = None
    """Of the only judge, as in `judges` of several."""
    labelled_cells: LabelledCells | None = None
    """Of the only judge, as in `judges` of several."""
    choice: dict[str, ChoiceRecord] | None = None
    """The best by ``recovery`` and by ``gain``, with intervals that hold after the choice and intervals that hold
    together; absent where fewer than two are compared.
    """
    candidate_effects: CandidateEffects | None = None
    """Of the only judge, as in `judges` of several."""
    annotators: Annotators | None = None
    """Where candidates have labels of several annotators: how these became one, and how far they agree."""

    @model_validator(mode="after")
    def _one_or_several(self) -> Self:
        keys = {*self.keys()}
        together = keys & {*_TOGETHER}
        if together and keys & {*_ALONE, *_OPTIONAL}:
            raise ValueError("one judge or several: the keys of one judge stand beside those of several")
        wanted = _TOGETHER if together else _ALONE
        lacking = [key for key in wanted if key not in keys]
        if lacking:
            raise ValueError(f"{lacking[0]} is missing")
        return self

    @model_validator(mode="after")
    def _names_known_judges(self) -> Self:
        known = {*self.judges, *self.not_audited}
        named = [gate.judge for gate in self.gates or ()]
        named += [name for one in (self.choice or {}).values() for name in (*one.simultaneous, *one.differences)]
        named += [name for pair in self.comparisons for name in (pair.first, pair.second)]
        strange = [name for name in named if name not in known]
        if strange:
            raise ValueError(
                f"a gate, a comparison or a choice names {strange[0]!r}, which is not a judge of this audit"
            )
        return self

    @classmethod
    def of(  # noqa: PLR0913 - a document has many parts; all but two are named
        cls,
        judges: Mapping[str, JudgeFound],
        settings: AuditSettings,
        *,
        comparisons: Sequence[JudgesCompared] = (),
        not_audited: Mapping[str, str] | None = None,
        covariates: Mapping[str, str] | None = None,
        gates: Sequence[Gate] = (),
        choice: Mapping[str, ChoiceRecord] | None = None,
        annotators: Annotators | None = None,
    ) -> AuditDocument:
        """Return the document of one judge or of several.

        Parameters
        ----------
        judges : mapping of str to JudgeFound
        settings : AuditSettings
        comparisons : sequence of JudgesCompared
        not_audited, covariates : mapping of str to str, optional
        gates : sequence of Gate
        choice : mapping of str to ChoiceRecord, optional
        annotators : Annotators, optional
        """
        optional = given(covariates=dict(covariates or {}) or None, gates=list(gates) or None, annotators=annotators)
        if len(judges) == 1 and not not_audited:
            ((name, found),) = judges.items()
            return cls(judge=name, **found.given_values(), settings=settings, **optional)
        together: dict[str, Any] = {
            "judges": dict(judges),
            "comparisons": list(comparisons),
            "not_audited": dict(not_audited or {}),
        }
        return cls(**together, settings=settings, **optional, **given(choice=dict(choice or {}) or None))

    def __getitem__(self, key: str) -> Any:
        """Return a value by its JSON key, or a metric of the only judge."""
        return super().__getitem__(key) if key in self else self.metrics[key]

    @property
    def judges(self) -> Mapping[str, JudgeFound]:
        """What was found of each judge, of the only one too."""
        if self.several_judges is not None:
            return self.several_judges
        if self.judge is None:
            return {}
        given = self.given_values()
        own = {key: given[key] for key in JudgeFound.model_fields if key in given}
        # These values were checked when this document was made.
        return {self.judge: JudgeFound.model_construct(**own)}

    @property
    def comparisons(self) -> Sequence[JudgesCompared]:
        """Every pair of judges, paired by prompt; none of one judge."""
        return self.pairs or ()

    @property
    def not_audited(self) -> Mapping[str, str]:
        """The judges without a prompt to audit them on, and why."""
        return self.left_unaudited or {}

    @property
    def several(self) -> bool:
        """Whether it is the document of several judges, of whom one may be left."""
        return self.several_judges is not None

    @property
    def metrics(self) -> Mapping[str, EstimateRecord]:
        """Metrics of the only judge."""
        return self._only.metrics

    @property
    def verdict(self) -> Verdict:
        """Verdict on the only judge."""
        return self._only.verdict

    @property
    def data(self) -> AuditData:
        """Counts and dropped prompts of the only judge."""
        return self._only.data

    @property
    def _only(self) -> JudgeFound:
        if len(self.judges) > 1:
            raise UsageError(
                f"this audit holds {len(self.judges)} judges", hint="take audit.judges[name] of one of them"
            )
        return next(iter(self.judges.values()))

    def frame_rows(self) -> Iterator[FrameRow]:
        """Yield one row per judge and metric."""
        for name, judge in self.judges.items():
            for metric, found in judge.metrics.items():
                yield {"judge": name, "metric": metric, **found.to_dict()}


MODEL = AuditDocument
