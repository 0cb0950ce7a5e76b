"""``bonwise study``: the studies that decide between judges, and between ways of asking one."""

from __future__ import annotations

import typer

from bonwise.cli.study import calibration, label_strategy, mix, requirements

__all__ = ["app"]

app = typer.Typer(
    name="study",
    help="Study what recovery takes, how to ask a judge, what calibration changes, what easy candidates hide.",
    rich_markup_mode=None,
    no_args_is_help=True,
)

app.command("requirements")(requirements.requirements)
app.command("label-strategy")(label_strategy.label_strategy)
app.command("calibration")(calibration.calibration)
app.command("mix")(mix.mix)
