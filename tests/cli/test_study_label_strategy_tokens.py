"""From pools to what a thousand tokens bring: both judges asked with --tokens, their files studied."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bonwise.testing.stand_in import stand_in
from cli.commands import pool_file, strict, typed, written
from cli.served import served

PROMPTS = 12
WAYS = ("pointwise", "pairwise", "tie_break")


def coarse(request):
    """Answer as the stand-in does, with scores of 0, 50 and 100 alone, so that some tie."""
    said = json.loads(stand_in(request).text)
    if "score" in said:
        said["score"] = 50 * round(said["score"] / 50)
    return json.dumps(said)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Work in a folder with pools of three and their labels."""
    monkeypatch.chdir(tmp_path)
    pools = {f"p{x}": [f"answer {x} {i}" + " more" * ((x + i) % 3) for i in range(3)] for x in range(PROMPTS)}
    pool_file("pools.jsonl", pools)
    labels = [
        {"prompt_id": f"p{x}", "candidate": f"c{i}", "oracle_label": (x * 7 + i * 5) % 4 / 4}
        for x in range(PROMPTS)
        for i in range(3)
    ]
    written("labels.csv", labels)
    return tmp_path


def asked(capsys, spec, *more):
    """Judge the pools and return the tokens that the ledger of the run counted."""
    run = spec.partition(":")[0]
    done = typed(capsys, "judge", "pools.jsonl", "--judge", spec, "--run", run, "--tokens", *more)
    assert done.code == 0, done.err
    document = strict(typed(capsys, "ledger", "stats", run, "--json", "-").out)
    return document["input_tokens"] + document["output_tokens"]


def studied(capsys, *more):
    """Return each way's metrics on the prompts with a verdict on every pair, and what the command says."""
    done = typed(capsys, "study", "label-strategy", "scores.csv", "--labels", "labels.csv", *more, "--json", "-")
    assert done.code == 0, done.err
    (judge,) = strict(done.out)["judges"].values()
    ways = judge["strategies"]["every_pair"]["strategies"]
    return {name: {metric: one["estimate"] for metric, one in way["metrics"].items()} for name, way in ways.items()}


def test_tokens_go_from_the_answers_to_the_study(capsys, folder, monkeypatch):
    """Tokens a prompt are those that the ledgers counted, and the gain of 1,000 tokens is the gain over them."""
    with served(monkeypatch, folder, answer=coarse):
        scoring = asked(capsys, "pointwise:openai/m", "--out", "scores.csv")
        comparing = asked(capsys, "pairwise:openai/m", "--out", "earned.csv", "--pairs", "pairs.csv")
    ways = studied(capsys, "--verdicts", "pairs.csv", "--html", "page.html")
    tokens = {name: ways[name]["tokens_per_prompt"] for name in WAYS}
    assert tokens["pointwise"] == pytest.approx(scoring / PROMPTS)
    assert tokens["pairwise"] == pytest.approx(comparing / PROMPTS)
    assert tokens["pointwise"] < tokens["tie_break"] < tokens["pointwise"] + tokens["pairwise"]
    for name in WAYS:
        assert ways[name]["gain_per_1000_tokens"] == pytest.approx(1000 * ways[name]["gain"] / tokens[name])
    page = Path("page.html").read_text(encoding="utf-8")
    assert "gain / 1,000 tokens" in page
    assert "1,000 tokens of comparing every pair bring" in page
    assert f"{tokens['tie_break']:,.0f}" in page


def test_without_tokens_the_study_says_how_to_have_them(capsys, folder, monkeypatch):
    """Files without tokens give no columns of dashes, and a line with the flag that writes them."""
    with served(monkeypatch, folder, answer=coarse):
        typed(capsys, "judge", "pools.jsonl", "--judge", "pointwise:openai/m", "--out", "scores.csv")
        flags = ("--out", "earned.csv", "--pairs", "pairs.csv")
        typed(capsys, "judge", "pools.jsonl", "--judge", "pairwise:openai/m", *flags)
    assert {way["gain_per_1000_tokens"] for way in studied(capsys, "--verdicts", "pairs.csv").values()} == {None}
    said = typed(capsys, "study", "label-strategy", "scores.csv", "--labels", "labels.csv", "--verdicts", "pairs.csv")
    assert "bonwise judge --tokens" in " ".join(said.out.split())
    heads = [line for line in said.out.splitlines() if line.startswith("way ")]
    assert heads
    assert not any("tokens" in line for line in heads)
    assert "tokens; gain / 1,000 tokens: no figure for scores; " in " ".join(said.out.split())
