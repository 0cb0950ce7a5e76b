"""Models on this machine as judges: tiny ones of random weights, made here, against transformers called by hand."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import math
import os
import shutil
import sys
import time
import types
from pathlib import Path

import pytest

import bonwise as bw
from bonwise.errors import MissingExtraError, UsageError
from bonwise.judges.registry import judge_from_spec
from bonwise.table.verdicts import Score, Unscored
from cli.commands import pool_file, rows_of, typed
from judges.described_model import torch_is_there, write_model

os.environ["HF_HUB_OFFLINE"] = "1"  # nothing is looked for on a hub

SIGNS = {"pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]", "unk_token": "[UNK]", "eos_token": "<eos>"}
WORDS = [*SIGNS.values(), "user", *"abcdef", ".", "red", "blue", "sky", "gold"]
SIZES = {"vocab_size": len(WORDS), "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
POOL = ["blue", "gold sky", "", "a b c d e f", "blue", "red red red red"]
TEMPLATE = "{% for turn in messages %}{{ turn.role }} . {{ turn.content }} <eos> {% endfor %}"


@pytest.fixture
def described(monkeypatch, tmp_path):
    """Return the folder of a model that can only be described, under a name as of the hub."""
    monkeypatch.chdir(tmp_path)
    with torch_is_there():
        yield write_model(Path("org/model"))


@pytest.fixture
def libraries():
    """Return torch and transformers."""
    return pytest.importorskip("torch"), pytest.importorskip("transformers")


@pytest.fixture
def made(libraries, tmp_path):
    """Return what makes the folder of a model of random weights, with a tokenizer of whole words."""
    torch, transformers = libraries
    from tokenizers import Tokenizer, models, pre_tokenizers, processors  # noqa: PLC0415 - transformers brings it

    def make(kind="BertForSequenceClassification", template=None, pad="[PAD]", change=None, **settings):
        words = Tokenizer(models.WordLevel({word: at for at, word in enumerate(WORDS)}, unk_token="[UNK]"))  # noqa: S106
        words.pre_tokenizer = pre_tokenizers.Whitespace()
        pair = {"single": "[CLS] $A [SEP]", "pair": "[CLS] $A [SEP] $B:1 [SEP]:1"}
        words.post_processor = processors.TemplateProcessing(**pair, special_tokens=[("[CLS]", 1), ("[SEP]", 2)])
        signs = SIGNS | {"pad_token": pad}
        tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=words, model_max_length=24, **signs)
        tokenizer.chat_template = template
        torch.manual_seed(0)
        its = getattr(transformers, kind)
        config = its.config_class(**SIZES, intermediate_size=64, initializer_range=0.5, pad_token_id=0, **settings)
        model = its(config).eval()
        if change:
            change(model)
        folder = tmp_path / f"model{len(list(tmp_path.iterdir()))}"
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        return folder

    return make


def by_hand(libraries, folder, tokens, types=None, kind="AutoModelForSequenceClassification"):
    """Return the logits of one row of words, read alone."""
    torch, transformers = libraries
    model = getattr(transformers, kind).from_pretrained(folder).eval()
    row = {"input_ids": torch.tensor([[WORDS.index(word) for word in tokens.split()]])}
    if types:
        row["token_type_ids"] = torch.tensor([types])
    with torch.no_grad():
        return model(**row).logits[0].double()


def pair_by_hand(libraries, folder, text):
    """Return the logits of a prompt and a text, which is a pair."""
    words = text.split()
    types = [0] * 4 + [1] * (len(words) + 1)
    return by_hand(libraries, folder, f"[CLS] a red [SEP] {text} [SEP]", types)


def values(verdicts):
    """Return scores, and reasons where there are none."""
    return [verdict.value if isinstance(verdict, Score) else verdict.reason for verdict in verdicts]


@pytest.mark.torch
@pytest.mark.filterwarnings("default")
def test_a_score_is_the_models_own_number_whatever_is_scored_beside(libraries, made):
    """Each score is the logit of the pair read alone by hand; no size of a batch changes it, and equal texts tie."""
    folder = made(num_labels=1)
    expected = [
        "empty answer" if not text else pytest.approx(float(pair_by_hand(libraries, folder, text)[0]), abs=1e-5)
        for text in POOL
    ]
    for batch in (1, 2, 8):
        judged = values(bw.Reward(str(folder), batch=batch).judge("a red", POOL))
        assert judged == expected
        assert judged[0] == judged[4]
    assert not all(0 <= value <= 1 for value in judged if value != "empty answer")
    alone = [values(bw.Reward(str(folder)).judge("a red", [text]))[0] for text in POOL]
    assert alone == expected


@pytest.mark.torch
@pytest.mark.filterwarnings("default")
def test_a_label_is_stated_and_its_probability_is_the_score(libraries, made):
    """By name or place; labels that are regressions are numbers, and several that may hold at once stand alone."""
    three = {"id2label": {0: "bad", 1: "fair", 2: "good"}, "label2id": {"bad": 0, "fair": 1, "good": 2}}
    folder = made(**three)
    with pytest.raises(UsageError, match=r"has several labels .state one .*: bad, fair, good"):
        bw.Reward(str(folder))
    with pytest.raises(UsageError, match="has no label great"):
        bw.Reward(str(folder), label="great")
    logits = pair_by_hand(libraries, folder, "blue")
    for label in ("good", 2, "2"):
        assert values(bw.Reward(str(folder), label=label).judge("a red", ["blue"])) == [
            pytest.approx(float(logits.softmax(0)[2]), abs=1e-6)
        ]
    for problem, expected in (("regression", logits), ("multi_label_classification", logits.sigmoid())):
        folder = made(problem_type=problem, **three)
        judged = bw.Reward(str(folder), label="good").judge("a red", ["blue"])
        assert values(judged) == [pytest.approx(float(expected[2]), abs=1e-5)]


@pytest.mark.torch
@pytest.mark.filterwarnings("default")
def test_what_is_too_long_is_unscored_and_counted(made):
    """24 tokens are read, and not one more; the others of the pool are scored."""
    judged = values(bw.Reward(str(made(num_labels=1))).judge("a red", ["b " * 19, "b " * 20, "c"]))
    assert judged[1] == "longer than the model reads: 25 tokens of 24"
    assert [type(value) for value in judged] == [float, str, float]


@pytest.mark.torch
@pytest.mark.filterwarnings("default")
def test_a_text_cannot_close_its_own_place(libraries, made):
    """Words of the tokenizer in a text of a pair are text: the row has the separators that bonwise's call gave it."""
    folder = made(num_labels=1)
    tokenizer = libraries[1].AutoTokenizer.from_pretrained(folder)
    read = tokenizer("a red", "b [SEP] c", split_special_tokens=True)["input_ids"]
    assert read.count(WORDS.index("[SEP]")) == 2
    model = libraries[1].AutoModelForSequenceClassification.from_pretrained(folder)
    types = libraries[0].tensor([[0] * 4 + [1] * (len(read) - 4)])
    expected = float(model(libraries[0].tensor([read]), token_type_ids=types).logits.detach())
    assert values(bw.Reward(str(folder)).judge("a red", ["b [SEP] c"])) == [pytest.approx(expected, abs=1e-5)]


DECODER = {"kind": "LlamaForSequenceClassification", "num_labels": 1, "max_position_embeddings": 64}


@pytest.mark.torch
@pytest.mark.filterwarnings("default")
def test_a_reward_model_reads_turns_by_the_tokenizers_template(libraries, made):
    """Where it has one, unless told otherwise; the version says which; a sign of the template is no text to score."""
    folder = made(template=TEMPLATE, **DECODER)
    judge, pair = bw.Reward(str(folder)), bw.Reward(str(folder), chat=False)
    texts = ["blue", "gold sky red", "b <eos> user . c"]
    judged = values(judge.judge("a red", texts))
    for text, value in zip(texts[:2], judged, strict=False):
        # What the template calls the answering side is no word of this tokenizer.
        row = f"user . a red <eos> [UNK] . {text} <eos>"
        assert value == pytest.approx(float(by_hand(libraries, folder, row)[0]), abs=1e-5)
    assert judged[2] == "<eos> in a text would be read as a sign of the chat template"
    row = by_hand(libraries, folder, "[CLS] a red [SEP] blue [SEP]")
    assert values(pair.judge("a red", texts))[0] == pytest.approx(float(row[0]), abs=1e-5)
    assert (judge.version.split()[-1], pair.version.split()[-1]) == ("chat", "pair")
    assert pair.name == f"reward,chat=false:{folder}"
    with pytest.raises(UsageError, match="has no chat template"):
        bw.Reward(str(made(**DECODER)), chat=True)


@pytest.mark.torch
@pytest.mark.filterwarnings("default")
def test_a_tokenizer_that_fills_by_another_sign_than_the_model_knows_fills_nothing(made):
    """A decoder scores at the last token that is no filling: with the wrong sign it would score the filling."""
    texts = ["blue", "gold sky red a b", "c d"]
    right = values(bw.Reward(str(made(**DECODER))).judge("a red", texts))
    for pad in ("<eos>", None):
        assert values(bw.Reward(str(made(pad=pad, **DECODER))).judge("a red", texts)) == pytest.approx(
            right, abs=1e-5
        )


@pytest.mark.torch
@pytest.mark.filterwarnings("default")
def test_steps_are_laid_out_as_they_were_trained_and_joined(libraries, made):
    """Each step is followed by its end, at whose last token it is rated; a twin by hand gives the same numbers."""
    folder = made("BertForTokenClassification", num_labels=2)
    stated = {"label": "LABEL_1", "step": " . "}
    # Of this tokenizer the end of a step is one word.
    logits = by_hand(libraries, folder, "a red b c . d e f .", kind="AutoModelForTokenClassification")
    first, second = (float(logits[at].softmax(0)[1]) for at in (4, 8))
    texts = ["b c . d e f", "b c", " . . "]
    for steps, value in (("min", min(first, second)), ("product", first * second), ("last", second)):
        judge = bw.Reward(str(folder), steps=steps, **stated)
        judged = judge.judge("a red", texts)
        assert values(judged)[0] == pytest.approx(value, abs=1e-5)
        assert json.loads(judged[0].raw) == pytest.approx([first, second], abs=1e-5)
        assert len(json.loads(judged[1].raw)) == 1
        assert judge.name == f"reward,label=LABEL_1,steps={steps},step= . :{folder}"
    apart = bw.Reward(str(folder), steps="min", label=1, step="#").judge("a red", ["##", "b#c"])
    assert values(apart)[0] == "it has no steps"
    with pytest.raises(UsageError, match="has several labels"):
        bw.Reward(str(folder), steps="min")


@pytest.mark.torch
@pytest.mark.filterwarnings("default")
def test_a_number_that_is_not_finite_is_no_score(libraries, made):
    """The candidate is unscored with the reason."""
    folder = made(num_labels=1, change=lambda model: model.classifier.bias.data.fill_(math.nan))
    judged = bw.Reward(str(folder)).judge("a red", ["blue"])
    assert judged == [Unscored("the model returned no finite number")]


@pytest.mark.torch
@pytest.mark.filterwarnings("default")
def test_the_version_is_that_of_the_files(libraries, made, tmp_path):
    """Another place is the same judge; one weight, or one setting of the tokenizer, is another one."""
    folder = made(num_labels=1)
    version = bw.Reward(str(folder)).version
    moved = shutil.copytree(folder, tmp_path / "moved")
    (moved / "notes.md").write_text("read by nobody")
    assert bw.Reward(str(moved)).version == version
    (moved / "tokenizer_config.json").write_text((moved / "tokenizer_config.json").read_text() + "\n")
    other = made(num_labels=1, change=lambda model: model.classifier.bias.data.add_(1e-3))
    assert len({version, bw.Reward(str(moved)).version, bw.Reward(str(other)).version}) == 3


@pytest.mark.torch
@pytest.mark.filterwarnings("default")
def test_no_code_of_a_folder_is_run_and_nothing_pickled_is_read(libraries, made, tmp_path):
    """A model of its own code, and one with pickled weights alone, are refused, and the code leaves no trace."""
    folder = made(num_labels=1)
    settings = json.loads((folder / "config.json").read_text())
    trace = tmp_path / "trace"
    (folder / "own.py").write_text(f"open({str(trace)!r}, 'w')\nclass Own: pass\n")
    own = {
        "model_type": "own",
        "auto_map": {"AutoConfig": "own.Own", "AutoModelForSequenceClassification": "own.Own"},
    }
    (folder / "config.json").write_text(json.dumps(settings | own))
    with pytest.raises(UsageError, match=r"cannot be loaded: .* no code of a model's folder is run"):
        bw.Reward(str(folder)).judge("a red", ["blue"])
    assert not trace.exists()


@pytest.mark.torch
@pytest.mark.filterwarnings("default")
def test_a_model_without_a_trained_head_is_refused(made):
    """Transformers would draw the weights that are lacking at random; a device that is not there is named too."""
    folder = made("BertModel")
    settings = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(settings | {"architectures": ["BertForSequenceClassification"]}))
    with pytest.raises(UsageError, match=r"lacks weights: classifier\.bias, classifier\.weight"):
        bw.Reward(str(folder), label=1).judge("a red", ["blue"])
    with pytest.raises(UsageError, match=r"cannot be loaded: .*nowhere"):
        bw.Reward(str(made(num_labels=1)), device="nowhere").judge("a red", ["blue"])


@pytest.mark.torch
@pytest.mark.filterwarnings("default")
def test_the_event_loop_goes_on_while_the_model_reads(made, monkeypatch):
    """A model that takes a third of a second delays nobody else, and two picks at once do not meet in it."""
    from bonwise.judges import reward  # noqa: PLC0415

    real, inside = reward._LoadedModel.verdicts, []

    def slow(self, prompt, texts):
        inside.append(1)
        assert len(inside) == 1
        time.sleep(0.3)
        inside.pop()
        return real(self, prompt, texts)

    monkeypatch.setattr(reward._LoadedModel, "verdicts", slow)
    judges = [bw.Reward(str(made(num_labels=1))) for _ in range(2)]

    async def picked():
        ticks, picks = 0, [asyncio.create_task(bw.aselect("a red", POOL, judge=judge)) for judge in judges]
        while not all(pick.done() for pick in picks):
            await asyncio.sleep(0.01)
            ticks += 1
        return ticks, [await pick for pick in picks]

    ticks, (first, second) = asyncio.run(picked())
    assert ticks > 20
    assert first.best == second.best
    assert (first.calls, first.settings["judge_version"]) == (0, judges[0].version)


@pytest.mark.torch
@pytest.mark.filterwarnings("default")
def test_commands_judge_and_select_by_it(made, capsys, tmp_path, monkeypatch):
    """No call is made; the same command writes the same bytes; the steps are in the column ``raw``."""
    made("BertForTokenClassification", num_labels=2).rename(tmp_path / "steps")
    monkeypatch.chdir(tmp_path)
    pool_file("pools.jsonl", {"p1": ["red\nblue sky", "b"], "p2": ["gold", "", "c\nd\ne"]})
    command = ("pools.jsonl", "--judge", "reward,steps=product,label=1,step=%0A:steps")
    written = []
    for _ in range(2):
        done = typed(capsys, "judge", *command, "--out", "scores.csv", "--raw")
        assert done.code == 0, done.err
        written.append(Path("scores.csv").read_bytes())
    assert written[0] == written[1]
    rows = rows_of("scores.csv")
    assert {row["judge"] for row in rows} == {"reward,label=1,steps=product,step=%0A:steps"}
    assert [len(json.loads(row["raw"])) for row in rows if row["judge_score"]] == [2, 1, 1, 3]
    picked = typed(capsys, "select", *command)
    assert picked.code == 0, picked.err
    refused = typed(capsys, "judge", "pools.jsonl", "--judge", "reward,steps=product:steps", "--out", "other.csv")
    assert (refused.code, "state one of its labels" in refused.err) == (2, True)


def test_a_judge_is_made_again_from_its_name(described):
    """With an end of a line as the end of a step, and without what changes the speed alone."""
    write_model(described, architectures=["BertForTokenClassification"])
    judge = bw.Reward("org/model", steps="min", label="good", step="\n", revision="v1", batch=2, device="cpu")
    assert judge.name == "reward,label=good,steps=min,step=%0A,revision=v1:org/model"
    again = judge_from_spec(judge.name)
    assert (again.step, again.name, again.version, again.batch) == ("\n", judge.name, judge.version, 8)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"path": ""}, "a reward model without a name"),
        ({"batch": 0}, "batch is 0"),
        ({"steps": "mean"}, "steps is 'mean' .choose one of min, product, last"),
        ({"steps": "min", "chat": True}, "steps are no turns of a chat"),
        ({"steps": "min", "step": ""}, "steps are no turns of a chat, and end somewhere"),
        ({"steps": "min"}, "holds BertForSequenceClassification, not a model ForTokenClassification"),
        ({"label": "great"}, r"has no label great .state one of its labels, such as label=good: bad, good"),
        ({"label": 2}, "has no label 2"),
        ({"label": None}, "has several labels"),
        ({"chat": True}, "has no chat template"),
    ],
)
def test_what_means_nothing_is_refused(described, settings, words):
    """When the judge is made: nothing was loaded or asked by then."""
    with pytest.raises(UsageError, match=words):
        bw.Reward(**({"path": "org/model", "label": 1} | settings))


def test_a_folder_that_cannot_be_read_is_named(described):
    """Without a model, with settings that are no JSON, with pickled weights alone, and an adapter."""
    (described / "adapter_config.json").write_text("{}")
    with pytest.raises(UsageError, match="org/model is an adapter, and its base stands elsewhere"):
        bw.Reward("org/model", label=1)
    (described / "adapter_config.json").unlink()
    (described / "model.safetensors").rename(described / "pytorch_model.bin")
    with pytest.raises(UsageError, match=r"no weights in safetensors .pickled ones can run code"):
        bw.Reward("org/model", label=1)
    (described / "config.json").write_text("{")
    with pytest.raises(UsageError, match=r"cannot be read: JSONDecodeError: .*mend config\.json"):
        bw.Reward("org/model", label=1)
    with pytest.raises(UsageError, match="org holds no model, not a model ForSequenceClassification"):
        bw.Reward("org")


@pytest.mark.parametrize(
    ("settings", "label", "words"),
    [
        ({"architectures": [1]}, 1, r"cannot be read: TypeError: .*mend config\.json"),
        ({"id2label": ["a", "b"]}, 1, r"cannot be read: .*mend config\.json"),
        ({"id2label": {"a": "x", "b": "y"}}, 1, r"cannot be read: ValueError: .*mend config\.json"),
        ({"id2label": None, "num_labels": "2"}, 1, r"cannot be read: TypeError: .*mend config\.json"),
        ({"id2label": {"0": "1", "1": "0"}}, 1, "has 2 labels 1, by name or place"),
        ({"id2label": {"0": "x", "1": "x"}}, "x", "has 2 labels x, by name or place"),
    ],
)
def test_settings_that_say_nothing_clear_are_named(described, settings, label, words):
    """A folder that somebody else wrote is no broken plug-in, and of two labels none is taken."""
    write_model(described, **settings)
    with pytest.raises(UsageError, match=words):
        bw.Reward("org/model", label=label)


def test_a_template_that_is_null_is_none_and_what_is_no_file_is_not_read(described):
    """The form is then a pair; links that lead nowhere are no part of the version."""
    (described / "tokenizer_config.json").write_text('{"chat_template": null}')
    (described / "gone.json").symlink_to("nowhere")
    assert bw.Reward("org/model", label=1).version.endswith(" pair")


def test_a_name_on_the_hub_is_fetched_without_code_and_pickles(described, monkeypatch):
    """What is not a folder is a name; a hub that has none is quoted in one line."""
    asked, hub = [], types.ModuleType("huggingface_hub")

    def snapshot_download(name, **wanted):
        asked.append((name, wanted["revision"], wanted["allow_patterns"], wanted["ignore_patterns"]))
        if name == "org/none":
            raise OSError("404:\nno such model")
        return described

    hub.snapshot_download = snapshot_download
    monkeypatch.setitem(sys.modules, "huggingface_hub", hub)
    judge = bw.Reward("org/other", label="good", revision="v1")
    assert judge.version == bw.Reward("org/model", label="good").version
    read = ["*.json", "*.jinja", "*.model", "*.txt", "*.safetensors"]
    assert asked == [("org/other", "v1", read, ["*/*"])]
    with pytest.raises(
        UsageError, match=r"org/none cannot be found or fetched: OSError: 404: no such model .state a folder"
    ):
        bw.Reward("org/none")


def test_without_the_extra_the_line_to_type_is_said(monkeypatch):
    """It is said when the judge is made, and so before anything is asked."""
    real = importlib.util.find_spec
    monkeypatch.setattr("bonwise.extras.find_spec", lambda name: None if name == "transformers" else real("json"))
    with pytest.raises(
        MissingExtraError, match=r"a model on this machine needs bonwise\[torch\]: transformers is not"
    ):
        judge_from_spec("reward:org/model")


def test_describing_a_judge_loads_nothing(described):
    """Torch takes seconds to import."""
    before = set(sys.modules)
    assert bw.Reward("org/model", label=1).name == "reward,label=1:org/model"
    assert not {"torch", "transformers", "huggingface_hub"} & (set(sys.modules) - before)
