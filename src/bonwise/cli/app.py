"""The commands, one module each; whatever is heavy is imported when its command runs."""

from __future__ import annotations

from typing import Annotated

import typer

from bonwise.cli import (
    audit,
    compare,
    confidence,
    demo,
    doctor,
    judge,
    judges,
    labels,
    learn,
    ledger,
    monitor,
    plan,
    preferences,
    prompts,
    route,
    select,
    strategies,
)
from bonwise.cli.study import group

__all__ = ["app"]

app = typer.Typer(
    name="bonwise",
    help="Pick the best of n answers with a judge, and find out how good the judge is at it.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

app.command("demo")(demo.demo)
app.command("doctor")(doctor.doctor)
app.command("judge")(judge.judge)
app.command("select")(select.select)
app.command("audit")(audit.audit)
app.command("compare")(compare.compare)
app.command("route")(route.route)
app.command("learn")(learn.learn)
app.command("confidence")(confidence.confidence)
app.command("plan")(plan.plan)
app.command("monitor")(monitor.monitor)
app.command("preferences")(preferences.preferences)
app.command("judges")(judges.judges)
app.command("strategies")(strategies.strategies)
app.add_typer(labels.app)
app.add_typer(group.app)
app.add_typer(prompts.app)
app.add_typer(ledger.app)


def _show_version(wanted: bool) -> None:
    if wanted:
        from bonwise.release import release

        typer.echo(f"bonwise {release()}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    del version
