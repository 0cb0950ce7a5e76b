"""What is said of more candidates, and of others: the answer, the figures with their intervals, the curve."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bonwise.metric_groups import unit_of
from bonwise.printable import file_name, printable
from bonwise.report import answers, numbers
from bonwise.report.blocks import Block, Column, Part, Row, Said, Table
from bonwise.report.figures.curves import Curve, Guide, curves_figure
from bonwise.report.figures.forest import forest_figure
from bonwise.report.limits import LABELS, OTHER_PROMPTS
from bonwise.studies.candidates.result import CandidateCountStudy, CountJudge, TransferJudge, TransferStudy
from bonwise.studies.description import DescribedStudy
from bonwise.table.reading_options import ColumnKeywords, ReadingKeywords

__all__ = ["described"]

_DRAWN_ALIKE = (
    "Candidates that are not drawn alike: of named systems a figure is a mean over which of them are asked."
)
_ERRS_ALIKE = "That the judge errs as often on pairs that look alike to it: only labels of the target show that."

_LEGEND = (
    "step: value less that of the pick from one candidate fewer. worth: beyond one candidate without a judge, costs "
    "subtracted. gain_per_call: over a random pick, per call of the judge."
)
_SHOWN = ("value_judge", "step", "worth", "recovery", "gain_per_call")
_ALIKE = (Column("group", "name"), Column("prompts"), Column("audit"), Column("target"), Column("covered", "words"))


def described(document: CandidateCountStudy | TransferStudy) -> DescribedStudy:
    """Describe a study of either kind: one part per judge."""
    source, how = file_name(document.settings.source), f"{numbers.percent(document.settings.confidence)} intervals"
    title, limit, note = f"How many candidates to ask for, by {source}", _DRAWN_ALIKE, f"{how}. {_LEGEND}"
    question, then = "How many candidates are worth asking for?", document.then("audit", takes=ReadingKeywords)
    why = "What the picks from whole pools are worth, an audit says:"
    if isinstance(document, TransferStudy):
        title, limit, note = f"From {source} to {file_name(document.settings.target)}", _ERRS_ALIKE, f"{how}."
        question, why = "Does the judge agree on the target?", "Only labels of the target settle it. Draw them:"
        then = document.then("labels draw", "--labels 100", "--out design.csv", of=("to",), takes=ColumnKeywords)
    judges: Mapping[str, CountJudge | TransferJudge] = document.judges
    parts = {
        name: Part(printable(name, longest=60), list(_judge(judge, f"{document.kind}-{at}")))
        for at, (name, judge) in enumerate(judges.items(), start=1)
    }
    return DescribedStudy(
        title=title,
        heading=title,
        anchor=document.kind,
        limits=(limit, OTHER_PROMPTS, LABELS),
        judges=parts,
        notes=[Said("note", note)],
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
    states: tuple[answers.State, ...] = ("good", "bad", "open")
    at = ("above", "below", "open").index(answers.outcome_of(figure, than))
    return answers.StatedVerdict(words[at], states[at], judge.sentences[0], figure)


def _judge(judge: CountJudge | TransferJudge, key: str) -> Iterator[Block]:
    yield from (Said("finding", printable(sentence, longest=600)) for sentence in judge.sentences)
    if isinstance(judge, TransferJudge):
        names, places = list(judge.figures["audit"]), list(judge.figures)
        rows = [Row((name, *(_cell(judge, at, name) for at in places))) for name in names]
        yield Table((Column("figure", "metric"), Column("audit"), Column("expected")), rows, "Audit and target")
        agreement = [(at, judge.figures[at]["effective_agreement"]) for at in places]
        shown = [(at, own.estimate, own.low, own.high) for at, own in agreement]
        title = "Effective agreement of the audit, and expected of the target"
        yield from forest_figure(shown, key, title, judge.sentences[0], 0.5, unit="share")
        for of, strata in judge.strata.items():
            cells = [
                (
                    each.stratum,
                    numbers.count(each.prompts),
                    *(numbers.number(share, "share") for share in (each.audit, each.target)),
                    "yes" if each.covered else "no",
                )
                for each in strata
            ]
            yield Table.of(_ALIKE, cells, f"Shares of {of} in the audit and the target")
        return
    names = [name for name in _SHOWN if any(name in figures for figures in judge.figures.values())]
    columns = [Column("candidates", "name"), *(Column(name, "metric", at) for at, name in enumerate(names))]
    rows = [Row((m, *(_cell(judge, m, name) for name in names)), strong=m == str(judge.best)) for m in judge.figures]
    yield Table(columns, rows, "By number of candidates")
    lines = []
    for name, label, role in (("value_oracle", "best candidate", "oracle"), ("value_judge", "judge's pick", "judge")):
        known = {int(m): figures[name] for m, figures in judge.figures.items() if name in figures}
        y, low, high = ([getattr(figure, end) for figure in known.values()] for end in ("estimate", "low", "high"))
        lines.append(Curve(label, list(known), y, low, high, role, points=True))
    guides = [] if judge.best is None else [Guide("pays best", x=judge.best)]
    title = "Value of the pick by the number of candidates"
    yield from curves_figure(lines, key, title, judge.sentences[0], across="candidates", up="label", guides=guides)


def _cell(judge: CountJudge | TransferJudge, at: str, name: str) -> str:
    figure, write = judge.figures[at].get(name), numbers.with_any_interval
    if isinstance(judge, CountJudge) and name in ("recovery", "gain_per_call"):
        write = numbers.estimate
    return numbers.NOTHING if figure is None else write(figure, unit_of(name), sign=name in ("step", "worth"))
