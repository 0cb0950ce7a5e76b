from __future__ import annotations

import csv
import io
import json
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bonwise.judges.registry import judge_from_spec
from bonwise.table.pools import read_pools
from bonwise.table.verdicts import Score, Unscored
from cli.commands import pool_file, rows_of, strict, typed
from cli.picked import decisions, picks

SCRIPTS = Path(sys.executable).parent
JUDGES = ("local:length", "local:lexical", "local:format", "local:consensus")
COLUMNS = ["prompt_id", "candidate", "judge", "judge_score", "unscored"]


@pytest.fixture(scope="module")
def arena(shared):
    """Return the folder of the arena sample."""
    return shared / "data" / "arena100"


@pytest.fixture
def pools(tmp_path, monkeypatch):
    """Work in a folder with a few pools, one with an empty answer and one with nothing else."""
    monkeypatch.chdir(tmp_path)
    return pool_file(
        "pools.jsonl",
        {
            "p2": ["a longer answer", {"id": "b", "text": "short"}],
            "p1": ["same", "same", "x"],
            "p4": ["", "something"],
            "p3": ["", "  "],
            "p5": ["alone"],
        },
    )


def test_the_journey_of_three_commands(capsys, arena, tmp_path):
    """Select, judge and audit the arena sample: all 101 pools picked in input order, scored, audited."""
    pools, scores = arena / "candidates.jsonl", tmp_path / "scores.csv"
    picked = typed(capsys, "select", pools, "--judge", "local:lexical")
    judged = typed(capsys, "judge", pools, "--judge", "local:lexical", "--out", scores)
    audited = typed(capsys, "audit", scores, "--labels", arena / "scores.csv", "--json", "-")
    assert (picked.code, judged.code, audited.code) == (0, 0, 0)
    expected = [json.loads(line) for line in pools.read_text("utf-8").splitlines()]
    lines = picks(picked)
    assert len(lines) == 101
    assert [line["prompt_id"] for line in lines] == [pool["prompt_id"] for pool in expected]
    for line, pool in zip(lines, expected, strict=True):
        assert pool["candidates"][line["index"]] == {"id": line["best"], "text": line["text"]}
    table = rows_of(scores)
    assert [(row["prompt_id"], row["candidate"]) for row in table] == [
        (pool["prompt_id"], candidate["id"]) for pool in expected for candidate in pool["candidates"]
    ]
    given = [score for line in lines for score in line["scores"]]
    assert [float(row["judge_score"]) for row in table] == given
    assert strict(audited.out)["data"]["labelled_prompts"] == 99


def test_the_journey_of_two_commands(capsys, arena, tmp_path):
    """Two judges and no labels: one is compared with the other, and nothing is called an oracle."""
    scores = tmp_path / "scores.csv"
    judges = ("--judge", "local:length", "--judge", "local:lexical")
    assert typed(capsys, "judge", arena / "candidates.jsonl", *judges, "--out", scores).code == 0
    done = typed(capsys, "audit", scores, "--oracle", "judge:local:lexical")
    assert done.code == 0
    assert "agreement with local:lexical" in " ".join(done.out.split())
    told = [line for line in done.out.splitlines() if not line.startswith("bonwise ")]
    assert "oracle" not in "".join(told).lower()


def test_the_same_inputs_give_the_same_bytes(capsys, arena, tmp_path):
    """Judging twice gives the same bytes, to a file and to standard output; selecting twice the same picks."""
    pools = arena / "candidates.jsonl"
    flags = [word for judge in JUDGES for word in ("--judge", judge)]
    to_stdout = typed(capsys, "judge", pools, *flags)
    for name in ("a.csv", "b.csv"):
        assert typed(capsys, "judge", pools, *flags, "--out", tmp_path / name).code == 0
        assert (tmp_path / name).read_bytes() == to_stdout.out.encode()
    first, second = (typed(capsys, "select", pools, "--judge", JUDGES[2]) for _ in range(2))
    assert decisions(first) == decisions(second)
    assert first.err == second.err


def test_one_row_a_prompt_candidate_and_judge(capsys, pools):
    """Rows are in input order, judges in the order named, and hold exactly what the judges say."""
    done = typed(capsys, "judge", pools, *[word for judge in JUDGES for word in ("--judge", judge)])
    found = list(csv.reader(io.StringIO(done.out)))
    expected = []
    for pool in read_pools(pools):
        verdicts = [judge_from_spec(name).judge(pool.prompt, [c.text for c in pool.candidates]) for name in JUDGES]
        for position, candidate in enumerate(pool.candidates):
            for name, answers in zip(JUDGES, verdicts, strict=True):
                verdict = answers[position]
                score = str(verdict.value) if isinstance(verdict, Score) else ""
                reason = verdict.reason if isinstance(verdict, Unscored) else ""
                expected.append([pool.prompt_id, candidate.id, name, score, reason])
    assert found == [COLUMNS, *expected]


def test_the_unscored_are_counted_with_their_reason(capsys, pools):
    """An answer without a score has a blank and a reason, never a number, and standard error counts them."""
    done = typed(capsys, "judge", pools, "--judge", "local:length", "--out", "s.csv")
    blank = [row for row in rows_of("s.csv") if row["judge_score"] == ""]
    assert [(row["prompt_id"], row["candidate"]) for row in blank] == [("p4", "c0"), ("p3", "c0"), ("p3", "c1")]
    assert {row["unscored"] for row in blank} == {"empty answer"}
    first, second = done.err.splitlines()
    assert first == "bonwise: 10 rows to s.csv, 3 of them unscored"
    assert second == "bonwise: unscored 3 times: empty answer"
    assert not done.out


def test_scores_survive_the_file(capsys, pools):
    """A score read back from the CSV is the number the judge gave, to the bit."""
    typed(capsys, "judge", pools, "--judge", "local:length", "--out", "s.csv")
    given = {
        (line["prompt_id"], name): score
        for line in picks(typed(capsys, "select", pools, "--judge", "local:length"))
        for name, score in zip(line["ids"], line["scores"], strict=True)
    }
    for row in rows_of("s.csv"):
        if row["judge_score"] and row["prompt_id"] != "p5":
            assert float(row["judge_score"]) == given[row["prompt_id"], row["candidate"]]


def test_picks_say_how_they_were_made(capsys, pools):
    """A pool has one line: decided by score, by tie-break, as the only candidate, or by nothing, and counted."""
    done = typed(capsys, "select", pools, "--judge", "local:length")
    found = {line["prompt_id"]: line for line in picks(done)}
    assert done.code == 0
    assert [(name, line["decided_by"]) for name, line in found.items()] == [
        ("p2", "score"),
        ("p1", "tie-break"),
        ("p4", "score"),
        ("p3", "nothing scored"),
        ("p5", "only candidate"),
    ]
    assert (found["p2"]["best"], found["p2"]["index"], found["p2"]["tied"]) == ("c0", 0, [])
    assert found["p1"]["best"] in {"c0", "c1"}
    assert found["p1"]["tied"] == ["c0", "c1"]
    assert (found["p4"]["best"], found["p4"]["scores"][0]) == ("c1", None)
    assert (found["p3"]["best"], found["p3"]["index"], found["p3"]["text"]) == (None, None, None)
    assert found["p3"]["unscored"] == {"c0": "empty answer", "c1": "empty answer"}
    assert done.err == (
        "bonwise: 5 pools by local:length: 2 by score, 1 by tie-break, 1 by nothing scored, 1 by only candidate\n"
        "bonwise: unscored 3 times: empty answer\n"
    )


def test_the_order_of_candidates_does_not_choose(capsys, tmp_path):
    """Ties are broken by the seed and not by place: shuffled pools have the same picks, another seed has others."""
    rng = random.Random(1)  # noqa: S311 - a shuffle, no secret
    texts = {f"p{x}": [{"id": f"k{i}", "text": "same length"} for i in range(5)] for x in range(60)}
    plain = pool_file(tmp_path / "a.jsonl", texts)
    shuffled = pool_file(tmp_path / "b.jsonl", {name: rng.sample(pool, 5) for name, pool in texts.items()})
    best = {}
    for path, seed in ((plain, 0), (shuffled, 0), (plain, 1)):
        done = typed(capsys, "select", path, "--judge", "local:length", "--seed", seed)
        best[path.name, seed] = [line["best"] for line in picks(done)]
    assert best["a.jsonl", 0] == best["b.jsonl", 0]
    assert best["a.jsonl", 0] != best["a.jsonl", 1]
    assert set(best["a.jsonl", 0]) == {f"k{i}" for i in range(5)}


def test_formula_ids_are_defused_and_come_back(capsys, tmp_path):
    """Ids that a spreadsheet would run are defused in the scores, and still join with labels that hold them plain."""
    ids = ["=a()", "+b", "-c", "@d"]
    pools = pool_file(
        tmp_path / "p.jsonl", {name: [{"id": f"={i}", "text": "x" * i} for i in (1, 2)] for name in ids}
    )
    scores, labels = tmp_path / "s.csv", tmp_path / "labels.jsonl"
    assert typed(capsys, "judge", pools, "--judge", "local:length", "--out", scores).code == 0
    assert {row["prompt_id"] for row in rows_of(scores)} == {"'" + name for name in ids}
    rows = [{"prompt_id": n, "candidate": f"={i}", "oracle_label": i / 2} for n in ids for i in (1, 2)]
    labels.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    document = strict(typed(capsys, "audit", scores, "--labels", labels, "--json", "-").out)
    assert document["metrics"]["value_judge"]["estimate"] == 1.0


def test_ids_with_line_breaks_survive_the_file(capsys, tmp_path):
    """Ids and candidates with any white space inside are the same after a round trip through the scores."""
    names = ["a\nb", "a\rb", "a\r\nb", "a\tb", 'a"b', "a,b", "a;b"]
    pools = pool_file(tmp_path / "p.jsonl", {name: [{"id": name, "text": "x"}, "yy"] for name in names})
    assert typed(capsys, "judge", pools, "--judge", "local:length", "--out", tmp_path / "s.csv").code == 0
    with (tmp_path / "s.csv").open(encoding="utf-8", newline="") as stream:
        read = [(row["prompt_id"], row["candidate"]) for row in csv.DictReader(stream)]
    assert read == [(name, candidate) for name in names for candidate in (name, "c1")]
    document = strict(typed(capsys, "doctor", tmp_path / "s.csv", "--json", "-").out)
    assert document["counts"]["prompts"] == len(names)


def test_gzipped_pools_are_read(capsys, pools):
    """A gzipped file of pools gives the same picks."""
    subprocess.run([shutil.which("gzip"), "-k", pools], check=True)
    plain, packed = (typed(capsys, "select", path, "--judge", "local:length") for path in (pools, f"{pools}.gz"))
    assert decisions(plain) == decisions(packed)


def test_a_file_is_written_whole_or_not_at_all(capsys, pools):
    """When a later pool is bad, the scores of an earlier run stay as they were."""
    assert typed(capsys, "judge", pools, "--judge", "local:length", "--out", "s.csv").code == 0
    before = Path("s.csv").read_bytes()
    with Path(pools).open("a", encoding="utf-8") as stream:
        stream.write("{bad\n")
    assert typed(capsys, "judge", pools, "--judge", "local:length", "--out", "s.csv").code == 2
    assert Path("s.csv").read_bytes() == before
    assert sorted(path.name for path in Path().iterdir()) == ["pools.jsonl", "s.csv"]


def test_the_installed_commands_work_in_a_pipe(pools):
    """Picks of the installed command go to standard output as JSON lines, counts to standard error."""
    done = subprocess.run(
        [SCRIPTS / "bonwise", "select", pools, "--judge", "local:length"], capture_output=True, text=True, check=True
    )
    assert [strict(line)["prompt_id"] for line in done.stdout.splitlines()] == ["p2", "p1", "p4", "p3", "p5"]
    assert done.stderr.startswith("bonwise: 5 pools")
