"""Votes beyond the pairs, in words and figures: prompts, order, another file, ways to count ties, the next votes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bonwise.printable import file_name, printable
from bonwise.report import answers, numbers
from bonwise.report.blocks import Block, Column, Drawing, Said, Table
from bonwise.report.figures.curves import Curve, Curves, Guide, curves_figure
from bonwise.stats import sample_size
from bonwise.votes import pair_votes, result

_LONGEST, _MOST_LINES, _MOST_PAIRS, _STEP = 32, 6, 40, 0.05


def _called(pair: result.PairVotes) -> str:
    return " and ".join(printable(name, longest=_LONGEST) for name in (pair.first, pair.second))


def figures(document: result.PreferenceStudy) -> Iterator[Drawing[Curves]]:
    """Draw margins, the votes they take, what near ties would show, and early with late margins; not of one pair."""
    if len(document.pairs) > 1:
        yield from _margins(document)
        yield from _needed(document)
        yield from _near_ties(document)
        yield from _early_and_late(document)


def _margins(document: result.PreferenceStudy) -> Iterator[Drawing[Curves]]:
    tau, against = document.settings.near_tie, document.against
    edges = np.linspace(0, 0.5, round(0.5 / _STEP) + 1)
    margins = {"here": [abs(pair.margin) for pair in document.pairs]}
    if against is not None:
        margins[file_name(document.settings.against or "")] = against.margins
    shares = [np.histogram(sizes, edges)[0] / len(sizes) for sizes in margins.values()]
    yield from curves_figure(
        [
            Curve(name, np.repeat(edges, 2).tolist(), [0.0, *np.repeat(share, 2).tolist(), 0.0], role=role)
            for name, share, role in zip(margins, shares, ("judge", "oracle"), strict=False)
        ],
        "votes-margins",
        "Margins of the pairs",
        f"Share of the pairs by their absolute margin, in steps of {_STEP:g}; up to the upright line are near ties.",
        across="|margin|",
        up="share of pairs",
        guides=[Guide(f"near tie: {numbers.setting(tau)}", x=tau)],
        units=("number", "share"),
    )


def _needed(document: result.PreferenceStudy) -> Iterator[Drawing[Curves]]:
    power = document.settings.power
    counted = [
        (abs(pair.margin), votes * max(pair.cluster_ratio.design_effect or 1.0, 1.0), _called(pair))
        for pair in document.pairs
        if (votes := pair.votes_needed.at_05.estimate) is not None
    ]
    if not counted:
        return
    x, y, names = zip(*counted, strict=True)
    at = np.geomspace(min(x), 0.5, 40).tolist()
    law = [sample_size.paper_votes(margin, power, 1 - pair_votes.LEVELS[0]) for margin in at]
    yield from curves_figure(
        [
            Curve("independent votes (equation 8)", at, law, role="oracle"),
            Curve("pairs, with design effect", x, y, points=True, joined=False, names=names),
        ],
        "votes-needed",
        "Votes needed by margin",
        f"Votes that see a margin with power {numbers.percent(power)} at the 5% level. A point above the line "
        "has votes on a prompt that resemble each other.",
        across="|margin|",
        up="votes needed",
        logarithmic=True,
    )


def _near_ties(document: result.PreferenceStudy) -> Iterator[Drawing[Curves]]:
    settings, power = document.settings, document.settings.power
    near = sorted((pair for pair in document.pairs if pair.near_tie), key=lambda pair: abs(pair.margin))[:_MOST_LINES]
    yield from curves_figure(
        [Curve(_called(pair), settings.votes_at, _detected(pair, settings), points=True) for pair in near],
        "votes-detection",
        "What votes show of near ties",
        f"How often so many votes show the preference of the {len(near)} closest near ties, margins taken as the "
        "truth; where votes are halves, by equation 8.",
        across="votes",
        up="shown",
        guides=[Guide(f"power {numbers.percent(power)}", y=power)],
        units=("number", "share"),
        up_to=1.0,
    )


def _early_and_late(document: result.PreferenceStudy) -> Iterator[Drawing[Curves]]:
    held = [(*pair.early_late, _called(pair)) for pair in document.pairs if pair.early_late is not None]
    if not held:
        return
    early, late, names = zip(*held, strict=True)
    k = numbers.counted(document.settings.early_votes, "vote")
    yield from curves_figure(
        [
            Curve("unchanged", [0, 0.5], [0, 0.5], role="oracle", dashed=True),
            Curve("pairs", early, late, points=True, joined=False, names=names),
        ],
        "votes-early-late",
        "Early and late margins",
        f"Absolute margins of the first and of the last {k} of a pair, in the order of the file.",
        across=f"first {k}",
        up=f"last {k}",
    )


def _detected(pair: result.PairVotes, settings: result.VotesSettings) -> list[float]:
    rates = ((votes, pair.detection.with_replacement[str(votes)]) for votes in settings.votes_at)
    by_law = sample_size.paper_votes_power
    return [by_law(pair.margin, votes, 1 - pair_votes.LEVELS[0]) if rate is None else rate for votes, rate in rates]


def first_sections(document: result.PreferenceStudy) -> Iterator[Block]:
    """Yield what was asked for beside the study of pairs."""
    settings = document.settings
    tau = numbers.setting(settings.near_tie)
    if document.next_votes is not None:
        yield from _next_votes(document.next_votes, tau)
    if document.by_prompt is not None:
        yield Table.listing(
            (
                (Column("votes", "name"), lambda row: f"{row.fewest:,} or more"),
                (Column("prompts of pairs"), lambda row: numbers.count(row.cells)),
                (Column("near ties"), lambda row: numbers.count(row.near_ties)),
                (Column("share"), lambda row: numbers.estimate(row.share, "share")),
                (Column("interval"), lambda row: numbers.interval(row.share, "share")),
                (Column("if none leaned"), lambda row: numbers.number(row.if_level)),
                (Column("if all as their pair"), lambda row: numbers.number(row.if_as_pair)),
            ),
            [(row,) for row in document.by_prompt],
            f"Prompts of each pair that are near ties (|margin| <= {tau}), and how many would be by chance",
        )
        yield Said(
            "note",
            "The last columns are what chance gives if no prompt leaned, and if each had the margin of its pair. "
            "With 5 votes, 3 to 2 is a margin of 0.1: chance alone fills that threshold.",
        )
    if (compared := document.against) is not None:
        cells = (Column("part", "name"), *map(Column, ("here", "interval", "there", "interval")))
        rows = [
            (part, *(write(side[part]) for side in (compared.here, compared.there) for write in _WRITES))
            for part in ("total", "within", "between")
        ]
        ratio = ("between, ratio of means", *(write(compared.ratio) for write in _WRITES), "", "")
        over = numbers.counted(compared.pairs, "pair")
        yield Table.of(cells, [*rows, ratio], f"Variance of a prompt's win rate, medians of {over} of both files")
        if compared.refused:
            few = f"{numbers.counted(compared.refused, 'pair')} of both files left out"
            yield Said("caveat", f"{few}: chance within prompts is known from two prompts with two votes, or more")
    if document.encodings is not None:
        columns = [Column("ties", "name"), Column("pairs", spare=1), Column("near ties")]
        for name in ("p10", "p25", "p50"):
            columns += [Column(name), Column("interval", spare=2), Column("votes")]
        title = "Absolute margins over pairs by how ties count, and the votes they take at the 5% level"
        yield Table.of(columns, [tuple(_encoding(row)) for row in document.encodings], title)


_WRITES = (numbers.estimate, numbers.interval)


def _encoding(row: result.Encoding) -> Iterator[str]:
    yield from (row.ties, numbers.count(row.pairs), numbers.count(row.near_ties.count))
    for margin in row.margins:
        whole = None if margin.votes_needed is None else margin.votes_needed.at_05.whole
        yield from (numbers.estimate(margin), numbers.interval(margin), numbers.count(whole))


_STATES = {"first": "first is preferred", "second": "second is preferred", "level": "level", "open": "open"}


def _places(asked: result.NextVotes) -> str:
    return "the first place" if asked.depth == 1 else f"the first {asked.depth:,} places"


def next_answer(asked: result.NextVotes, votes: int) -> answers.StatedVerdict:
    """Return whether the places asked for are settled, and where the next votes go."""
    places, asks = _places(asked), [pair.ask for pair in asked.pairs if pair.ask]
    first = ", ".join(printable(name, longest=_LONGEST) for name in asked.models[: asked.depth])
    if asked.settled == asked.depth:
        return answers.StatedVerdict("settled", "good", f"Votes have settled {places}: {first}.")
    left = f"; {votes - sum(asks):,} are left, because open pairs have no prompts for them" * (sum(asks) < votes)
    stated = f"{asked.settled:,} of {places} settled; by all votes the order is {first}. "
    if asked.depth == 1:
        stated = f"The first place is not settled; by all votes it is that of {first}. "
    stated += f"The next {numbers.counted(sum(asks), 'vote')} go to {numbers.counted(len(asks), 'pair')}{left}."
    return answers.StatedVerdict("not settled", "open", stated)


def _next_votes(asked: result.NextVotes, tau: str) -> Iterator[Block]:
    yield Table.listing(
        (
            (Column("first", "name"), lambda row: printable(row.first, longest=_LONGEST)),
            (Column("second", "name"), lambda row: printable(row.second, longest=_LONGEST)),
            (Column("prompts"), lambda row: numbers.count(row.prompts)),
            (Column("margin"), lambda row: numbers.number(row.margin, sign=True)),
            (Column("state", "words"), lambda row: _STATES[row.state]),
            (Column("may take"), lambda row: numbers.count(row.expected)),
            (Column("next votes"), lambda row: numbers.count(row.ask)),
        ),
        [(row,) for row in asked.pairs[:_MOST_PAIRS]],
        f"Pairs that decide {_places(asked)}; margins count each prompt once; the next votes of a pair are on "
        "prompts that are new to it",
    )
    yield Said(
        "caveat",
        f"Of all statements about pairs at most {numbers.percent(asked.error)} are wrong on average, whenever votes "
        f"end and however they were spread (e-values, Benjamini-Hochberg over {asked.tests:,} tests; level: within "
        f"{tau}). What a pair may take is no promise. --out and --json name the prompts to ask.",
    )


def stability_words(document: result.PreferenceStudy) -> Iterator[Said]:
    """Yield whether margins hold over the order of the file and with one vote per prompt."""
    held, reuse, k = document.stability, document.reuse, f"{document.settings.early_votes:,}"
    if held is not None and held.early_late.estimate is not None:
        word = "Not stable: they agree less." if held.stable is False else "Stable: they agree no less."
        yield Said(
            "finding",
            f"order of the file: margins of the first {k} and the last {k} votes of {held.pairs:,} pairs have a rank "
            f"correlation of {numbers.with_interval(held.early_late)}; constant margins give "
            f"{numbers.with_interval(held.expected)}. {word} Late margins are larger by "
            f"{numbers.with_interval(held.drift, sign=True)}. The first {k} against all votes, of which they are a "
            f"part, say less: {numbers.estimate(held.early_all)}.",
        )
    if reuse is not None:
        yield Said(
            "finding",
            f"one vote per prompt: {reuse.single:,} of {numbers.counted(reuse.prompts, 'prompt')} of pairs, of a "
            f"pair {numbers.with_interval(reuse.share, 'share')}. With the first vote of each prompt alone margins "
            f"change by {numbers.with_interval(reuse.change)} at the median, {numbers.number(reuse.most)} at most.",
        )
