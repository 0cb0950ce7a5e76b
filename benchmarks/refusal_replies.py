"""How often a statement that gives no judgement is scored, by layout and judge, and how many good answers are lost.

``python benchmarks/refusal_replies.py [FILE]``: one statement a line, by default ``../shared/data/refusals.txt``.
Nothing is sent. The statements are measured on and no reader knows them. The good answers are 200 replies of the
tests' corpus.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bonwise.calls.ask import Choice
from bonwise.judges.parse.readers import interval, pick, probability, score
from bonwise.table.verdicts import Unscored

HERE = Path(__file__).resolve().parents[1]
CORPUS = HERE / "tests" / "judges" / "reply_corpus"

JUDGES: Mapping[str, tuple[Callable[[Choice], Any], Mapping[str, Any]]] = {
    "pointwise": (score, {"score": 0}),
    "pairwise": (pick, {"choice": "TIE"}),
    "probability": (probability, {"probability": 0.5}),
    "interval": (interval, {"score": 0, "low": 0, "high": 100}),
}
"""The reader of each kind, and an answer without a meaning of its own."""


def _json(fields: Mapping[str, Any]) -> str:
    return json.dumps(fields, ensure_ascii=False)


def _lines(fields: Mapping[str, Any]) -> str:
    return "\n".join(f"{name.capitalize()}: {value}" for name, value in fields.items())


def _first(fields: Mapping[str, Any]) -> Any:
    return next(iter(fields.values()))


Layout = Callable[[str, Mapping[str, Any]], str]

LAYOUTS: Mapping[str, Mapping[str, Layout]] = {
    "JSON mode": {
        "null beside `why`": lambda words, fields: _json({**dict.fromkeys(fields), "why": words}),
        "an answer beside `why`": lambda words, fields: _json({**fields, "why": words}),
    },
    "plain text": {
        "answer two lines below": lambda words, fields: f"{words}\n\n{_first(fields)}",
        "answer one line below": lambda words, fields: f"{words}\n{_first(fields)}",
        "answer above": lambda words, fields: f"{_first(fields)}\n\n{words}",
        "answer in bold type": lambda words, fields: f"{words}\n\n**{_first(fields)}**",
        "answer on the same line": lambda words, fields: f"{words} {_first(fields)}",
    },
    "known limit: a declared form beside a refusal": {
        "`Score: 0` below": lambda words, fields: f"{words}\n\n{_lines(fields)}",
        "`Score: 0` above": lambda words, fields: f"{_lines(fields)}\n\n{words}",
        "a JSON object below": lambda words, fields: f"{words}\n{_json(fields)}",
        "JSON with `reason`": lambda words, fields: _json({"reason": words, **fields}),
    },
}
"""Ways in which a model that does not judge may still write an answer."""


def statements(path: Path) -> list[str]:
    """Return the lines of a file that are not blank."""
    return [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def misread(refusals: Sequence[str]) -> dict[str, dict[str, dict[str, float]]]:
    """Return the share of the refusals that is scored, by group, layout and judge."""
    return {
        group: {
            layout: {
                name: sum(_is_read(reader, write(words, fields)) for words in refusals) / len(refusals)
                for name, (reader, fields) in JUDGES.items()
            }
            for layout, write in layouts.items()
        }
        for group, layouts in LAYOUTS.items()
    }


def _is_read(reader: Callable[[Choice], Any], reply: str) -> bool:
    return not isinstance(reader(Choice(reply)), Unscored)


def good_answers(count: int = 200) -> Iterator[tuple[str, str, int]]:
    """Yield group, reply and score of good answers in six languages: in JSON, and in lines, tags and brackets."""
    stored = [json.loads(line) for line in (CORPUS / "answered.jsonl").read_text(encoding="utf-8").splitlines()]
    for reply in stored[:count]:
        yield "plain text", reply["text"], reply["score"]
    phrases = json.loads((CORPUS / "phrases.json").read_text(encoding="utf-8"))
    reasons = [reason for words in phrases.values() for reason in words["reasons"]]
    for number, reason in zip(range(count), itertools.cycle(reasons)):
        value = number * 37 % 101
        fields = ({"score": value}, {"score": value, "why": None}, {"reason": reason, "score": value})[number % 3]
        yield "JSON mode", _json(fields), value


def lost() -> dict[str, float]:
    """Return the share of the good answers that is not read as the score it states, by group."""
    wrong: dict[str, list[bool]] = {}
    for group, reply, value in good_answers():
        wrong.setdefault(group, []).append(score(Choice(reply)) != value)
    return {group: sum(one) / len(one) for group, one in wrong.items()}


def main() -> int:
    """Print one table."""
    parser = argparse.ArgumentParser(description=__doc__)
    shared = Path(os.environ.get("BONWISE_SHARED") or HERE.parent / "shared")
    parser.add_argument("file", nargs="?", type=Path, default=shared / "data" / "refusals.txt")
    path = parser.parse_args().file
    if not path.is_file():
        print(f"{path}: no such file. Give a text file with one statement a line.", file=sys.stderr)
        return 2
    refusals = statements(path)
    print(f"Scored of {len(refusals)} statements that give no judgement:\n")
    print(f"| mode | layout | {' | '.join(JUDGES)} |")
    print(f"|---|---|{'---|' * len(JUDGES)}")
    for group, layouts in misread(refusals).items():
        for layout, rates in layouts.items():
            print(f"| {group} | {layout} | {' | '.join(f'{rate:.1%}' for rate in rates.values())} |")
    print(f"\nGood answers lost: {', '.join(f'{rate:.1%} in {group}' for group, rate in lost().items())}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
