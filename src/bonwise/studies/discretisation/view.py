"""The study of coarse scores: what each way of cutting keeps, beside the judge itself."""

from __future__ import annotations

from collections.abc import Iterator

from bonwise.metric_groups import unit_of
from bonwise.printable import file_name, printable
from bonwise.report import answers, numbers
from bonwise.report.blocks import Block, Column, Part, Row, Said, Table
from bonwise.report.limits import LABELS, OTHER_PROMPTS
from bonwise.studies.description import DescribedStudy, change_words
from bonwise.studies.discretisation.result import BinnedScores, DiscretisationJudge, DiscretisationStudy
from bonwise.table.reading_options import ReadingKeywords

__all__ = ["described"]

_LIMITS = (
    "What a finer scale would do for a judge: that depends on whether it can tell such candidates apart.",
    "How a judge with errors of another kind does: the simulated one has plain noise, alike for all candidates.",
    OTHER_PROMPTS,
    LABELS,
)
_SHOWN = {
    "recovery": "recovery",
    "tie_rate": "ties",
    "top1_tie_rate": "top ties",
    "effective_agreement": "agreement",
    "effective_agreement_decided": "if decided",
}
_SCALES = {
    "continuous": "uncut",
    "range": "{} equal bins",
    "clipped": "{} bins, clipped",
    "quantile": "{} quantiles",
    "own": "its own {} values",
    "judge": "the judge itself",
}
_LEGEND = (
    "loss: recovery less that of the uncut scores, paired by prompt; sd: of recovery, over simulated judges; "
    "clipped: bins between the ends of the labels; agreement: over all pairs, then over pairs with different labels, "
    "a tie counting one half."
)


def described(document: DiscretisationStudy) -> DescribedStudy:
    """Describe what coarse scores cost: one part per judge."""
    judges = {
        name: Part(_title(name, judge), list(_judge(judge, document.settings.reference)))
        for name, judge in document.judges.items()
    }
    why = "Ask for scores on a finer scale, or break ties by verdicts on pairs. An audit says what the ties cost:"
    scored = any(judge.effective_values is not None for judge in document.judges.values())
    alone = answers.steps("Study a judge's scores of these candidates: the values that it uses matter most.")
    return DescribedStudy(
        title=f"Coarse scores on the labels of {file_name(document.settings.source)}",
        heading="What coarse scores cost",
        anchor="discretisation",
        limits=_LIMITS,
        judges=judges,
        answers={name: _answer(judge) for name, judge in document.judges.items()},
        question="What do coarse scores cost?",
        then=answers.steps(why, document.then("audit", takes=ReadingKeywords)) if scored else alone,
    )


def _answer(judge: DiscretisationJudge) -> answers.StatedVerdict:
    """Return what the judge's own values cost; of labels alone what the fewest equal bins do."""
    rows = [row for row in judge.rows if row.scale in {"own", "range"} and row.loss is not None]
    row = min(rows, key=lambda row: (row.scale != "own", row.values))
    ways = "the judge's own values" if row.scale == "own" else numbers.counted(row.values or 0, "bin")
    uncut = numbers.estimate(judge.rows[0].metrics["recovery"], "share")
    change = "" if row.loss is None else change_words(row.loss, "recovery")
    says = f"Cut into {ways}, scores that recover {uncut} change recovery by {change}."
    if row.loss is None or answers.outcome_of(row.loss) != "below":
        return answers.StatedVerdict("no cost shown", "open", says, row.loss)
    return answers.StatedVerdict("coarse scores cost", "bad" if row.scale == "own" else "neutral", says, row.loss)


def _title(name: str, judge: DiscretisationJudge) -> str:
    prompts, candidates = numbers.counted(judge.data.prompts, "prompt"), numbers.counted(judge.data.rows, "candidate")
    return f"{printable(name, longest=60)}: {prompts}, {candidates}"


def _judge(judge: DiscretisationJudge, reference: str | None) -> Iterator[Block]:
    for sentence in judge.sentences:
        yield Said("finding", numbers.named(sentence, reference))
    columns = [Column("scores", "name"), Column("loss"), Column("[loss]", spare=3), Column("sd", spare=4)]
    columns += [Column(title, spare=max(3 - at, 0) if at > 1 else 0) for at, title in enumerate(_SHOWN.values())]
    rows_shown = [Row(_cells(row), strong=row.scale in {"own", "judge"}) for row in judge.rows]
    yield Table(columns, rows_shown, "What each way of cutting keeps")
    yield Said("note", numbers.named(_LEGEND, reference))
    quality = f"The simulated judge: rho {numbers.number(judge.rho)}, sd of its errors {numbers.number(judge.noise)}"
    yield Said("note", f"{quality}; computed from {numbers.counted(judge.data.studied_prompts, 'prompt')}.")


def _cells(row: BinnedScores) -> list[str]:
    sd = row.sd.get("recovery")
    loss = [
        write(row.loss, "points", sign=True) if row.loss else "" for write in (numbers.estimate, numbers.interval)
    ]
    figures = [numbers.estimate(row.metrics[metric], unit_of(metric)) for metric in _SHOWN]
    values = numbers.count(row.values)
    return [_SCALES[row.scale].format(values), *loss, "" if sd is None else numbers.number(sd, "points"), *figures]
