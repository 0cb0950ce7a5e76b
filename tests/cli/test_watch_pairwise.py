from __future__ import annotations

import json

import bonwise as bw
from cli.commands import pool_file, strict, typed
from cli.served import served

DAYS = 8
POOLS = {f"p{at}": ["a first answer", "another answer of more words", f"no {at}"] for at in range(3)}


def test_the_order_effect_of_a_pairwise_judge_is_watched(capsys, tmp_path, monkeypatch):
    """Lines that `select` writes with a pairwise judge tell it: one value per pair that was asked in both orders."""
    monkeypatch.chdir(tmp_path)
    told = []
    with served(monkeypatch, tmp_path):
        for day in range(DAYS):
            pools = pool_file("pools.jsonl", {f"{day}-{name}": texts for name, texts in POOLS.items()})
            done = typed(capsys, "select", pools, "--judge", "pairwise:openai/m", "--strategy", "round_robin")
            assert done.code == 0, done.err
            (tmp_path / f"2026-10-0{day + 1}.jsonl").write_text(done.out, encoding="utf-8")
            told += [one["order_effect"] for text in done.out.splitlines() for one in strict(text)["comparisons"]]
    assert len(told) == DAYS * len(POOLS) * 3
    done = typed(capsys, "watch", "2026-10-*.jsonl", "--first", "5", "--json", "watch.json")
    assert done.code == 0, done.err
    found = json.loads((tmp_path / "watch.json").read_text("utf-8"))["signals"]["order_effect"]
    after = told[5 * len(POOLS) * 3 :]
    assert found["status"] == "not moved"
    assert found["undefined"] == {}
    assert max(after) > min(after)
    assert abs(found["now"]["estimate"] - sum(after) / len(after)) < 1e-9
    assert bw.load("watch.json").signals["order_effect"].now.picks == (DAYS - 5) * len(POOLS)
