"""How much of perfect picking judges recover on public data: the table of ``docs/real_data.md``.

``python benchmarks/real_data.py FOLDER [--write]``. FOLDER holds the files that the page lists, as they were
downloaded. A file that is not there leaves its rows out, and this is said; one with another checksum is refused,
because its figures would be of other data.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

import bonwise as bw
from bonwise.auditing.result import Audit, JudgeFound
from bonwise.report import numbers

PAGE = Path(__file__).resolve().parents[1] / "docs" / "real_data.md"
MARKS = "<!-- rows: start -->\n\n", "\n<!-- rows: end -->\n"
HEADER = ("data", "judge", "prompts", "global r", "within r", "tied pairs", "recovery", "without", "recovery then")


@dataclass(frozen=True)
class DataSet:
    """A public data set, and how it becomes an audit."""

    name: str
    source: str
    licence: str
    files: dict[str, str]
    """SHA-256 by path in the folder."""
    audit: Callable[..., Audit]
    """From the folder, and names of candidates that are left out."""
    without: tuple[str, ...] = ()
    """Candidates without whom the figures are computed again."""
    called: str = ""
    """What these are."""
    judge: str = ""
    """Who scored, where the file does not say so."""


def arena(folder: Path, **asked: object) -> Audit:
    """Audit a table as it stands."""
    return bw.audit(folder / "arena100/scores.csv", **asked)


def dialogues(folder: Path, **asked: object) -> Audit:
    """Audit scores that stand within objects."""
    columns = {"prompt_col": "source", "score_col": "predict_scores.overall", "label_col": "scores.overall"}
    return bw.audit(folder / "shapes/nested_scores.json", **columns, **asked)


def ranking(folder: Path, **asked: object) -> Audit:
    """Audit a run against qrels."""
    return bw.audit(folder / "shapes/trec.run.txt", labels=folder / "shapes/trec.qrels.txt", unlabelled_is=0, **asked)


def instructions(folder: Path, **asked: object) -> Audit:
    """Audit verdicts in two orders: an answer's score is the share of orders in which it wins."""
    verdicts = pd.read_csv(folder / "llmbar_verdicts.csv.gz").query("strategy == 'Vanilla'")
    pairs = verdicts.assign(prompt=verdicts.dataset + " " + verdicts["item"].astype(str))[["prompt", "llm", "gold"]]
    orders = [verdicts[f"winner_order{order}"] for order in (1, 2)]
    sides = []
    for side in (1, 2):
        score = sum((order == side).where(order.notna()) / 2 for order in orders)
        sides.append(pairs.assign(candidate=side, score=score, label=(pairs.gold == side).astype(int)))
    return bw.audit(pd.concat(sides).drop(columns="gold"), judge_col="llm", **NAMED, **asked)


def questions(folder: Path, **asked: object) -> Audit:
    """Audit verdicts on pairs of models against the share of the people's votes."""
    keys, first_wins = ["question_id", "turn", "model_a", "model_b"], {"model_a": 1.0, "model_b": 0.0}
    worth = {}
    for column, who in (("score", "gpt4_pair"), ("label", "human")):
        votes = pd.read_csv(folder / f"mt_bench_{who}.csv").set_index(keys)
        worth[column] = votes["winner"].map(first_wins).fillna(0.5).groupby(level=keys).mean()
    first = pd.DataFrame(worth).dropna().reset_index().assign(candidate="a", prompt=lambda rows: rows.index)
    second = first.assign(candidate="b", score=1 - first.score, label=1 - first.label)
    return bw.audit(pd.concat([first, second]).drop(columns=keys[1:]), cluster_col=keys[0], **NAMED, **asked)


NAMED = {"prompt_col": "prompt", "candidate_col": "candidate", "score_col": "score", "label_col": "label"}
DATA = (
    DataSet(
        "100 prompts of Chatbot Arena",
        "https://github.com/cimo-labs/cje, examples/arena_sample",
        "MIT",
        {"arena100/scores.csv": "1946fdcf6464b3288af6f10ea5a72f47c7563c9bb0b4708fd75b413d9834879d"},
        arena,
        ("unhelpful",),
        "the answer meant to be bad",
        "GPT-5",
    ),
    DataSet(
        "LLMBar, verdicts by the plain prompt",
        "https://github.com/princeton-nlp/LLMBar",
        "MIT",
        {"llmbar_verdicts.csv.gz": "91031ad3b13c1fa0238b2ed50086e09cec5af0d2a25185535f1321df6542d192"},
        instructions,
    ),
    DataSet(
        "MT-Bench, pairs of answers",
        "https://huggingface.co/datasets/lmsys/mt_bench_human_judgments",
        "CC-BY-4.0",
        {
            "mt_bench_gpt4_pair.csv": "5c76c8a46f666c80c114575f7517d0e7356569c5275d29f39656a8bc498d2849",
            "mt_bench_human.csv": "d09de861a234f83813a5ac924081d0e9283915c8ce8f6768fb72f333c9eb0bee",
        },
        questions,
        judge="GPT-4",
    ),
    DataSet(
        "Topical-Chat, 5 dialogues",
        "https://github.com/maszhongming/UniEval",
        "MIT",
        {"shapes/nested_scores.json": "5753062c87737d01501aa1a0b5d09950113fa0376dd38a28e9a0291af98a85d7"},
        dialogues,
        ("Original Ground Truth", "New Human Generated"),
        "the two answers by people",
        "UniEval",
    ),
    DataSet(
        "CACM, 4 topics ranked by BM25",
        "https://github.com/castorini/anserini",
        "public domain",
        {
            "shapes/trec.run.txt": "db5c8c9b50066e12b7d8d4cc6eb1b1b958f51abe6f0593f9b092b1f1861dc83c",
            "shapes/trec.qrels.txt": "6bca4c3f51f547b8eb3efef1ccdf8958fef6cdcbbf19c0a053cdf9e43b3c5044",
        },
        ranking,
    ),
)


def is_there(data: DataSet, folder: Path) -> bool:
    """Tell whether all files are there, each as it was when its figures were computed."""
    for name, checksum in data.files.items():
        file = folder / name
        if not file.is_file():
            print(f"{data.name}: {file} is not there", file=sys.stderr)
            return False
        if hashlib.sha256(file.read_bytes()).hexdigest() != checksum:
            raise SystemExit(f"{file} is another file than the page lists: its checksum differs")
    return True


def row(data: DataSet, name: str, judge: JudgeFound, alone: JudgeFound | None) -> tuple[str, ...]:
    """Return the cells of a judge."""
    metrics = judge.metrics
    cells = (numbers.estimate(metrics[metric], "number") for metric in ("global_r", "within_r"))
    recovery = [
        numbers.with_any_interval(each.metrics["recovery"], "share") for each in (judge, alone) if each is not None
    ]
    ties = numbers.estimate(metrics["tie_rate"], "share")
    return (
        data.name,
        data.judge or name,
        f"{judge.data.labelled_prompts:,}",
        *cells,
        ties,
        recovery[0],
        data.called,
        *recovery[1:],
    )


def rows(folder: Path) -> Iterator[tuple[str, ...]]:
    """Yield a row per data set and judge."""
    for data in DATA:
        if is_there(data, folder):
            audit = data.audit(folder)
            fewer = data.audit(folder, exclude=list(data.without)) if data.without else None
            for name, judge in audit.judges.items():
                cells = row(data, name, judge, None if fewer is None else fewer.judges[name])
                yield (*cells, *[""] * (len(HEADER) - len(cells)))


def table(cells: Sequence[tuple[str, ...]]) -> str:
    """Return rows as Markdown."""
    lines = [HEADER, ["---"] * len(HEADER), *cells]
    return "".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |\n" for line in lines)


def sources() -> str:
    """Return where the files come from, as Markdown."""
    return "".join(
        f"- **{data.name}**: {data.source}, {data.licence}; "
        + ", ".join(f"`{name}` (SHA-256 `{checksum[:16]}...`)" for name, checksum in data.files.items())
        + "\n"
        for data in DATA
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table, or write it into the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where the downloaded files are")
    parser.add_argument("--write", action="store_true", help="into docs/real_data.md")
    chosen = parser.parse_args(argv)
    made = f"{table([*rows(chosen.folder)])}\n{sources()}"
    if not chosen.write:
        print(made, end="")
        return 0
    before, _, rest = PAGE.read_text("utf-8").partition(MARKS[0])
    _, _, after = rest.partition(MARKS[1])
    PAGE.write_text(f"{before}{MARKS[0]}{made}{MARKS[1]}{after}", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
