"""The page of a study of ways of asking a judge: tables of the ways, recovery by way, accuracy by gap, judges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bonwise.printable import printable
from bonwise.report.amounts import counted
from bonwise.report.figures.forest import MOST, Row, forest_figure
from bonwise.report.label_strategy_text import decided_words, metric_cells, why_no_figure, why_no_interval
from bonwise.report.metric_table import interval, named
from bonwise.report.page.section import Figure, Section, Table, figures_of
from bonwise.report.ways import (
    ORDERS,
    PAIR_COLUMNS,
    STRATEGY_COLUMNS,
    figure,
    gap_words,
    group_title,
    known_columns,
    partly_labelled,
    starred,
    verdicts_of,
    way_name,
)

__all__ = ["label_strategy_sections"]

_Document = Mapping[str, Any]

_HOW = (
    "Ties are broken at random, in expectation. Verdicts of both orders are averaged, so that orders which "
    "contradict each other tie. A candidate's score from verdicts is what it earned on average over its pairs."
)
_ORDERS_HOW = (
    "Agreement counts ties one half, so that of both orders is the mean of the two where no order ties. What two "
    "orders buy is to know which verdicts to trust: those that both together decide, as a verdict beside a tie does."
)


def label_strategy_sections(document: _Document, *, drawn: bool = True) -> list[Section]:
    """Return the sections of the page.

    Parameters
    ----------
    document : mapping
        Of schema ``bonwise.study/1``, study ``label-strategy``, of any kind.
    drawn : bool
        Whether the sections that are a judge's own have figures.
    """
    if document["kind"] == "strategies":
        return _strategies(document, drawn=drawn)
    return {"verdicts": _verdicts, "draw": _draw}[document["kind"]](document)


def _strategies(document: _Document, *, drawn: bool) -> list[Section]:
    settings, judges = document["settings"], document["judges"]
    sections = []
    for at, (name, judge) in enumerate(judges.items()):
        suffix = "" if len(judges) == 1 else f"-{at}"
        whose = f": {printable(name, longest=60)}" if suffix else ""
        own = [
            _ways(judge, settings, suffix, whose, drawn=drawn),
            _pairs(judge, settings, suffix, whose, drawn=drawn),
        ]
        sections += own
    return sections


def _ways(judge: _Document, settings: _Document, suffix: str, whose: str, *, drawn: bool) -> Section:
    figures: list[Figure] = []
    tables = []
    for part, group in judge["strategies"].items():
        ways, title = group["strategies"], group_title(part, group)
        rows = [_row(way_name(name, settings), way["metrics"]["recovery"]) for name, way in ways.items()]
        roles = ["judge" if name == "pointwise" else "oracle" for name in ways]
        if drawn:
            figures += figures_of(
                forest_figure(
                    rows,
                    f"label-strategy-{part.replace('_', '-')}{suffix}",
                    "Recovery by the way of asking",
                    f"{title}: scores recover {figure(ways['pointwise']['metrics']['recovery'])}, the highest is "
                    f"{_highest(rows)}.",
                    across="recovery",
                    roles=roles,
                )
            )
        tables.append(_table(title, ways, judge, settings, STRATEGY_COLUMNS))
    notes = [
        f"Held against {verdicts_of(settings)}.",
        *partly_labelled(judge, settings),
        _HOW,
        *_missing([group["strategies"] for group in judge["strategies"].values()], settings, STRATEGY_COLUMNS),
        *(f"No table of {part.replace('_', ' ')}: {why}." for part, why in judge["no_strategies"].items()),
    ]
    return Section(
        f"Ways of asking the judge{whose}",
        f"label-strategy{suffix}",
        [printable(sentence, longest=1000) for sentence in judge["sentences"]],
        figures,
        tables,
        notes,
    )


def _pairs(judge: _Document, settings: _Document, suffix: str, whose: str, *, drawn: bool) -> Section:
    found, reference = judge["matched_pairs"], settings.get("reference")
    where = found["where_pointwise_tied"]
    rows = [_row(gap_words(at, row), row["accuracy"]) for at, row in enumerate(where["by_gap"])]
    figures = (
        figures_of(
            forest_figure(
                rows,
                f"label-strategy-gaps{suffix}",
                named("Accuracy where scores tie, by oracle gap", reference),
                f"Of the pairs that scores tie, verdicts {decided_words(found)}; the line is a coin's accuracy.",
                0.5,
                across="share of decided pairs that are right",
            )
        )
        if rows and drawn
        else []
    )
    cells = [
        (
            gap_words(at, row),
            f"{row['pairs']:,}",
            f"{row['decided_pairs']:,}",
            figure(row["accuracy"]),
            interval(row["accuracy"]),
        )
        for at, row in enumerate(where["by_gap"])
    ]
    gaps = Table(
        (named("oracle gap", reference), "pairs", "decided", "accuracy", "interval"),
        cells,
        f"Where scores tie: verdicts {decided_words(found)}",
    )
    title = f"{counted(found['pairs'], 'pair')} judged both ways"
    weighted = ["Shares are weighted by how the pairs were drawn, counts are plain."] if found["weighted"] else []
    return Section(
        f"Best of two{whose}",
        f"label-strategy-pairs{suffix}",
        figures=figures,
        tables=[_table(title, found["ways"], judge, settings, PAIR_COLUMNS), *([gaps] if cells else [])],
        notes=[*partly_labelled(judge, settings), *weighted, *_missing([found["ways"]], settings, PAIR_COLUMNS)],
    )


def _missing(groups: Sequence[_Document], settings: _Document, columns: Mapping[str, str]) -> list[str]:
    """Return why figures and intervals are missing, each line once."""
    lines = [line for ways in groups for line in why_no_figure(ways, settings, columns)]
    lines += [line for ways in groups for line in why_no_interval(ways, settings)]
    return [printable(line, longest=400) for line in dict.fromkeys(lines)]


def _table(title: str, ways: _Document, judge: _Document, settings: _Document, columns: Mapping[str, str]) -> Table:
    rows, columns = [], known_columns(ways, columns)
    cells = metric_cells(ways, columns)
    for name, way in ways.items():
        metrics, less = way["metrics"], way.get("minus_pointwise", {}).get("recovery")
        difference = ("", "") if less is None else (figure(less), interval(less))
        rows.append((starred(name, judge, settings), *cells[name], interval(metrics["recovery"]), *difference))
    return Table(("way", *columns.values(), "interval", "minus scores", "interval"), rows, title)


def _verdicts(document: _Document) -> list[Section]:
    judges = document["judges"]
    two = any(judge["order"] for judge in judges.values())
    way = "both_orders" if two else "first_order"
    names = sorted(judges, key=lambda name: -(judges[name]["ways"][way]["agreement"]["estimate"] or 0.0))
    figures: list[Figure] = []
    step = -(-len(names) // -(-len(names) // MOST))
    rows = [_row(name, judges[name]["ways"][way]["agreement"]) for name in names]
    for at in range(0, len(names), step):
        some = rows[at : at + step]
        figures += figures_of(
            forest_figure(
                some,
                f"label-strategy-judges-{at}",
                "Agreement by judge",
                f"Agreement of judges {at + 1} to {at + len(some)} of {len(names)}; the line is a coin's.",
                0.5,
                across="agreement, ties counting one half",
                beside=rows,
            )
        )
    few = [sentence for judge in judges.values() for sentence in judge["sentences"]] if len(judges) <= 3 else []
    return [
        Section(
            "Pairwise verdicts: one order against both",
            "label-strategy-verdicts",
            [_range(judges, way), *(printable(one, longest=1000) for one in document["sentences"]), *few],
            figures,
            _judges_tables(judges) if two else [_judges_table(judges, ORDERS[:1], "Agreement with the labels")],
            [_ORDERS_HOW] if two else [],
        )
    ]


def _range(judges: _Document, way: str) -> str:
    known = [judge["ways"][way]["agreement"]["estimate"] for judge in judges.values()]
    known = [one for one in known if one is not None]
    if not known:
        return f"{counted(len(judges), 'judge')}, and no pair that the labels decide."
    low, high = (f"{100 * end:.1f}%" for end in (min(known), max(known)))
    reach = low if low == high else f"{low} to {high}"
    who, verb = counted(len(judges), "judge"), "agrees" if len(judges) == 1 else "agree"
    return f"{who} {verb} with the labels in {reach} of the pairs that these decide, ties counting one half."


def _judges_tables(judges: _Document) -> list[Table]:
    agreeing = [one for one in ORDERS if one[1] in {"agreement", "accuracy_decided"}]
    others = [one for one in ORDERS if one not in agreeing]
    return [
        _judges_table(judges, agreeing, "Agreement: each order, both together, and where both together decide"),
        _judges_table(judges, others, "Ties of both orders, what being shown first is worth, verdicts that flip"),
    ]


def _judges_table(judges: _Document, columns: Sequence[tuple[str, str, str]], title: str) -> Table:
    rows = []
    for name, judge in judges.items():
        found = [judge["order"][key] if way == "order" else judge["ways"][way][key] for way, key, _ in columns]
        cells = [cell for one in found for cell in (figure(one), interval(one))]
        rows.append((name, f"{judge['data']['pairs']:,}", *cells))
    headers = [cell for _, _, heading in columns for cell in (heading, "interval")]
    return Table(("judge", "pairs", *headers), rows, title)


def _draw(document: _Document) -> list[Section]:
    rows = [
        (f"{one['gap_of']} gap", one["stratum"], f"{one['pairs']:,}", f"{one['drawn']:,}")
        for one in document["strata"]
    ]
    table = Table(("gap of", "stratum", "pairs", "drawn"), rows, words=(0, 1))
    left_out = [(printable(why, longest=120), f"{count:,}") for why, count in document["prompts_left_out"].items()]
    tables = [table, *([Table(("prompts left out", "how many"), left_out)] if left_out else [])]
    return [Section("Pairs drawn to be judged", "label-strategy-draw", document["sentences"], tables=tables)]


def _row(name: str, found: _Document) -> Row:
    return name, found["estimate"], found["low"], found["high"]


def _highest(rows: Sequence[Row]) -> str:
    known = [(estimate, name) for name, estimate, _, _ in rows if estimate is not None]
    return "unknown" if not known else f"{max(known)[0]:.3f} ({max(known)[1]})"
