"""The demo as a page of text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.console import RenderableType
from rich.text import Text

from bonwise.auditing.result import JudgeFound
from bonwise.demo.run import Demo, Policy
from bonwise.estimates import EstimateRecord
from bonwise.printable import printable, shell_path
from bonwise.report.terminal import FittedTable, command


def demo_in_short(demo: Demo, everything: str) -> Iterator[RenderableType]:
    """Yield what to print first: judges of the page, simulated ones, and `everything`, the command for the rest."""
    page = shell_path(demo.folder / "audit.html")
    yield Text(_how_many_useful(demo.local.judges, f"simple rules on {demo.tasks} bundled tasks"), style="bold")
    yield _all_judges(demo.local.judges)
    yield Text(f"The page {page} shows these.")
    yield Text("")
    yield Text(_how_many_useful(demo.paradox.judges, "simulated judges"), style="bold")
    yield _all_judges(demo.paradox.judges)
    yield Text(
        "Both correlate equally well with the labels. sharp tells the answers of one prompt apart; flat knows only "
        "which prompts are easy, so its picks are random picks. Choose a judge by recovery, not by correlation."
    )
    yield Text("")
    yield Text(f"All files are in {printable(demo.folder)}. Next:")
    scores, labels = (shell_path(demo.folder / name) for name in ("scores.csv", "labels.csv"))
    yield command(f"  bonwise audit {scores} --labels {labels}")
    yield command(f"  {everything}")
    yield from _own_file()


def _own_file() -> Iterator[RenderableType]:
    yield Text(
        "Then check a file of your own, with one row per candidate: its prompt, its name and the judge's score."
    )
    yield command("  bonwise doctor YOUR.csv")


def _how_many_useful(judges: Mapping[str, JudgeFound], what: str) -> str:
    useful = [name for name, judge in judges.items() if judge.verdict.level == "useful"]
    verb, names = "is" if len(useful) == 1 else "are", f": {_all(useful)}" if useful else ""
    return f"{len(useful)} of {len(judges)} {what} {verb} useful for best-of-n{names}."


def _all_judges(judges: Mapping[str, JudgeFound]) -> FittedTable:
    """Return one row per judge, the largest recovery first."""
    ranked = sorted(judges.items(), key=lambda named_judge: -(named_judge[1].metrics["recovery"].estimate or 0.0))
    rows = [
        [name, *(_figure(judge.metrics[key]) for key in ("recovery", "global_r")), judge.verdict.level]
        for name, judge in ranked
    ]
    return FittedTable(("judge", "recovery", "global_r", "verdict"), rows, spare=("global_r",))


def demo_parts(demo: Demo) -> Iterator[RenderableType]:
    """Yield all of it."""
    yield Text(
        f"1. {demo.tasks} tasks with {demo.answers} answers, judged by weak local rules, no model", style="bold"
    )
    yield Text(
        "Each task states constraints that a program can check; the oracle label of an answer is the share of them "
        "it meets, computed just now. The judges never see the checks."
    )
    yield _local(demo.local.judges, demo.picked)
    yield Text(_weak(demo.local.judges))
    yield Text("")
    yield Text("2. Two judges with the same correlation (simulated)", style="bold")
    yield _paradox(demo.paradox.judges)
    yield Text(
        "Both correlate .63 with the labels over all answers. flat knows only which prompts are easy; sharp tells "
        "the answers of one prompt apart. The usual check cannot see which judge can choose the best answer."
    )
    yield Text("")
    yield Text("3. One weak judge, several ways to use it: what they recovered and what they cost", style="bold")
    yield _policies(demo.policies)
    yield Text(
        "The judge reads a part of each answer, so its repeated scores differ. The checker stands for a stronger "
        f"judge that decides some tasks alone. With {demo.tasks} tasks the intervals are wide: ignore small "
        "differences. Before bonwise study draws has calibrated it to this judge, "
        "value_of_information assumes default figures, so it does not spend exactly the 8 scores it was asked to."
    )
    yield Text("")
    page = shell_path(demo.folder / "audit.html")
    yield Text(f"All files of this demo are in {printable(demo.folder)}; the audit as a page: {page}.")
    yield Text("Run the steps yourself:", style="bold")
    pools, scores, labels, winners = (
        shell_path(demo.folder / name) for name in ("pools.jsonl", "scores.csv", "labels.csv", "winners.jsonl")
    )
    yield command(f"  bonwise select {pools} --judge local:lexical > {winners}")
    yield command(f"  bonwise judge {pools} --judge local:lexical --judge local:format --out {scores}")
    yield command(f"  bonwise doctor {scores}")
    yield command(f"  bonwise audit {scores} --labels {labels} --pools {pools} --html {page}")
    yield command(f"  bonwise compare {_file(demo.policies[0])} {_file(demo.policies[-1])} --labels {labels}")
    yield from _own_file()


def _local(judges: Mapping[str, JudgeFound], picked: Mapping[str, float]) -> FittedTable:
    rows = []
    for name, judge in judges.items():
        figures = [_figure(judge.metrics[key]) for key in ("global_r", "within_r", "recovery")]
        ties = f"{judge.metrics['tie_rate'].estimate:.2f}"
        rows.append([name, *figures[:2], ties, figures[2], f"{picked[name]:.3f}", judge.verdict.level])
    metrics = next(iter(judges.values())).metrics
    rows.append(["(random pick)", "", "", "", "0", f"{metrics['value_random'].estimate:.3f}", ""])
    rows.append(["(best pick)", "", "", "", "1", f"{metrics['value_oracle'].estimate:.3f}", ""])
    headers = ("judge", "global_r", "within_r", "tie_rate", "recovery", "picked", "verdict")
    return FittedTable(headers, rows, spare=("tie_rate", "global_r", "within_r"))


def _paradox(judges: Mapping[str, JudgeFound]) -> FittedTable:
    keys = ("global_r", "within_r", "recovery")
    rows = [
        [name, *(_figure(judge.metrics[key]) for key in keys), judge.verdict.level] for name, judge in judges.items()
    ]
    return FittedTable(("judge", *keys, "verdict"), rows, spare=("within_r",))


def _policies(policies: Sequence[Policy]) -> FittedTable:
    rows = [
        [policy.name, f"{policy.scores:.1f}", f"{policy.strong:.0%}", _figure(policy.recovery), _figure(policy.value)]
        for policy in policies
    ]
    headers = ("policy", "scores a task", "to the checker", "recovery", "picked")
    return FittedTable(headers, rows, spare=("picked", "to the checker", "scores a task"))


def _file(policy: Policy) -> str:
    return shell_path(policy.file)


def _figure(figure: EstimateRecord) -> str:
    if figure.estimate is None:
        return "-"
    interval = f" [{figure.low:.2f}, {figure.high:.2f}]" if figure.low is not None else ""
    return f"{figure.estimate:.2f}{interval}"


def _weak(judges: Mapping[str, JudgeFound]) -> str:
    """Say what the intervals say, and only of these judges on these tasks."""
    recoveries = {name: judge.metrics["recovery"] for name, judge in judges.items()}
    better = [name for name, recovery in recoveries.items() if (recovery.low or 0.0) > 0]
    worse = [name for name, recovery in recoveries.items() if (recovery.high or 0.0) < 0]
    useful = [name for name, judge in judges.items() if judge.verdict.level == "useful"]
    return (
        f"picked is the mean label of the answers that were kept. Better than a random pick: {_all(better)}; worse: "
        f"{_all(worse)}; useful for best of n: {_all(useful)}."
    )


def _all(names: list[str]) -> str:
    return ", ".join(names) if names else "none"
