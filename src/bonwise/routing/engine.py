"""The study of routing: a table of scores and labels in, what each signal is worth out."""

from __future__ import annotations

from bonwise.errors import InputError, UsageError
from bonwise.release import release
from bonwise.results import given
from bonwise.routing.budget import split_budget
from bonwise.routing.judged_prompts import judged_prompts
from bonwise.routing.result import JudgeRoute, RouteSettings, RouteStudy
from bonwise.routing.signal_study import StudiedJudge, study_judge
from bonwise.table.checks import check_confidence, check_seed, check_share
from bonwise.table.facts import labels_left_out
from bonwise.table.opening import ScoreSource, open_table, refuse_clusters
from bonwise.table.panel import lay_out
from bonwise.table.reading_options import ReadingOptions

__all__ = ["routed"]


def routed(  # noqa: PLR0913 - all but the source are named
    source: ScoreSource,
    options: ReadingOptions,
    *,
    share: float,
    first_pass_only: bool,
    mean_calls: float | None,
    strong_cost: float | None,
    confidence: float,
    seed: int,
) -> RouteStudy:
    """Study which prompts to send to a stronger judge."""
    check_share(share)
    check_confidence(confidence)
    check_seed(seed)
    if (mean_calls is None) != (strong_cost is None):
        raise UsageError(
            "a joint budget takes the mean calls and the price of a routed prompt",
            hint="give --mean-calls and --strong-cost, or neither",
        )
    table = open_table(source, options)
    refuse_clusters(table, "routing")
    table.check_scales(alike=False)
    judges: dict[str, JudgeRoute] = {}
    studied: dict[str, StudiedJudge] = {}
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
            scale = table.judge_scales.get(panel.judge, table.judge_scales.get(""))
            judges[panel.judge], studied[panel.judge] = study_judge(
                prompts,
                share,
                confidence=confidence,
                seed=seed,
                budget=split,
                scale="" if scale is None else str(scale),
            )
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
    return RouteStudy.of(judges, settings, refused).computed_from(studied)
