"""Votes beyond the pairs in words: near ties of prompts, the order of the file, another file."""

from __future__ import annotations

from collections.abc import Iterator

from bonwise.report import numbers
from bonwise.report.blocks import Block, Column, Said, Table
from bonwise.votes import result

__all__ = ["first_sections", "stability_words"]


def first_sections(document: result.PreferenceStudy) -> Iterator[Block]:
    """Yield what was asked for beside the study of pairs."""
    settings = document.settings
    tau = numbers.setting(settings.near_tie)
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


_WRITES = (numbers.estimate, numbers.interval)


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
