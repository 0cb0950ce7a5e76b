"""What a study of ways of asking found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from bonwise.auditing.studies.judged import study_document
from bonwise.report.amounts import counted
from bonwise.shown import Shown

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["LabelStrategyStudy"]

_Document = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class LabelStrategyStudy(Shown):
    """Ways of asking a judge, held against each other.

    Parameters
    ----------
    kind : {"strategies", "verdicts"}
        Whether scores and verdicts were compared, or verdicts alone were studied.
    judges : mapping of str to mapping
        Of each judge ``data``, ``sentences`` and, of ``strategies``: ``strategies`` (groups of prompts, and in each
        the ways with their metrics), ``no_strategies`` (why a group is missing) and ``matched_pairs``; of
        ``verdicts``: ``ways``, ``minus_both_orders`` and ``order``.
    settings : mapping
    not_studied : mapping of str to str
        Judges left out, and why.
    sentences : sequence of str
        Of ``verdicts``: what holds of the judges together, beside each other.
    """

    kind: Literal["strategies", "verdicts"]
    judges: Mapping[str, _Document] = field(repr=False)
    settings: _Document = field(repr=False)
    not_studied: Mapping[str, str] = field(default_factory=dict, repr=False)
    sentences: Sequence[str] = field(default=(), repr=False)

    def __repr__(self) -> str:
        return (
            f"<LabelStrategyStudy of {counted(len(self.judges), 'judge')} on {self.settings['source']}: {self.kind}>"
        )

    def __str__(self) -> str:
        from bonwise.report.label_strategy_text import label_strategy_text  # noqa: PLC0415 - rendering loads rich

        return label_strategy_text(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """Return the document of schema ``bonwise.study/1``; it holds no NaN."""
        document = study_document("label-strategy", self.judges, self.settings, self.not_studied)
        together = {"sentences": list(self.sentences)} if self.kind == "verdicts" else {}
        return {**document, "kind": self.kind, **together}

    def to_frame(self) -> pd.DataFrame:
        """Return one row a judge, part, way and metric, with the estimate and, where there is one, the difference.

        Columns: ``judge``, ``part`` (``every_pair``, ``some_pairs``, ``matched_pairs``, ``by_gap`` or ``verdicts``),
        ``way``, ``metric``, ``estimate``, ``low``, ``high``, ``n`` and ``difference``, ``difference_low``,
        ``difference_high``: to ``pointwise``, or of verdicts alone to both orders.
        """
        import pandas as pd  # noqa: PLC0415 - the rest of a study's result needs no frame

        rows = [{"judge": name, **row} for name, found in self.judges.items() for row in _rows(found)]
        return pd.DataFrame(rows)


def _rows(found: _Document) -> Iterator[dict[str, Any]]:
    if "ways" in found:
        yield from _of_ways("verdicts", {name: {"metrics": way} for name, way in found["ways"].items()}, found)
        return
    for part, group in found["strategies"].items():
        yield from _of_ways(part, group["strategies"], {})
    matched = found["matched_pairs"]
    if matched:
        yield from _of_ways("matched_pairs", matched["ways"], {})
        for row in matched["where_pointwise_tied"]["by_gap"]:
            way = f"{row['low']:g} to {row['high']:g}"
            yield {"part": "by_gap", "way": way, "metric": "accuracy", **_cells(row["accuracy"], None)}


def _of_ways(part: str, ways: _Document, found: _Document) -> Iterator[dict[str, Any]]:
    for name, way in ways.items():
        less = way.get("minus_pointwise", found.get("minus_both_orders", {}).get(name, {}))
        for metric, one in way["metrics"].items():
            yield {"part": part, "way": name, "metric": metric, **_cells(one, less.get(metric))}
    for metric, one in (found.get("order") or {}).items():
        yield {"part": part, "way": "order", "metric": metric, **_cells(one, None)}


def _cells(one: _Document, less: _Document | None) -> dict[str, Any]:
    cells = {key: one[key] for key in ("estimate", "low", "high", "n")}
    names = {"estimate": "difference", "low": "difference_low", "high": "difference_high"}
    return {**cells, **{name: less[key] if less else None for key, name in names.items()}}
