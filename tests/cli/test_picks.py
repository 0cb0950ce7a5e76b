from __future__ import annotations

import json

import pytest

from cli.commands import scored, strict, typed, written

SCORES = scored([[0.9, 0.1], [0.2, 0.2], [0.3, 0.8]] * 12, [[1, 0], [0.4, 0.6], [0.9, 0.1]] * 12)


def picks(path, best=max):
    """Write greedy picks of the scores, or the worst ones, as lines of bonwise select."""
    pools = {}
    for row in SCORES:
        pools.setdefault(row["prompt_id"], {})[row["candidate"]] = row["judge_score"]
    lines = []
    for prompt, pool in pools.items():
        top = [name for name, value in pool.items() if value == best(pool.values())]
        line = {"prompt_id": prompt, "ids": list(pool), "best": top[0], "level": top if len(top) > 1 else []}
        lines.append(line | {"answers": 2, "from_ledger": 0, "input_tokens": 80, "output_tokens": 20})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return path


@pytest.fixture
def labels(tmp_path):
    """Write the labels alone."""
    keys = ("prompt_id", "candidate", "oracle_label")
    return written(tmp_path / "labels.csv", [{key: row[key] for key in keys} for row in SCORES])


def test_picks_are_audited_like_the_scores_behind_them(tmp_path, labels, capsys):
    """A file of picks with labels gives the recovery of the scores, gates included; scores' metrics are null."""
    done = typed(capsys, "audit", picks(tmp_path / "winners.jsonl"), "--labels", labels, "--json", "-")
    scores = typed(capsys, "audit", written(tmp_path / "scores.csv", SCORES), "--json", "-")
    found, expected = strict(done.out)["metrics"], strict(scores.out)["metrics"]
    assert found["recovery"] == expected["recovery"]
    assert found["within_r"]["reason"] == "a logged pick holds no scores"
    assert "Audit of the picks of" in done.err
    gate = typed(capsys, "audit", tmp_path / "winners.jsonl", "--labels", labels, "--fail-under", "gain=0.9")
    assert gate.code == 1


def test_picks_without_labels_and_elsewhere_are_refused_with_the_way_out(tmp_path, capsys):
    """Without labels the hint names the flag; a command that wants scores names the one that takes picks."""
    winners = picks(tmp_path / "winners.jsonl")
    done = typed(capsys, "audit", winners)
    assert (done.code, "--labels" in done.err) == (2, True)
    done = typed(capsys, "doctor", winners)
    assert (done.code, "bonwise audit PICKS.jsonl --labels LABELS.csv" in done.err) == (2, True)


def test_two_sets_of_picks_are_compared(tmp_path, labels, capsys):
    """The comparison pairs the picks by prompt, with what they took."""
    files = picks(tmp_path / "a.jsonl"), picks(tmp_path / "b.jsonl", min)
    done = typed(capsys, "compare", *files, "--labels", labels, "--json", "-")
    document = strict(done.out)
    assert (done.code, document["schema"], document["prompts"]) == (0, "bonwise.compare/1", 36)
    assert document["first"]["metrics"]["tokens_per_prompt"]["estimate"] == 100
    assert "gain_per_1000_tokens" in done.err


def test_stated_confidence_is_audited(tmp_path, capsys):
    """A table of probabilities and outcomes is compared with itself, ties as asked."""
    rows = [{"prompt_id": f"p{k % 9}", "probability": k % 10 / 10, "outcome": k % 3 / 2} for k in range(60)]
    path = written(tmp_path / "stated.csv", rows)
    done = typed(capsys, "confidence", path, "--json", "-", "--ties", "half")
    document = strict(done.out)
    assert (done.code, document["schema"], document["settings"]["oracle_ties"]) == (0, "bonwise.confidence/1", "half")
    assert document["judges"]["judge"]["data"]["oracle_ties_counted_half"] == 20
    assert typed(capsys, "confidence", path, "--ties", "win").code == 2
