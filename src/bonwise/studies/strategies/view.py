"""The study of strategies: the one to use at the price, all of them in a table, recovery drawn against cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bonwise.printable import file_name, printable
from bonwise.report import answers, limits, numbers
from bonwise.report.blocks import Block, Column, Drawing, Part, Row, Said, Table
from bonwise.report.figures.curves import Curve, Curves, Guide, curves_figure
from bonwise.studies.description import DescribedStudy
from bonwise.studies.strategies.result import MODEL_FILE, ReplayedJudge, StrategyReplay, StrategyRow

_LIMITS = (
    "What further calls of another judge, or at another temperature, would say: only stored scores are played.",
    limits.OTHER_PROMPTS,
    limits.LABELS,
)
_HOW = (
    "Each strategy of bonwise select is played on the stored scores, prompt by prompt; ties for the pick count in "
    "expectation. over greedy: difference of recovery, paired by prompt; its intervals hold together, whichever "
    "strategy is chosen. per call: what each call beyond those of greedy adds to the mean label. * no strategy of at "
    "most this cost recovers more."
)


def described(document: StrategyReplay) -> DescribedStudy:
    """Describe the strategies of each judge, and which to use."""
    several = len(document.judges) > 1
    return DescribedStudy(
        title=f"Strategies on {file_name(document.settings.source)}",
        heading="Strategies",
        anchor="strategies",
        limits=_LIMITS,
        judges={
            name: Part(_title(name, judge), list(_judge(document, judge, str(at))))
            for at, (name, judge) in enumerate(document.judges.items(), start=1)
        },
        answers={name: _answer(document, judge) for name, judge in document.judges.items()},
        question="Which strategy to use at your price?",
        then=() if several else list(_commands(document, next(iter(document.judges.values())))),
    )


def _title(name: str, judge: ReplayedJudge) -> str:
    data = judge.data
    labelled = "" if data.labelled_prompts == data.prompts else f", {numbers.count(data.labelled_prompts)} labelled"
    return f"{printable(name, longest=60)}: {numbers.counted(data.prompts, 'prompt')}{labelled}"


def _amount(document: StrategyReplay, cost: float) -> str:
    return f"{numbers.brief(cost)} {'calls' if document.settings.prices is None else 'in your prices'} per prompt"


def _answer(document: StrategyReplay, judge: ReplayedJudge) -> answers.StatedVerdict:
    """Return the strategy to use, and what is left of its lead where it did not choose itself."""
    choice, row = judge.choice, judge.row(judge.choice.strategy)
    at_price = f"At up to {_amount(document, choice.budget)} use this: {printable(row.strategy, longest=80)}"
    apart = numbers.with_any_interval(choice.out_of_fold, "points", sign=True)
    chosen = f"chosen anew without the prompts that it is measured on, the lead is {apart}"
    if choice.difference is None:
        why = f"no other strategy is worth more within the budget: {chosen}"
        return answers.StatedVerdict("use greedy", "neutral", f"{at_price}, as {why}.", choice.out_of_fold)
    lead = numbers.with_any_interval(choice.difference, "points", sign=True)
    says = (
        f"{at_price} ({_amount(document, row.cost)}). It recovers {lead} more than greedy, with an interval that "
        f"holds although it was chosen; {chosen}."
    )
    shown = answers.outcome_of(choice.difference) == "above"
    word = f"use {row.kind.replace('_', ' ')}" if shown else "no gain shown"
    return answers.StatedVerdict(word, "good" if shown else "open", says, choice.difference)


def _commands(document: StrategyReplay, judge: ReplayedJudge) -> Iterator[Said]:
    """Yield what runs the strategy; one that goes by learnt prices has them learnt first."""
    row = judge.row(judge.choice.strategy)
    yield Said("finding", "Use it:")
    if row.kind == "value_of_information":
        learn = document.then("study draws", f"--max-draws {judge.data.draws}", f"--save {MODEL_FILE}")
        yield Said(
            "command", learn or f"bonwise study draws SCORES --max-draws {judge.data.draws} --save {MODEL_FILE}"
        )
    yield Said("command", f"bonwise select POOLS.jsonl {row.select}")


def _judge(document: StrategyReplay, judge: ReplayedJudge, key: str) -> Iterator[Block]:
    data = judge.data
    if data.method != "complete":
        what = (
            "the labelled prompts alone" if data.method == "labelled_only" else "all prompts, from a sample of labels"
        )
        yield Said("caveat", f"Figures are of {what}.")
    if document.settings.prices is None and {"jury", "route", "tie_break", "knockout"} & {
        row.kind for row in judge.rows
    }:
        yield Said("caveat", "A call of each judge counts as 1, because no prices were given (--price JUDGE=PRICE).")
    yield from _figure(document, judge, key)
    yield _table(document, judge)
    yield Said("note", _HOW)
    if judge.choice.best != judge.choice.strategy:
        yield Said(
            "note", f"{printable(judge.choice.best, longest=80)} recovers most within the budget on all prompts."
        )
    folds = numbers.listed_counts((printable(name, longest=80), many) for name, many in judge.choice.folds.items())
    yield Said("note", f"Chosen without a tenth of the prompts each time: {folds}.")
    if judge.absent:
        rows = [(name, printable(why, longest=200)) for name, why in judge.absent.items()]
        yield Part("", [Table.of((Column("not played", "name"), Column("why", "words")), rows)], "detail")


def _table(document: StrategyReplay, judge: ReplayedJudge) -> Table:
    frontier = {row.strategy for row in judge.frontier}
    columns = (
        Column("strategy", "name"),
        Column("calls"),
        *(() if document.settings.prices is None else (Column("cost"),)),
        Column("recovery"),
        Column("top-1", spare=2),
        Column("hit rate", spare=2),
        Column("over greedy"),
        Column(numbers.interval_title(document.settings.confidence)),
        Column("per call", spare=1),
    )
    rows = [
        Row(
            (
                printable(row.strategy, longest=60) + (" *" if row.strategy in frontier else ""),
                numbers.brief(row.calls),
                *(() if document.settings.prices is None else (numbers.brief(row.cost),)),
                numbers.estimate(row.recovery, "share"),
                numbers.estimate(row.top1_accuracy, "share"),
                numbers.estimate(row.hit_rate, "share"),
                *_over_greedy(row),
                numbers.NOTHING if row.gain_per_call is None else numbers.estimate(row.gain_per_call, sign=True),
            ),
            strong=row.strategy == judge.choice.strategy,
        )
        for row in judge.rows
    ]
    return Table(columns, rows, "Per prompt, by cost")


def _over_greedy(row: StrategyRow) -> tuple[str, str]:
    if not row.over_greedy:
        return numbers.NOTHING, numbers.NOTHING
    lead = row.over_greedy["recovery"].estimate
    low, high = row.simultaneous or (None, None)
    figure = numbers.Ends(lead, low, high)
    return numbers.estimate(figure, "points", sign=True), numbers.interval(figure, "points", sign=True)


def _figure(document: StrategyReplay, judge: ReplayedJudge, key: str) -> Sequence[Drawing[Curves]]:
    """Draw recovery against cost, a line per kind of strategy and the frontier on top."""
    kinds = dict.fromkeys(row.kind for row in judge.rows if row.kind != "greedy")
    best, choice = judge.frontier, judge.choice
    lines = [
        _curve(kind.replace("_", " "), [row for row in judge.rows if row.kind == kind], "other") for kind in kinds
    ]
    return curves_figure(
        [*lines, _curve("frontier", best, "judge")],
        f"strategies-{key}",
        "Recovery by cost",
        f"The most recovery at each cost: {', '.join(f'{row.strategy} {_at(row)}' for row in best[:4])}.",
        across="cost per prompt" if document.settings.prices else "calls per prompt",
        up="recovery",
        guides=[Guide("budget", x=choice.budget)],
        units=("number", "share"),
    )


def _at(row: StrategyRow) -> str:
    return f"{numbers.estimate(row.recovery, 'share')} at {numbers.brief(row.cost)}"


def _curve(label: str, rows: Sequence[StrategyRow], role: str) -> Curve:
    return Curve(label, [row.cost for row in rows], [row.recovery.estimate for row in rows], role=role, points=True)
