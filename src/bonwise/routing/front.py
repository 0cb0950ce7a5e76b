"""The study of routing: a table of scores and labels in, what each signal is worth out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from bonwise.documented import DocumentedResult
from bonwise.errors import InputError, UsageError
from bonwise.release import release
from bonwise.results import given
from bonwise.routing.budget import split_budget
from bonwise.routing.judged_prompts import judged_prompts
from bonwise.routing.result import RouteDocument, RouteSettings
from bonwise.routing.saved import SavedRouter
from bonwise.routing.signal_study import JudgeStudy, study_judge
from bonwise.stats.routing import RoutedRecovery
from bonwise.table.checks import CONFIDENCE, SEED, check_confidence, check_seed, check_share
from bonwise.table.facts import labels_left_out
from bonwise.table.opening import ScoreSource, open_table, refuse_clusters
from bonwise.table.panel import lay_out
from bonwise.table.reading_options import ReadingKeywords, ReadingOptions, opens_a_table
from bonwise.table.scales import Scale

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["RouteStudy", "route"]


@dataclass(frozen=True, eq=False)
class RouteStudy(DocumentedResult):
    """What routing some prompts to a stronger judge is worth, and by which signal."""

    judges: Mapping[str, JudgeStudy]
    """The judges that could be studied."""
    settings: RouteSettings
    not_studied: Mapping[str, str] = field(default_factory=dict)
    """The judges that could not be studied, and why."""
    scales: Mapping[str, Scale] = field(default_factory=dict, repr=False)
    """Declared scales by judge, ``""`` standing for the others."""

    def __repr__(self) -> str:
        return f"<RouteStudy of {', '.join(self.judges)} on {self.settings.source}>"

    def __getitem__(self, judge: str) -> JudgeStudy:
        if judge not in self.judges:
            raise UsageError(f"no study of a judge {judge!r}", hint=f"the judges are {', '.join(self.judges)}")
        return self.judges[judge]

    def router(self, judge: str | None = None) -> SavedRouter:
        """Return the recommended router.

        Parameters
        ----------
        judge : str, optional
            Whose first judging it will see; needed where several were studied.

        Raises
        ------
        bonwise.errors.UsageError
            No such judge, or several and none named.
        """
        if judge is None and len(self.judges) > 1:
            raise UsageError(
                f"this study holds {len(self.judges)} judges, and a router sees the scores of one",
                hint=f"name one of {', '.join(self.judges)}",
            )
        name = judge if judge is not None else next(iter(self.judges))
        scale = self.scales.get(name, self.scales.get(""))
        return self[name].router(scale="" if scale is None else str(scale), seed=self.settings.seed)

    def save(self, path: str | Path, judge: str | None = None) -> None:
        """Write the recommended router, for `bonwise.Router` and ``bonwise select --route`` to load.

        Raises
        ------
        bonwise.errors.BonwiseError
            As `router`, or the file cannot be written.
        """
        self.router(judge).save(path)

    def recovery_by_share(self) -> Mapping[str, RoutedRecovery]:
        """Return what each judge recovers when a share of its prompts goes to a judge that never errs.

        Returns
        -------
        mapping of str to RoutedRecovery
            By judge: the recommended signal, shares from 0 to 1 in steps of 0.05, and at each share the recovery with
            the interval of `bonwise.stats.routing.routed_recovery`.

        Examples
        --------
        >>> from bonwise.testing import simulate
        >>> found = route(simulate("arena", n=300, seed=1).frame()).recovery_by_share()["judge"]
        >>> found.shares[5], round(found.recoveries[5].estimate - found.recoveries[0].estimate, 2) > 0.1
        (0.25, True)
        """
        return {name: one.recovery_by_share(self.settings.confidence) for name, one in self.judges.items()}

    def document(self) -> RouteDocument:
        """Return the document of schema ``bonwise.route/1``."""
        judges = {name: one.record() for name, one in self.judges.items()}
        return RouteDocument.of(judges, self.settings, self.not_studied)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per judge, signal and share; a signal without figures has one row that says why.

        Columns: ``judge``, ``signal``, ``share``; ``value`` and ``lift``, each with ``_low``, ``_high`` and ``_se``;
        ``captured`` with ``low``, ``high`` and ``se``; ``n`` prompts; ``recommended``: whether it is the signal to
        route by at the share asked for; and ``reason``: why something is missing.
        """
        return super().to_frame()


@opens_a_table
def route(
    source: ScoreSource,
    *,
    share: float = 0.25,
    first_pass_only: bool = False,
    mean_calls: float | None = None,
    strong_cost: float | None = None,
    confidence: float = CONFIDENCE,
    seed: int = SEED,
    **reading: Unpack[ReadingKeywords],
) -> RouteStudy:
    """Study which prompts to send to a stronger judge.

    Parameters
    ----------
    source : str, pathlib.Path, pandas.DataFrame, ScoreTable, JudgedPools or rows as mappings
        Long table ``prompt_id, candidate, judge_score, oracle_label``, with ``low`` and ``high`` or
        ``ci_width``, ``draw_0``, ``draw_1`` ... or ``draw``, and ``propensity`` where there are any.
    share : float
        Part of the prompts to send, in (0, 1).
    first_pass_only : bool
        Leave repeated scores and other judges out of the signals.
    mean_calls, strong_cost : float, optional
        Split a joint budget of so many calls per prompt between further draws and routing, which costs
        so many calls a routed prompt. Both or neither.
    confidence : float
        Of the two-sided intervals, in [0.5, 1).
    seed : int
        Of the parts of the cross-fit.
    **reading
        How the table is opened, see `bonwise.table.reading_options.ReadingOptions`.

    Returns
    -------
    RouteStudy

    Raises
    ------
    bonwise.errors.InputError
        One line: what, which row or column, how to mend.

    Examples
    --------
    >>> from bonwise.testing import simulate
    >>> found = route(simulate("arena", n=300, seed=1).frame())
    >>> found["judge"].recommendation.share
    0.25
    """
    check_share(share)
    check_confidence(confidence)
    check_seed(seed)
    if (mean_calls is None) != (strong_cost is None):
        raise UsageError(
            "a joint budget takes the mean calls and the price of a routed prompt",
            hint="give --mean-calls and --strong-cost, or neither",
        )
    options = ReadingOptions.of(route, reading)
    table = open_table(source, options)
    refuse_clusters(table, "routing")
    table.check_scales(alike=False)
    judges: dict[str, JudgeStudy] = {}
    refused: dict[str, str] = {}
    panels = lay_out(table, exclude=options.exclude, shape=options.shape)
    for panel in panels:
        try:
            prompts = judged_prompts(table, panel, first_pass_only=first_pass_only)
            split = None
            if mean_calls is not None and strong_cost is not None:
                # Further draws follow a first one, also where the study rests on the mean of several.
                single = (
                    prompts
                    if prompts.first == "draw_0"
                    else judged_prompts(table, panel, first_pass_only=first_pass_only, one_draw=True)
                )
                split = split_budget(single, mean_calls, strong_cost, confidence=confidence, seed=seed)
            study = study_judge(prompts, share, confidence=confidence, seed=seed)
            judges[panel.judge] = replace(study, budget=split)
        except InputError as error:
            if len(panels) == 1:
                raise
            refused[panel.judge] = error.message
    if not judges:
        first, reason = next(iter(refused.items()))
        raise InputError(f"{table.source}: no judge can be studied; {first!r}: {reason}", hint="see bonwise doctor")
    settings = RouteSettings(
        source=table.source,
        columns=dict(table.columns),
        share=share,
        confidence=confidence,
        seed=seed,
        exclude=list(options.exclude),
        first_pass_only=first_pass_only,
        mean_calls=mean_calls,
        strong_cost=strong_cost,
        shape=panels[0].shape,
        reference=table.reference,
        version=release(),
        **given(labels_left_out=labels_left_out(table.labels_left_out)),
    )
    return RouteStudy(judges, settings, refused, table.judge_scales)
