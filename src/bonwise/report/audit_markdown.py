"""An audit as a short Markdown summary, for a pull request or the page of a build."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from bonwise.printable import printable
from bonwise.report.amounts import counted
from bonwise.report.metric_table import interval, interval_header, named, number

__all__ = ["markdown", "markdown_error"]

_Document = Mapping[str, Any]

_HEADLINES = (
    *("recovery", "gain", "value_judge", "top1_accuracy", "hit_rate"),
    *("within_r", "global_r", "effective_agreement", "tie_rate"),
)
"""Metrics of one judge."""

_COLUMNS = ("recovery", "within_r", "global_r", "tie_rate")
"""Metrics of several judges; of the first the interval stands beside it."""

_MOST_ROWS = 200
"""Rows of a table."""

_MOST_LISTED = 50
"""Judges in a list of paragraphs."""

_MOST_BYTES = 900_000
"""A build shows no summary of a step that is larger than 1 MiB."""

_LONGEST = 300
"""Characters of a name that are shown."""

_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "|": "&#124;", "$": "&#36;", "{": "&#123;", "}": "&#125;"}
_MARKUP = re.compile(r"[&<>|${}]|[\\`*_\[\]~#!^=]")
# A site links these wherever they stand in its text, however they were written: only a gap that nobody sees helps.
_LINKED = re.compile(r"@|#(?=\d)|GH(?=-\d)|:(?=//)|www(?=\.)|mailto(?=:)|xmpp(?=:)|:(?=[\w+-]+:)", re.IGNORECASE)
_GAP = "\u200b"
_BEGINS_A_LIST = re.compile(r"^(\d*)([-+.)])")


def markdown(document: _Document) -> str:
    """Render a document of schema ``bonwise.audit/1`` as Markdown of GitHub's kind: headings, tables, paragraphs.

    Names from files are text: none of them makes markup, a link or a mention.

    Examples
    --------
    >>> import bonwise as bw
    >>> from bonwise.testing import simulate
    >>> print(markdown(bw.audit(simulate("arena", n=50, seed=1).frame()).to_dict()).splitlines()[0])
    ## Audit of table, against oracle labels
    """
    # What decides a build stands last, and has its room first.
    gates, lost_gates = _within(_gates(document), _MOST_BYTES // 2)
    blocks, lost = _within(_blocks(document), _MOST_BYTES - _bytes(gates))
    return "\n\n".join([*blocks, *gates, *_left_out(lost, lost_gates)]) + "\n"


def markdown_error(source: str, message: str, hint: str) -> str:
    """Render why there is no audit, in one paragraph below the heading.

    Examples
    --------
    >>> print(markdown_error("a.csv", "a.csv: no such file", "check the path"), end="")
    ## Audit of a.csv: bad input
    <BLANKLINE>
    a.csv: no such file (check the path)
    """
    told = f"{message} ({hint})" if hint else message
    return f"## Audit of {_text(source)}: bad input\n\n{_paragraph(told)}\n"


def _within(blocks: Iterable[str], most: int) -> tuple[list[str], int]:
    """Return the blocks as far as they fit, and how many lines do not; a table may end after any row."""
    kept, lost, room = [], 0, most
    for block in filter(None, blocks):
        lines = block.split("\n")
        fitting = 0
        for line in lines if not lost else ():
            room -= len(line.encode()) + 2
            if room < 0:
                break
            fitting += 1
        lost += len(lines) - fitting
        if fitting:
            kept.append("\n".join(lines[:fitting]))
    return kept, lost


def _bytes(blocks: Iterable[str]) -> int:
    return sum(len(block.encode()) + 2 for block in blocks)


def _left_out(lines: int, of_gates: int) -> Iterator[str]:
    counts = [(lines, "of the summary"), (of_gates, "of the gates")]
    told = " and ".join(f"{counted(count, 'line')} {what}" for count, what in counts if count)
    if told:
        yield f"Left out, for a build shows no longer summary: {told}. The JSON document (--json FILE) holds all."


def _blocks(document: _Document) -> Iterator[str]:
    settings = document["settings"]
    reference = settings.get("reference")
    picks = "the picks of " if "picks" in settings else ""
    against = "against oracle labels" if reference is None else f"agreement with {_text(reference)}"
    yield f"## Audit of {picks}{_text(settings['source'])}, {against}"
    if "judges" in document:
        yield from _several(document)
    else:
        yield from _one(document["judge"], document)


def _one(name: str, judge: _Document) -> Iterator[str]:
    data, settings = judge["data"], judge["settings"]
    first, *others = judge["verdict"]["sentences"]
    yield _paragraph(first)
    yield "\n".join(f"- {_text(sentence, longest=2000)}" for sentence in others)
    shown = [key for key in _HEADLINES if judge["metrics"].get(key, {}).get("estimate") is not None]
    control = judge.get("with_control", {})
    beside = (f"with {', '.join(settings['control'])}",) if control else ()
    rows = [_row(key, judge["metrics"][key], settings.get("reference")) for key in shown]
    if control:
        rows = [(*row, number(control[key]["estimate"])) for key, row in zip(shown, rows, strict=True)]
    yield _table(("metric", "estimate", interval_header(settings["confidence"]), "n", *beside), rows)
    if any(judge["metrics"][key]["method"] == "labelled_only" for key in shown):
        yield r"\* from the completely labelled prompts alone"
    prompts = counted(data["prompts"], "prompt")
    without = [*settings["exclude"], *settings["control"]]
    left_out = f", without {_text(', '.join(without))}" if without else ""
    labelled = f"{data['labelled_prompts']:,} of them labelled"
    yield f"Judge {_text(name)}: {prompts}, {labelled}, {counted(data['rows'], 'row')}{left_out}."
    yield _drops(data["dropped"])


def _row(key: str, found: _Document, reference: str | None) -> tuple[str, ...]:
    star = " *" if found["method"] == "labelled_only" else ""
    return named(key, reference) + star, number(found["estimate"]), interval(found), f"{found['n']:,}"


def _several(document: _Document) -> Iterator[str]:
    judges, settings = document["judges"], document["settings"]
    rows = []
    for name, judge in judges.items():
        first, *others = (judge["metrics"].get(key) for key in _COLUMNS)
        figures = [number(None if one is None else one["estimate"]) for one in (first, *others)]
        ends = "-" if first is None else interval(first)
        prompts = f"{judge['data']['labelled_prompts']:,}"
        rows.append((name, prompts, figures[0], ends, *figures[1:], judge["verdict"]["level"]))
    width = interval_header(settings["confidence"])
    yield _table(("judge", "labelled prompts", _COLUMNS[0], width, *_COLUMNS[1:], "verdict"), rows)
    absent = document.get("not_audited", {})
    yield from (f"Not audited: {_text(name)}: {_text(why)}" for name, why in islice(absent.items(), _MOST_LISTED))
    yield _more(len(absent), "not audited")
    dropped = {name: judge["data"]["dropped"] for name, judge in judges.items() if judge["data"]["dropped"]}
    yield from (f"{_paragraph(name)}: {_drops(some)}" for name, some in islice(dropped.items(), _MOST_LISTED))
    yield _more(len(dropped), "with dropped prompts")


def _more(of: int, what: str) -> str:
    """Count what a list of `_MOST_LISTED` does not hold."""
    return f"... {counted(of - _MOST_LISTED, 'more judge')} {what}" if of > _MOST_LISTED else ""


def _gates(document: _Document) -> Iterator[str]:
    gates, reference = document.get("gates", ()), document["settings"].get("reference")
    if not gates:
        return
    yield "### Gates"
    yield _table(
        ("gate", "judge", "state", "what was found"),
        [
            (
                f"{named(gate['metric'], reference)} > {gate['value']:g}",
                gate["judge"],
                gate["state"],
                named(gate["sentence"], reference),
            )
            for gate in gates
        ],
        words=(0, 1, 2, 3),
    )


def _drops(dropped: Sequence[_Document]) -> str:
    if not dropped:
        return ""
    reasons = Counter(one["reason"] for one in dropped)
    told = ", ".join(f"{_text(reason)} ({count:,})" for reason, count in reasons.most_common(5))
    more = ", ..." if len(reasons) > 5 else ""
    return f"Dropped {counted(len(dropped), 'prompt')}: {told}{more}"


def _table(headers: Sequence[str], rows: Sequence[Sequence[str]], words: Sequence[int] = (0,)) -> str:
    """Write a table; of more rows than `_MOST_ROWS` the others are counted in a row of their own."""
    sides = [":---" if at in words else "---:" for at in range(len(headers))]
    lines = [_line(map(_text, headers)), _line(sides), *(_line(map(_text, row)) for row in rows[:_MOST_ROWS])]
    if len(rows) > _MOST_ROWS:
        lines.append(_line([f"... {len(rows) - _MOST_ROWS:,} more", *("" for _ in headers[1:])]))
    return "\n".join(lines)


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _paragraph(text: str) -> str:
    return _BEGINS_A_LIST.sub(r"\1\\\2", _text(text, longest=2000))


def _text(value: object, *, longest: int = _LONGEST) -> str:
    """Write text that stays text in the middle of a line."""
    words = " ".join(printable(value, longest=longest).split())
    gapped = _LINKED.sub(lambda found: found.group() + _GAP, words)
    return _MARKUP.sub(lambda found: _ENTITIES.get(found.group(), "\\" + found.group()), gapped)
