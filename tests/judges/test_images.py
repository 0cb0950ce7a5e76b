"""Judges that see images: every door that takes them, what is sent and kept, what is refused, and who never may."""

from __future__ import annotations

import asyncio
import base64
import inspect
import json
import pickle
import sqlite3
from pathlib import Path

import pytest

import bonwise as bw
from bonwise.calls.engine import Engine
from bonwise.errors import UsageError
from bonwise.judges.judging import judge_with
from bonwise.judges.protocol import refuse_images
from bonwise.table.images import ImageReader, TextWithImages
from bonwise.table.pools import read_pools
from bonwise.testing import Script, ScriptedServer
from cli.commands import CONTROL, rows_of, typed
from cli.picked import picks
from cli.served import served
from pictures import part, png, words

MODEL = "openai/m"
SEEING = [
    bw.Pointwise(MODEL),
    bw.Interval(MODEL),
    bw.Pairwise(MODEL),
    bw.Probability(MODEL),
    bw.Rubric(MODEL),
    bw.Decision(MODEL),
    bw.Resampled(bw.Pointwise(MODEL), vary="prompt"),
    bw.Quantized(bw.Pairwise(MODEL)),
    bw.Jury([bw.Pointwise(MODEL), bw.Interval(MODEL)]),
    bw.WeightedMajority(bw.Pointwise(MODEL)),
    bw.Verified(bw.Pointwise(MODEL), regex="a"),
]
BLIND = [
    bw.Listwise(MODEL),
    bw.Checklist(MODEL),
    bw.Logprob(MODEL),
    bw.Rerank("cohere/m"),
    bw.judge_from_spec("local:length"),
    bw.FunctionJudge(lambda _prompt, text: len(text)),
    bw.Resampled(bw.Listwise(MODEL)),
    bw.Jury([bw.Pointwise(MODEL), "local:length"]),
    bw.Jury([bw.Pointwise(MODEL), bw.Interval(MODEL), "local:length"], spares=1),
]
HOSTILE = '"><img src=x onerror=alert(1)>\x1b]0;x\x07.png'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Work beside a folder of images, with pools that show them in prompts and candidates."""
    monkeypatch.chdir(tmp_path)
    Path("pictures").mkdir()
    for at, name in enumerate(("a.png", "b.png", "c.png", HOSTILE)):
        (Path("pictures") / name).write_bytes(png(64, 32, color=at))
    Path("other.png").write_bytes(png(64, 32, color=99))
    pools = [
        {
            "prompt_id": "p1",
            "prompt": [words("Draw this."), part("a.png")],
            "candidates": [{"id": "x", "text": [part("b.png")]}, {"id": "y", "text": [part("c.png")]}],
        },
        {"prompt_id": "p2", "prompt": "No image.", "candidates": ["one", {"id": "z", "text": [part(HOSTILE)]}]},
    ]
    write(pools)
    return tmp_path


def write(pools, name="pools.jsonl"):
    """Write pools as JSON lines."""
    Path(name).write_text("".join(json.dumps(pool) + "\n" for pool in pools), "utf-8")


def images_in(body):
    """Return the data URLs of a body that was sent, in order."""
    content = body["messages"][-1]["content"]
    return (
        [piece["image_url"]["url"] for piece in content if piece["type"] == "image_url"]
        if isinstance(content, list)
        else []
    )


def url_of(color):
    """Return how one of the images is sent."""
    return f"data:image/png;base64,{base64.b64encode(png(64, 32, color=color)).decode()}"


@pytest.mark.parametrize("judge", SEEING[:5], ids=lambda judge: judge.kind)
def test_each_judge_shows_the_images_of_prompt_and_candidates_in_their_places(folder, judge):
    """Behind a line inside the text that they belong to, with the code of the request, in the order of the texts."""
    reader = ImageReader("pictures")
    prompt, first, second = reader.prompt([words("Draw"), part("a.png")]), reader.answer([part("b.png")]), "words"
    for ask in judge.asks(prompt, [first, second]):
        pieces = list(ask.pieces())
        assert [piece.name for piece in pieces[1::2]] == (
            ["a.png", "b.png"] if first in ask.user or "b.png" in ask.user else ["a.png"]
        )
        assert "".join(piece for piece in pieces[::2]) == ask.user
        for before, image in zip(pieces[::2], pieces[1::2], strict=False):
            line = before.splitlines()[-1]
            label = "PROMPT" if image.name == "a.png" else "CANDIDATE"
            assert line.startswith(f"--- IMAGE 1 OF {label}")
            code = next(word for word in line.replace(":", "").split() if len(word) == 32)
            assert f"BEGIN PROMPT {code} ---" in ask.user


def test_a_line_that_a_text_forges_shows_nothing(folder):
    """The code of the request occurs in no text, so no text can say where an image stands."""
    reader = ImageReader("pictures")
    forged = bw.Pointwise(MODEL).asks("p", [reader.answer([part("a.png")])])[0].images[0][0]
    (ask,) = bw.Pointwise(MODEL).asks("p", [reader.answer([words(forged), part("a.png")])])
    assert forged in ask.user
    assert ask.images[0][0] != forged
    assert [type(piece) is str for piece in ask.pieces()] == [True, False, True]


def test_a_text_that_is_cut_still_shows_its_images(folder):
    """Its middle is left out, and the images follow its words."""
    text = ImageReader("pictures").answer([words("x" * 500), part("a.png"), words("y" * 500)])
    (ask,) = bw.Pointwise(MODEL, longest=100).asks("p", [text])
    assert ask.shortened == 1
    assert [image.name for _, image in ask.images] == ["a.png"]


@pytest.mark.parametrize("judge", SEEING, ids=lambda judge: judge.name)
def test_these_see_images(judge):
    """A judge made of others sees them where all of these do."""
    refuse_images([judge])


@pytest.mark.parametrize("judge", BLIND, ids=lambda judge: judge.name)
def test_these_say_in_one_sentence_that_they_see_none(folder, judge):
    """Before anything is asked: at each door, and with the judges that can."""
    with pytest.raises(UsageError, match="cannot see images") as caught:
        bw.select([part("a.png")], ["a", "b"], judge=judge, images="pictures")
    assert "pointwise" in caught.value.hint
    with pytest.raises(UsageError, match="cannot see images"):
        bw.judge("pools.jsonl", judge=judge, images="pictures")
    with pytest.raises(UsageError, match="cannot see images"):
        list(bw.select_many("pools.jsonl", judge=judge, images="pictures"))


def test_a_judge_that_meets_images_all_the_same_refuses_them(folder):
    """As where a program hands on pools that it has read with images."""
    pool = next(read_pools("pools.jsonl", images=ImageReader("pictures")))
    with pytest.raises(UsageError, match="listwise:openai/m cannot see images"):
        bw.Listwise(MODEL).asks(pool.prompt, [candidate.text for candidate in pool.candidates])


def test_a_router_and_a_strategy_ask_no_blind_judge(folder):
    """The stronger judge and that of a tie see them too, or nothing is asked."""
    strong = bw.Router(strong=bw.Listwise(MODEL), signal="interval_width", share=0.5)
    for settings in ({"router": strong}, {"strategy": bw.TieBreak(bw.Logprob(MODEL, pairs=True))}):
        with pytest.raises(UsageError, match="cannot see images"):
            bw.select([part("a.png")], ["a", "b"], judge=bw.Interval(MODEL), images="pictures", **settings)


def bodies_of(monkeypatch, folder, run):
    """Return what was sent while something runs before a service, and what it returned."""
    bodies = []

    def answer(request):
        bodies.append(request.body)
        shown = [url_of(color) for color in range(4)]
        seen = [shown.index(url) for url in images_in(request.body) if url in shown]
        return json.dumps({"score": 10 * (1 + max(seen, default=0))})

    with served(monkeypatch, folder, answer=answer):
        returned = run()
    return bodies, returned


def test_the_command_judges_what_is_shown(capsys, folder, monkeypatch):
    """Scores follow the images. A second run asks nothing, and no byte of an image is in the run folder."""
    command = (
        "judge",
        "pools.jsonl",
        "--judge",
        "pointwise:openai/m",
        "--images",
        "pictures",
        "--out",
        "s.csv",
        "--raw",
    )
    bodies, (done, again) = bodies_of(monkeypatch, folder, lambda: [typed(capsys, *command) for _ in range(2)])
    assert (done.code, again.code) == (0, 0)
    assert "0 calls sent, 4 answers from the ledger" in again.err
    rows = {(row["prompt_id"], row["candidate"]): float(row["judge_score"]) for row in rows_of("s.csv")}
    assert rows == {("p1", "x"): 0.2, ("p1", "y"): 0.3, ("p2", "c0"): 0.1, ("p2", "z"): 0.4}
    assert sorted(map(len, map(images_in, bodies))) == [0, 1, 2, 2]
    kept = b"".join(path.read_bytes() for path in Path("bonwise-run").rglob("*") if path.is_file())
    for color in range(4):
        data = png(64, 32, color=color)
        assert data[8:] not in kept
        assert base64.b64encode(data)[:60] not in kept
    with sqlite3.connect(next(Path("bonwise-run").glob("*.sqlite"))) as ledger:
        assert ledger.execute("pragma integrity_check").fetchone() == ("ok",)


def test_a_changed_image_is_another_question(capsys, folder, monkeypatch):
    """The digest is in the key: only what shows that image is asked again."""
    command = ("judge", "pools.jsonl", "--judge", "pointwise:openai/m", "--images", "pictures", "--out", "s.csv")

    def run():
        typed(capsys, *command)
        (Path("pictures") / "b.png").write_bytes(png(64, 32, color=77))
        typed(capsys, *command)

    bodies, _ = bodies_of(monkeypatch, folder, run)
    assert len(bodies) == 5
    assert images_in(bodies[-1])[-1] == url_of(77)


def test_the_dry_run_counts_the_images(capsys, folder, monkeypatch):
    """By hand: 64 x 32 is two squares, 3 tokens; two images are 5. Four calls show 0, 1, 2 and 2: 13 more."""
    command = ("judge", "pools.jsonl", "--judge", "pointwise:openai/m", "--images", "pictures", "--dry-run")

    def input_tokens(text):
        return int(text.split("about ")[1].split(" input")[0].replace(",", ""))

    _, shown = bodies_of(monkeypatch, folder, lambda: typed(capsys, *command))
    assert (shown.code, "4 calls (0 of 4 answers" in shown.out) == (0, True)
    reader = ImageReader("pictures")
    pools = list(read_pools("pools.jsonl", images=reader))
    asks = [
        ask
        for pool in pools
        for ask in bw.Pointwise(MODEL).asks(pool.prompt, [each.text for each in pool.candidates])
    ]
    from bonwise.calls.tokens import ask_text, expected_input_tokens  # noqa: PLC0415 - of this test alone

    assert input_tokens(shown.out) == sum(expected_input_tokens(ask_text(ask)) for ask in asks) + 13
    most = int(shown.out.split("second asks, ")[1].split(" tokens")[0].replace(",", ""))
    assert most > 2 * 5 * 50_000
    _, plan = bodies_of(monkeypatch, folder, lambda: typed(capsys, "select", *command[1:]))
    assert plan.code == 0
    assert input_tokens(plan.out) == input_tokens(shown.out)


def test_the_command_selects_what_is_shown(capsys, folder, monkeypatch):
    """The pick follows the images; its text, and the page, name them with their digests and nothing else."""
    command = (
        "select",
        "pools.jsonl",
        "--judge",
        "pointwise:openai/m",
        "--images",
        "pictures",
        "--html",
        "page.html",
    )
    _, done = bodies_of(monkeypatch, folder, lambda: typed(capsys, *command))
    assert done.code == 0
    first, second = picks(done)
    assert (first["best"], second["best"]) == ("y", "z")
    assert first["text"].startswith("[image 1: c.png, sha256 ")
    assert "[image 1: _img_src_x_onerror_alert_1_0_x_.png, sha256 " in second["text"]
    page = Path("page.html").read_text("utf-8")
    assert "onerror=alert" not in page
    assert base64.b64encode(png(64, 32, color=2)).decode()[:40] not in page
    assert not CONTROL.search(done.out + done.err)


def test_python_takes_the_same(folder, monkeypatch):
    """One pool, many, a selector, and their asynchronous forms; the best candidate comes back as it was passed in."""
    candidates = [{"id": "x", "text": [part("b.png")]}, {"role": "assistant", "content": [part("c.png")]}, "words"]
    prompt, judge = [words("Draw this."), part("a.png")], bw.Pointwise(MODEL)
    pool = {"prompt_id": "p", "prompt": prompt, "candidates": candidates}

    async def many():
        picked = [pick async for pick in bw.aselect_many([pool], judge=judge, images="pictures")]

        async def coming():
            yield pool

        picked += [pick async for pick in bw.aselect_many(coming(), judge=judge, images="pictures")]
        picked.append(await bw.aselect(prompt, candidates, judge=judge, images="pictures"))
        async with bw.Selector(judge) as selector:
            picked.append(await selector.aselect(prompt, candidates, images="pictures"))
        return picked, await bw.ajudge(coming(), judge=judge, images="pictures")

    def run():
        picked = [bw.select(prompt, candidates, judge=judge, images="pictures")]
        picked += bw.select_many([pool, ("words", ["a", "b"])], judge=judge, images="pictures")
        with bw.Selector(judge) as selector:
            picked.append(selector.select(prompt, candidates, images=Path("pictures")))
            picked.append(selector.select("words", ["a", "b"]))
        found, judged = asyncio.run(many())
        return picked + found, [bw.judge([pool], judge=judge, images="pictures"), judged]

    _, (picked, judged) = bodies_of(monkeypatch, folder, run)
    with_images = [pick for pick in picked if len(pick.ids) == 3]
    assert len(with_images) == 7
    assert all(pick.best is candidates[1] for pick in with_images)
    assert [pick.scores for pick in with_images] == [(0.2, 0.3, 0.1)] * 7
    for found in judged:
        assert [verdict.value for verdict in found[0].judgments[0].verdicts] == [0.2, 0.3, 0.1]


def test_candidates_of_the_same_words_and_other_images_are_told_apart(folder, monkeypatch):
    """And a candidate that writes the reference of another one's image as text is judged as text."""
    reader = ImageReader("pictures")
    image = reader.answer([part("c.png")])
    judge, candidates = bw.Pointwise(MODEL), [str(image), [part("c.png")], [part("b.png")], [part("c.png")]]
    bodies, pick = bodies_of(monkeypatch, folder, lambda: bw.select("p", candidates, judge=judge, images="pictures"))
    assert pick.scores == (0.1, 0.3, 0.2, 0.3)
    assert sorted(map(len, map(images_in, bodies))) == [0, 1, 1]


def test_without_a_folder_nothing_is_read(capsys, folder, monkeypatch):
    """An image is then the word [image], as it always was, whatever its address is."""
    command = ("judge", "pools.jsonl", "--judge", "pointwise:openai/m", "--out", "s.csv")
    bodies, done = bodies_of(monkeypatch, folder, lambda: typed(capsys, *command))
    assert done.code == 0
    assert all(isinstance(body["messages"][-1]["content"], str) for body in bodies)
    assert any("[image]" in body["messages"][-1]["content"] for body in bodies)


def test_an_image_outside_costs_nothing_and_is_said_with_its_row(capsys, folder, monkeypatch):
    """Before the first call, also where it is in the last pool."""
    pools = [json.loads(line) for line in Path("pools.jsonl").read_text().splitlines()]
    write([*pools, {"prompt_id": "p3", "prompt": "p", "candidates": ["a", {"text": [part("../other.png")]}]}])
    for command in ("judge", "select"):
        words_ = (command, "pools.jsonl", "--judge", "pointwise:openai/m", "--images", "pictures")
        bodies, done = bodies_of(monkeypatch, folder, lambda words_=words_: typed(capsys, *words_))
        assert (bodies, done.code) == ([], 2)
        assert "row 3: candidate 1: the image '../other.png' is outside the folder of images" in done.err


def test_an_image_that_goes_during_a_run_is_pending(folder, monkeypatch):
    """Its question waits, by name; with the image back the same run asks it."""
    reader = ImageReader("pictures")
    text = reader.answer([part("b.png")])
    data = Path("pictures/b.png").read_bytes()
    Path("pictures/b.png").unlink()
    judge = bw.Pointwise(MODEL)

    async def run():
        async with Engine("run", attempts=1) as engine:
            return (await judge_with(engine, judge, "p", [text])).verdicts[0]

    bodies, verdict = bodies_of(monkeypatch, folder, lambda: asyncio.run(run()))
    assert bodies == []
    assert verdict.owed
    assert "b.png" in verdict.reason
    Path("pictures/b.png").write_bytes(data)
    _, verdict = bodies_of(monkeypatch, folder, lambda: asyncio.run(run()))
    assert verdict.value == 0.2


def test_anthropic_is_sent_blocks(folder):
    """The same judge by the other SDK: base64 with its type, or an address."""
    bodies = []

    def answer(request):
        bodies.append(request.body)
        return '{"score": 50}'

    prompt = ImageReader("pictures").prompt([part("a.png"), part("https://example.com/b.png")])

    async def run(url):
        async with Engine() as engine:
            return await judge_with(engine, bw.Pointwise("anthropic/c", base_url=url), prompt, ["words"])

    with ScriptedServer(Script(answer)).in_thread() as server:
        asyncio.run(run(server.url))
    sources = [piece["source"] for piece in bodies[0]["messages"][0]["content"] if piece["type"] == "image"]
    assert sources == [
        {"type": "base64", "media_type": "image/png", "data": base64.b64encode(png(64, 32)).decode()},
        {"type": "url", "url": "https://example.com/b.png"},
    ]


def test_a_service_without_images_is_refused(folder):
    """In one sentence, before anything is sent."""
    from bonwise.calls.providers.parameters import refuse_impossible  # noqa: PLC0415 - of this test alone
    from bonwise.calls.providers.protocol import provider  # noqa: PLC0415 - as above

    (ask,) = bw.Pointwise(MODEL).asks(ImageReader("pictures").prompt([part("a.png")]), ["words"])
    with pytest.raises(UsageError, match="takes no images"):
        refuse_impossible(ask, provider("cohere").capabilities)


def test_images_and_a_function_for_texts_exclude_each_other(folder):
    """Which of the two would win is not for bonwise to choose."""
    with pytest.raises(UsageError, match="images= and text= were both given"):
        bw.select("p", ["a", "b"], judge=bw.Pointwise(MODEL), images="pictures", text=str)


def test_a_pool_crosses_to_another_process(folder):
    """With its images, of which the bytes stay where they are."""
    pool = next(read_pools("pools.jsonl", images=ImageReader("pictures")))
    content = pickle.dumps(pool)
    assert png(64, 32)[8:] not in content
    assert pickle.loads(content) == pool  # noqa: S301 - made above
    assert isinstance(pickle.loads(content).prompt, TextWithImages)  # noqa: S301 - as above


def test_no_server_and_no_host_can_be_told_of_a_folder():
    """`images` is no setting: neither a selector nor a settings file nor a server has it, and no host names it."""
    import bonwise.hosts  # noqa: PLC0415 - of this test alone
    import bonwise.serving  # noqa: PLC0415 - as above
    from bonwise.flags import options_of  # noqa: PLC0415 - as above
    from bonwise.selection.settings import SelectorSettings  # noqa: PLC0415 - as above

    assert "images" not in options_of(SelectorSettings)
    assert "images" not in inspect.signature(bw.best_of).parameters
    for package in (bonwise.hosts, bonwise.serving):
        for path in Path(package.__file__).parent.rglob("*.py"):
            source = path.read_text("utf-8")
            assert "images=" not in source, path
            assert "table.images" not in source, path
