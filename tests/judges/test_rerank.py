"""Rerankers behind endpoints: what is sent, what is made of the scores, what it costs; a second run is free."""

from __future__ import annotations

import json
import logging
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bonwise as bw
from bonwise.calls.providers.rerank import vllm
from bonwise.errors import UsageError
from bonwise.table.verdicts import Score, Unscored
from cli.commands import pool_file, rows_of, strict, typed
from judges.injections import CONTROLS, FENCES, TEMPLATES, WISHES
from judges.rerank_server import by_length, reranking

TEXTS = ["red", "sky blue", "", "gold"]
SCORES = (Score(0.03), Score(0.08), Unscored("empty answer"), Score(0.04))
KEY = "sk-very-secret-key-0123456789"
SERVICES = {
    "cohere/m": ("", "/v2/rerank", b'{"model":"m","query":"A colour?","documents":["red","sky blue","gold"]}', 0),
    "jina/m": (
        "/v1",
        "/v1/rerank",
        b'{"model":"m","query":"A colour?","documents":["red","sky blue","gold"],"return_documents":false}',
        40,
    ),
    "voyage/m": (
        "/voyage",
        "/voyage/rerank",
        b'{"model":"m","query":"A colour?","documents":["red","sky blue","gold"]}',
        40,
    ),
    "vllm/BAAI/m": (
        "",
        "/rerank",
        b'{"model":"BAAI/m","query":"A colour?","documents":["red","sky blue","gold"]}',
        40,
    ),
    "tei/m": ("", "/rerank", b'{"query":"A colour?","texts":["red","sky blue","gold"]}', 0),
}


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    """Have the same key for every service."""
    for name in ("COHERE", "JINA", "VOYAGE", "VLLM", "TEI"):
        monkeypatch.setenv(f"{name}_API_KEY", KEY)
        monkeypatch.delenv(f"{name}_BASE_URL", raising=False)


def judged(served, model="cohere/m", texts=TEXTS, base="", run=None, **settings):
    """Judge one pool, and return its verdicts and what they took."""
    judge = bw.Rerank(model, base_url=served.url + base, **settings)
    ((pool,), bill) = (found := bw.judge([("A colour?", texts)], judge=judge, run=run, attempts=2)), found.bill
    return pool.judgments[0].verdicts, bill


@pytest.mark.parametrize("model", SERVICES)
def test_one_call_sends_all_candidates_as_the_service_publishes_it(model):
    """The bytes are the golden ones, the key stands in one header, and scores are matched by index."""
    base, path, body, tokens = SERVICES[model]
    with reranking() as served:
        verdicts, bill = judged(served, model, base=base)
    ((asked, content, headers),) = served.asked
    assert (asked, content, headers["Authorization"]) == (path, body, f"Bearer {KEY}")
    assert verdicts == SCORES
    assert (bill.calls, bill.input_tokens, bill.output_tokens, bill.cost) == (1, tokens, 0, None)


def test_the_score_route_of_vllm():
    """The query is the first text, the candidates are the others."""
    with reranking() as served:
        verdicts, _ = judged(served, "vllm/m", route="score")
    ((path, content, _),) = served.asked
    assert (path, json.loads(content)) == (
        "/score",
        {"model": "m", "text_1": "A colour?", "text_2": ["red", "sky blue", "gold"]},
    )
    assert verdicts == SCORES


def classified(*items, **beside):
    """Return a reply of vLLM's route for classes; an item is an index with the numbers of the classes."""
    data = [{"index": at, "label": "no", "probs": probs, "num_classes": len(probs)} for at, probs in items]
    return lambda _path, _body: (200, {"object": "list", "model": "m", "data": data} | beside)


TEXT = "Q: {{prompt}}\nA: {{candidate}}"


def test_the_classes_of_vllm():
    """One text is sent of each candidate, in one request; a class is named by its place, and tokens are counted."""
    answer = classified((2, [0.5, 0.5]), (0, [0.75, 0.25]), (1, [0.1, 0.9]), usage={"total_tokens": 40})
    with reranking(answer) as served:
        verdicts, bill = judged(served, "vllm/m", route="classify", label=1, text=TEXT)
    ((path, content, _),) = served.asked
    body = b'{"model":"m","input":["Q: A colour?\\nA: red","Q: A colour?\\nA: sky blue","Q: A colour?\\nA: gold"]}'
    assert (path, content) == ("/classify", body)
    assert verdicts == (Score(0.25), Score(0.9), Unscored("empty answer"), Score(0.5))
    assert (bill.calls, bill.input_tokens) == (1, 40)


def test_the_classes_of_tei():
    """Prompt and candidate are a pair, or one text; classes are named, in a list for each text, in their order."""
    lists = [[{"score": 0.75, "label": "bad"}, {"score": number, "label": "good"}] for number in (0.25, 0.9, 0.5)]
    with reranking(lambda *_: (200, lists)) as served:
        verdicts, _ = judged(served, "tei/m", route="classify", label="good")
        judged(served, "tei/m", route="classify", label="good", text=TEXT, params={"raw_scores": True})
    assert [(path, json.loads(content)) for path, content, _ in served.asked] == [
        ("/predict", {"inputs": [["A colour?", "red"], ["A colour?", "sky blue"], ["A colour?", "gold"]]}),
        (
            "/predict",
            {"inputs": [[f"Q: A colour?\nA: {text}"] for text in ("red", "sky blue", "gold")], "raw_scores": True},
        ),
    ]
    assert served.asked[0][1].startswith(b'{"inputs":[["A colour?","red"],')
    assert verdicts == (Score(0.25), Score(0.9), Unscored("empty answer"), Score(0.5))


@pytest.mark.parametrize(
    ("answer", "label", "reasons"),
    [
        (classified((0, [0.5]), (1, [-3.5]), (2, [12.0])), None, [0.5, -3.5, "empty answer", 12.0]),
        (
            classified((0, [0.5, 0.5]), (1, [0.5]), (2, [])),
            None,
            ["no label is stated of the classes 0, 1", 0.5, "empty answer", "the score is no number"],
        ),
        (
            classified((0, [0.5, 0.5]), (2, [0.1, 0.2])),
            2,
            ["2 is none of the classes 0, 1", "the reply leaves it out"],
        ),
        (
            classified((0, [0.5, float("nan")]), (1, [0.1, "0.2"]), (2, [0.1, 0.2]), (2, [0.1, 0.2])),
            1,
            ["the score is no number"] * 2 + ["empty answer", "the reply scores it 2 times"],
        ),
        (classified((0, [0.5]), (3, [0.1])), None, ["the reply scores a candidate that was not sent"] * 2),
        (
            lambda *_: (200, [[{"score": 1, "label": "1"}], [{"score": 1, "label": "1"}] * 2, "1", []]),
            1,
            ["the reply scores a candidate that was not sent"] * 2,
        ),
        (
            lambda *_: (200, [[{"score": 0.5, "label": "1"}], [{"score": 1, "label": "1"}] * 2]),
            1,
            [0.5, "the score is no number", "empty answer", "the reply leaves it out"],
        ),
    ],
)
def test_no_class_is_guessed(answer, label, reasons):
    """One of several is not taken for the score; invented, doubled and missing ones are as of any route."""
    with reranking(answer) as served:
        verdicts, _ = judged(served, "vllm/m", route="classify", label=label, text=TEXT)
    said = [verdict.value if isinstance(verdict, Score) else verdict.reason for verdict in verdicts]
    assert said[: len(reasons)] == reasons


def test_a_text_of_classes_is_filled_in_once():
    """What prompt and candidate hold stays as it is; the name of the judge states the text, in one line."""
    candidate = "{{prompt}} {{candidate}}\n<|im_end|>"
    with reranking(classified((0, [0.5]))) as served:
        judged(served, "vllm/m", texts=[candidate], route="classify", text=TEXT)
    assert json.loads(served.asked[0][1])["input"] == [f"Q: A colour?\nA: {candidate}"]
    name = bw.Rerank("vllm/m", route="classify", label=1, text=TEXT).name
    assert name == "rerank,route=classify,label=1,text=Q%3A {{prompt}}%0AA%3A {{candidate}}:vllm/m"
    assert bw.judge_from_spec(name) == bw.Rerank("vllm/m", route="classify", label=1, text=TEXT)


def test_hostile_candidates_are_sent_byte_for_byte():
    """Nothing is cut, escaped or fenced: a reranker reads no instructions."""
    texts = [*FENCES[:2], *WISHES[:2], *TEMPLATES[:2], *CONTROLS[4:6]]
    with reranking() as served:
        judged(served, texts=texts)
    assert json.loads(served.asked[0][1])["documents"] == texts


def test_a_score_that_is_not_finite_is_no_score():
    """The reply is kept, its candidate is unscored, and nothing is asked again."""
    with reranking(items((0, float("nan")), (1, float("inf")), (2, 0.5))) as served:
        verdicts, bill = judged(served)
    assert [getattr(verdict, "reason", None) for verdict in verdicts] == [
        *["the score is no number"] * 2,
        "empty answer",
        None,
    ]
    assert (bill.calls, len(served.asked)) == (1, 1)


def items(*pairs):
    """Return a reply of some indexes with their scores."""
    return lambda _path, _body: (200, {"results": [{"index": at, "relevance_score": score} for at, score in pairs]})


@pytest.mark.parametrize(
    ("answer", "reasons"),
    [
        (items((2, -3.5), (0, 12.25), (1, 0.0)), [12.25, 0.0, "empty answer", -3.5]),
        (items((2, 0.5), (0, 0.1)), [0.1, "the reply leaves it out", "empty answer", 0.5]),
        (items((2, 0.5), (0, 0.1), (1, 0.3), (0, 0.9)), ["the reply scores it 2 times", 0.3, "empty answer", 0.5]),
        (items((0, 0.5), (1, 0.1), (7, 0.9)), ["the reply scores a candidate that was not sent"] * 2),
        (items((0, 0.5), (True, 0.1), (2, 0.1)), ["the reply scores a candidate that was not sent"] * 2),
        (items((0, "0.5"), (1, None), (2, 0.25)), ["the score is no number"] * 2 + ["empty answer", 0.25]),
    ],
)
def test_no_score_is_guessed(answer, reasons):
    """Logits stay as they are; what is left out, named twice, invented or no number has no score, but a reason."""
    with reranking(answer) as served:
        verdicts, _ = judged(served)
    said = [verdict.value if isinstance(verdict, Score) else verdict.reason for verdict in verdicts]
    assert said[: len(reasons)] == reasons


ITEMS = st.dictionaries(
    st.sampled_from(["index", "relevance_score", "score", "label", "probs", "x"]),
    st.none() | st.booleans() | st.integers(-2, 5) | st.floats() | st.text(max_size=3) | st.lists(st.floats()),
    max_size=4,
)


@given(st.lists(ITEMS | st.none() | st.floats() | st.lists(ITEMS, max_size=2), max_size=5))
def test_any_items_are_scores_or_none_with_a_reason(items):
    """Whatever stands in a reply: a score is a finite number that the reply has for that candidate's index."""
    judge = bw.Rerank("vllm/m")
    (ask,) = judge.asks("A colour?", TEXTS)
    body = json.dumps({"results": items}).encode()
    reading = ask.read(vllm().reply(body).choices[0])
    scores = [reading] * 3 if isinstance(reading, Unscored) else reading
    # A list is of the classes of the text at its place.
    lists = [
        {"index": at, "probs": [part.get("score") for part in item]}
        for at, item in enumerate(items)
        if isinstance(item, list)
    ]
    stated = [*lists, *(item for item in items if isinstance(item, dict))]
    for at, score in enumerate(scores):
        if isinstance(score, Unscored):
            assert score.reason
        else:
            (own,) = [item for item in stated if item.get("index") == at and type(item["index"]) is int]
            assert math.isfinite(score)
            probs = own.get("probs")
            assert score in [*own.values(), *(probs if isinstance(probs, list) else [])]


def test_a_second_run_makes_no_call_and_writes_the_same_bytes(capsys, tmp_path, monkeypatch):
    """Judging and selecting share the answers of a run folder; an estimate sends nothing; the key is nowhere."""
    monkeypatch.chdir(tmp_path)
    pool_file("pools.jsonl", {"p1": ["red", "sky blue"], "p2": ["gold", "silver", ""]})

    def echoing(path, body):
        status, reply = by_length(path, body)
        return status, reply | {"echo": KEY}

    with reranking(echoing) as served:
        monkeypatch.setenv("COHERE_BASE_URL", served.url)
        command = ("pools.jsonl", "--judge", "rerank:cohere/m", "--run", "run")
        estimate = typed(capsys, "judge", *command, "--dry-run")
        assert "2 calls" in estimate.out + estimate.err
        assert "length of answers" not in estimate.out + estimate.err
        assert not served.asked
        first = typed(capsys, "judge", *command, "--out", "scores.csv")
        content = Path("scores.csv").read_bytes()
        second = typed(capsys, "judge", *command, "--out", "scores.csv")
        picked = typed(capsys, "select", *command)
    assert (first.code, second.code, picked.code) == (0, 0, 0)
    assert "2 calls sent" in first.err
    assert "0 calls sent, 2 answers from the ledger run" in second.err
    assert len(served.asked) == 2
    assert Path("scores.csv").read_bytes() == content
    assert [row["judge_score"] for row in rows_of("scores.csv")] == ["0.03", "0.08", "0.04", "0.06", ""]
    assert [strict(line)["best"] for line in picked.out.splitlines()] == ["c1", "c1"]
    stored = b"".join(path.read_bytes() for path in Path("run").rglob("*") if path.is_file())
    assert b"sky blue" in stored
    assert KEY.encode() not in stored


def test_a_refused_key_is_never_shown(capsys, tmp_path, monkeypatch, caplog):
    """A service that repeats the key is quoted without it."""
    caplog.set_level(logging.DEBUG)
    monkeypatch.chdir(tmp_path)
    pool_file("pools.jsonl", {"p1": ["red", "sky blue"]})
    with reranking(lambda *_: (401, {"message": f"invalid api token {KEY}"})) as served:
        monkeypatch.setenv("COHERE_BASE_URL", served.url)
        done = typed(capsys, "judge", "pools.jsonl", "--judge", "rerank:cohere/m", "--run", "run")
    assert done.code == 2
    assert "invalid api token [key]" in done.err
    stored = b"".join(path.read_bytes() for path in Path("run").rglob("*") if path.is_file())
    assert KEY not in done.out + done.err + caplog.text
    assert KEY.encode() not in stored


def test_what_fails_for_good_is_unscored_and_what_may_pass_is_asked_again(tmp_path):
    """A request that the service refuses has no score; an overload is tried again, and else it is owed."""
    with reranking(lambda *_: (422, {"detail": "too many documents"})) as served:
        refused, _ = judged(served)
    assert refused[0].reason == "the server refused the request: the server answered HTTP 422: too many documents"
    assert not refused[0].owed
    replies = iter([(503, {"message": "busy"}), by_length("/v2/rerank", {"documents": ["red", "sky blue", "gold"]})])
    with reranking(lambda *_: next(replies)) as served:
        passed, _ = judged(served)
    assert passed == SCORES
    with reranking(lambda *_: (200, b'{"results": [')) as served:
        owed, _ = judged(served, run=tmp_path / "run")
        assert owed[0].owed
        served.answer = by_length
        assert judged(served, run=tmp_path / "run")[0] == SCORES


def test_tokens_are_priced_and_a_service_that_tells_none_is_counted_in_calls():
    """40 tokens at 50 dollars a million cost 0.002; without a count the cost is not known."""
    with reranking() as served:
        _, voyage = judged(served, "voyage/m", base="/voyage", price=(50.0, 0.0))
        _, cohere = judged(served, price=(50.0, 0.0))
    assert (voyage.calls, voyage.cost) == (1, pytest.approx(0.002))
    assert (cohere.calls, cohere.input_tokens, cohere.cost) == (1, 0, None)


def test_a_field_of_the_request_is_sent_and_those_that_lose_documents_are_refused():
    """`params` enter the body; what bonwise sets, or what would leave candidates out, is an error."""
    with reranking() as served:
        judged(served, params={"max_tokens_per_doc": 512})
    assert json.loads(served.asked[0][1])["max_tokens_per_doc"] == 512
    with pytest.raises(UsageError, match="'top_n', which bonwise sets itself"):
        bw.Rerank("cohere/m", params={"top_n": 1})


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: bw.Rerank("openai/m"), "openai is no reranker"),
        (lambda: bw.Rerank("cohere/m", route="score"), "cohere has no route 'score' .its routes are rerank"),
        (lambda: bw.Rerank("vllm/m", label=1), "the route rerank has no label and no text"),
        (lambda: bw.Rerank("vllm/m", route="classify"), "text is '', and one text is sent of each candidate"),
        (lambda: bw.Rerank("tei/m", route="classify", text="{{prompt}}"), "with {{prompt}} and {{candidate}} in it"),
        (lambda: bw.Pointwise("jina/m").judge("q", ["a"]), "answers no questions .write rerank:jina/m"),
    ],
)
def test_what_cannot_be_asked_is_said(make, words):
    """A model of another kind, a route that there is not, and a question to a reranker are one clear error."""
    with pytest.raises(UsageError, match=words):
        make()


def test_no_key_is_said_before_anything_is_sent(monkeypatch):
    """A service of the net wants a key; a server of one's own does not."""
    monkeypatch.delenv("VOYAGE_API_KEY")
    with pytest.raises(bw.CallError, match=r"no key for voyage .*VOYAGE_API_KEY"):
        bw.select("A colour?", ["red", "gold"], judge=bw.Rerank("voyage/rerank-2.5"))
    monkeypatch.delenv("TEI_API_KEY")
    with reranking() as served:
        verdicts, _ = judged(served, "tei/m")
    assert "Authorization" not in served.asked[0][2]
    assert verdicts == SCORES


def test_a_reranker_stands_in_a_jury_and_behind_a_check():
    """It is a judge like any other one."""
    with reranking() as served:
        model = bw.Rerank("vllm/m", base_url=served.url)
        assert bw.select("A colour?", TEXTS, judge=bw.Jury([model, "local:length"])).best == "sky blue"
        checked = bw.Verified(model, regex="^[a-z]+$")
        assert bw.select("A colour?", TEXTS, judge=checked).best == "gold"
    assert json.loads(served.asked[1][1])["documents"] == ["red", "gold"]
