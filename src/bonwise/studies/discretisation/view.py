"""The study of coarse scores: what each way of cutting keeps, beside the judge itself."""

from __future__ import annotations

from collections.abc import Iterator

from bonwise.metric_groups import unit_of
from bonwise.printable import file_name, printable
from bonwise.report import answers, limits, numbers
from bonwise.report.blocks import Block, Column, Part, Row, Said, Table
from bonwise.report.figures.curves import Curve, curves_figure
from bonwise.studies.description import DescribedStudy, change_words
from bonwise.studies.discretisation.result import BinnedScores, DiscretisationJudge, DiscretisationStudy
from bonwise.table.reading_options import ReadingKeywords

_LIMITS = (
    "What a finer scale would do for a judge: that depends on whether it can tell such candidates apart.",
    "How a judge with errors of another kind does: the simulated one has plain noise, alike for all candidates.",
    limits.OTHER_PROMPTS,
    limits.LABELS,
)
_SHOWN = ("recovery", "tie_rate", "top1_tie_rate", "effective_agreement", "effective_agreement_decided")
_TITLES = ("recovery", "ties", "top ties", "agreement", "if decided")
_SCALES = {"continuous": "uncut", "range": "equal bins", "own": "the judge's values", "judge": "the judge itself"}
_COSTS = "coarse scores cost"
_LEGEND = (
    "loss: recovery less that of the uncut scores, paired by prompt; sd: of recovery, over simulated judges; "
    "clipped: equal bins between the ends of the labels; quantile: bins of equal counts; agreement: over all pairs, "
    "then over pairs with different labels, a tie counting one half."
)


def described(document: DiscretisationStudy) -> DescribedStudy:
    """Describe what coarse scores cost: one part per judge."""
    judged = {name: _answer(judge) for name, judge in document.judges.items()}
    finer = "Ask for scores on a finer scale, or break ties by verdicts on pairs. "
    why = f"{finer * any(each.word == _COSTS for each in judged.values())}An audit says what the ties cost:"
    scored = any(judge.effective_values is not None for judge in document.judges.values())
    alone = answers.steps("Study a judge's scores of these candidates: the values that it uses matter most.")
    return DescribedStudy(
        title=f"Coarse scores on the labels of {file_name(document.settings.source)}",
        heading="What coarse scores cost",
        anchor="discretisation",
        limits=_LIMITS,
        judges={
            name: Part(
                f"{printable(name, longest=60)}: {numbers.counted(judge.data.studied_prompts, 'prompt')}",
                list(_judge(judge, document.settings.reference, f"discretisation-{at}")),
            )
            for at, (name, judge) in enumerate(document.judges.items(), start=1)
        },
        answers=judged,
        question="What do coarse scores cost?",
        then=answers.steps(why, document.then("audit", takes=ReadingKeywords)) if scored else alone,
    )


def _answer(judge: DiscretisationJudge) -> answers.StatedVerdict:
    """Return what the judge's own values cost; of labels alone what the fewest equal bins do."""
    rows = [(row, row.loss) for row in judge.rows if row.scale in {"own", "range"} and row.loss is not None]
    row, loss = min(rows, key=lambda cut: (cut[0].scale != "own", cut[0].bins))
    ways = "the judge's own values" if row.scale == "own" else numbers.counted(row.bins or 0, "bin")
    uncut = numbers.estimate(judge.rows[0].metrics["recovery"], "share")
    says = f"Cut into {ways}, scores that recover {uncut} change recovery by {change_words(loss, 'recovery')}."
    if answers.outcome_of(loss) != "below":
        return answers.StatedVerdict("no cost shown", "open", says, loss)
    return answers.StatedVerdict(_COSTS, "bad" if row.scale == "own" else "neutral", says, loss)


def _judge(judge: DiscretisationJudge, reference: str | None, key: str) -> Iterator[Block]:
    yield from (Said("finding", numbers.named(sentence, reference)) for sentence in judge.sentences)
    curves = []
    for scale, role in (("range", "judge"), ("clipped", "other"), ("quantile", "ink")):
        cut = sorted((row for row in judge.rows if row.scale == scale), key=lambda row: row.bins or 0)
        figures = [(row.bins or 0, row.metrics["recovery"]) for row in cut]
        bins, values = [float(many) for many, _ in figures], [figure.estimate for _, figure in figures]
        low, high = [figure.low for _, figure in figures], [figure.high for _, figure in figures]
        curves.append(Curve(_SCALES.get(scale, scale), bins, values, low, high, role, points=True))
    uncut = f"Uncut it is {numbers.with_any_interval(judge.rows[0].metrics['recovery'], 'share')}."
    title = "Recovery by the number of bins"
    yield from curves_figure(curves, key, title, uncut, across="bins", up="recovery", units=("number", "share"))
    columns = [Column("scores", "name"), Column("bins"), Column("loss"), Column("[loss]", spare=3)]
    columns += [Column("sd", spare=4), *(Column(title, spare=2 * (title == "top ties")) for title in _TITLES)]
    rows = [Row(_cells(row), strong=row.scale in {"own", "judge"}) for row in judge.rows]
    yield Table(columns, rows, "What each way of cutting keeps", at_a_glance=len(rows))
    noise = f"The simulated judge: rho {numbers.number(judge.rho)}, sd of its errors {numbers.number(judge.noise)}."
    yield Said("note", numbers.named(f"{_LEGEND} {noise}", reference))


def _cells(row: BinnedScores) -> list[str]:
    sd = row.sd.get("recovery")
    loss = [
        write(row.loss, "points", sign=True) if row.loss else "" for write in (numbers.estimate, numbers.interval)
    ]
    figures = [numbers.estimate(row.metrics[metric], unit_of(metric)) for metric in _SHOWN]
    values = "" if row.bins is None else numbers.count(row.bins)
    return [_SCALES.get(row.scale, row.scale), values, *loss, numbers.number(sd, "points") if sd else "", *figures]
