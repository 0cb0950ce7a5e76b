"""What is said of more candidates, and of others: the answer, the figures with their intervals, the curve."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bonwise.metric_groups import unit_of
from bonwise.printable import file_name, printable
from bonwise.report import answers, blocks, limits, numbers
from bonwise.report.figures import curves, forest
from bonwise.studies.candidates.result import CandidateCountStudy, CountJudge, TransferJudge, TransferStudy
from bonwise.studies.description import DescribedStudy
from bonwise.table.reading_options import PoolKeywords, ReadingKeywords

_DRAWN_ALIKE = "Candidates that are not drawn alike: of named systems a figure is a mean over which are asked."
_ERRS_ALIKE = "That the judge errs as often on pairs that look alike to it: only labels of the target show that."
_LEGEND = (
    "step: value less that of the pick from one candidate fewer. worth: beyond one candidate without a judge, costs "
    "subtracted. gain_per_call: over a random pick, per call of the judge."
)
_SHOWN = ("value_judge", "step", "worth", "recovery", "gain_per_call")


def described(document: CandidateCountStudy | TransferStudy) -> DescribedStudy:
    """Describe a study of either kind: one part per judge."""
    source, how = file_name(document.settings.source), f"{numbers.percent(document.settings.confidence)} intervals"
    title, limit, note = f"How many candidates to ask for, by {source}", _DRAWN_ALIKE, f"{how}. {_LEGEND}"
    question, then = "How many candidates are worth asking for?", document.then("audit", takes=ReadingKeywords)
    why = "What the picks from whole pools are worth, an audit says:"
    if isinstance(document, TransferStudy):
        title, limit, note = f"From {source} to {file_name(document.settings.target)}", _ERRS_ALIKE, f"{how}."
        question, why = "Does the judge agree on the target?", "Only labels of the target settle it. Draw them:"
        then = document.then("labels draw", "--labels 100", "--out design.csv", of=("to",), takes=PoolKeywords)
    judges: Mapping[str, CountJudge | TransferJudge] = document.judges
    parts = {
        name: blocks.Part(printable(name, longest=60), list(_judge(judge, f"{document.kind}-{at}")))
        for at, (name, judge) in enumerate(judges.items(), start=1)
    }
    return DescribedStudy(
        title=title,
        heading=title,
        anchor=document.kind,
        limits=(limit, limits.OTHER_PROMPTS, limits.LABELS),
        judges=parts,
        notes=[blocks.Said("note", note)],
        answers={name: _answer(judge) for name, judge in judges.items()},
        question=question,
        then=answers.steps(why, then),
    )


def _answer(judge: CountJudge | TransferJudge) -> answers.StatedVerdict:
    """Return how many candidates pay, or whether more help; of the target whether the judge is shown to agree."""
    if isinstance(judge, CountJudge) and judge.best is not None:
        state: answers.State = "good" if len(judge.may_be_best) == 1 else "open"
        worth = judge.figures[str(judge.best)].get("worth")
        return answers.StatedVerdict(f"ask for {judge.best}", state, judge.sentences[0], worth)
    if isinstance(judge, CountJudge):
        words, than = ("more candidates help", "picks get worse", "no further gain shown"), 0.0
        figure = judge.worse_by or list(judge.figures.values())[-1]["step"]
    else:
        words, than = ("better than a coin", "worse than a coin", "no agreement shown"), 0.5
        figure = judge.figures["target"]["effective_agreement"]
        if figure.estimate is None:
            return answers.StatedVerdict("cannot be said", "open", judge.sentences[0], figure)
    states: tuple[answers.State, ...] = ("good", "bad", "open")
    at = ("above", "below", "open").index(answers.outcome_of(figure, than))
    return answers.StatedVerdict(words[at], states[at], judge.sentences[0], figure)


def _judge(judge: CountJudge | TransferJudge, key: str) -> Iterator[blocks.Block]:
    yield from (blocks.Said("finding", printable(sentence, longest=600)) for sentence in judge.sentences)
    if isinstance(judge, TransferJudge):
        yield from _compared(judge, key)
        return
    names = [name for name in _SHOWN if any(name in figures for figures in judge.figures.values())]
    cells = [(m, *(_cell(judge, m, name) for name in names)) for m in judge.figures]
    yield blocks.Table.of([blocks.Column("candidates", "name"), *map(blocks.Column, names)], cells, "By size")
    lines = []
    for name, label, role in (("value_oracle", "best candidate", "oracle"), ("value_judge", "judge's pick", "judge")):
        known = {int(m): figures[name] for m, figures in judge.figures.items() if name in figures}
        y, low, high = ([getattr(figure, end) for figure in known.values()] for end in ("estimate", "low", "high"))
        lines.append(curves.Curve(label, list(known), y, low, high, role, points=True))
    guides = [] if judge.best is None else [curves.Guide("pays best", x=judge.best)]
    title, says = "Value of the pick", judge.sentences[0]
    yield from curves.curves_figure(lines, key, title, says, across="candidates", up="label", guides=guides)


def _compared(judge: TransferJudge, key: str) -> Iterator[blocks.Block]:
    """Yield the figures of the audit and the target, and the groups behind them."""
    columns = [blocks.Column("figure", "metric"), *map(blocks.Column, ("audit", "expected"))]
    cells = [(name, *(_cell(judge, of, name) for of in judge.figures)) for name in judge.figures["audit"]]
    yield blocks.Table.of(columns, cells, "Audit and target")
    agreement = {of: figures["effective_agreement"] for of, figures in judge.figures.items()}
    rows = [(of, figure.estimate, figure.low, figure.high) for of, figure in agreement.items()]
    yield from forest.forest_figure(rows, key, "Effective agreement", judge.sentences[0], 0.5, unit="share")
    columns = [blocks.Column("group", "name"), *map(blocks.Column, ("prompts", "audit", "target", "covered"))]
    for of, strata in judge.strata.items():
        shares = [[numbers.number(share, "share") for share in (each.audit, each.target)] for each in strata]
        cells = [
            (each.stratum, numbers.count(each.prompts), *own, "yes" if each.covered else "no")
            for each, own in zip(strata, shares, strict=True)
        ]
        yield blocks.Table.of(columns, cells, f"Shares of {of} in the audit and the target")


def _cell(judge: CountJudge | TransferJudge, at: str, name: str) -> str:
    figure, write = judge.figures[at].get(name), numbers.with_any_interval
    if isinstance(judge, CountJudge) and name in ("recovery", "gain_per_call"):
        write = numbers.estimate
    return numbers.NOTHING if figure is None else write(figure, unit_of(name), sign=name in ("step", "worth"))
