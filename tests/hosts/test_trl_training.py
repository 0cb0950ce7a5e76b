"""A judge rewards a real GRPOTrainer of TRL: a model with random weights, made here, on a processor."""

from __future__ import annotations

import os

import pytest

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("default")]

os.environ["HF_HUB_OFFLINE"] = "1"  # nothing is looked for on a hub
torch = pytest.importorskip("torch")
pytest.importorskip("trl")

from datasets import Dataset
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from trl import GRPOConfig, GRPOTrainer

from bonwise.errors import JudgeError
from bonwise.hosts.trl import reward_func
from hosts.generation_rules import broken

LETTERS = ["<pad>", "<eos>", "<unk>", *"abcdefgh ?"]
GROUP = 8


def tokenizer():
    """Make a tokenizer of single letters."""
    made = Tokenizer(models.WordLevel({letter: at for at, letter in enumerate(LETTERS)}, unk_token="<unk>"))  # noqa: S106
    made.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    made.decoder = decoders.Fuse()
    named = {"pad_token": "<pad>", "eos_token": "<eos>", "unk_token": "<unk>"}
    return PreTrainedTokenizerFast(tokenizer_object=made, **named)


def model():
    """Make a model of some thousand random weights."""
    torch.manual_seed(0)
    size = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = LlamaConfig(vocab_size=len(LETTERS), num_key_value_heads=2, pad_token_id=0, eos_token_id=1, **size)
    return LlamaForCausalLM(config)


def kept(reward, calls):
    """Keep what the trainer asks of a reward function and gets."""

    async def watched(**given):
        rewards = await reward(**given)
        calls.append((given["prompts"], given["completions"], rewards))
        return rewards

    watched.__name__ = reward.__name__
    return watched


def trained(reward, folder, steps):
    """Train and return the trainer."""
    config = GRPOConfig(
        output_dir=str(folder),
        per_device_train_batch_size=2 * GROUP,
        num_generations=GROUP,
        max_completion_length=2,
        max_steps=steps,
        learning_rate=2e-2,
        lr_scheduler_type="constant",
        logging_steps=1,
        report_to=[],
        use_cpu=True,
        save_strategy="no",
        disable_tqdm=True,
        seed=1,
    )
    data = Dataset.from_dict({"prompt": ["abc", "def", "gh", "ab"]})
    trainer = GRPOTrainer(
        model=model(), reward_funcs=[reward], args=config, train_dataset=data, processing_class=tokenizer()
    )
    trainer.train()
    return trainer


def more_a(_prompt, text):
    """Score a text by its letters a; one with a question mark has no score."""
    return None if "?" in text else text.count("a")


def logged(trainer, name):
    """Return what was logged under a name, step by step."""
    return [entry[name] for entry in trainer.state.log_history if name in entry]


def test_a_judge_rewards_a_training(tmp_path):
    """Identical completions of a prompt get equal rewards, those without a score none, and the reward grows."""
    calls, reward = [], reward_func(more_a, name="more_a")
    trainer = trained(kept(reward, calls), tmp_path, steps=12)
    repeated = unscored = 0
    for prompts, completions, rewards in calls:
        assert len(prompts) == len(completions) == len(rewards) == 2 * GROUP
        given = {}
        for prompt, completion, got in zip(prompts, completions, rewards, strict=True):
            assert got == more_a(prompt, completion)
            repeated += (prompt, completion) in given
            assert given.setdefault((prompt, completion), got) == got
            unscored += got is None
    assert repeated > 10
    assert unscored > 0
    means, shares = logged(trainer, "rewards/more_a/mean"), logged(trainer, "more_a/unscored")
    assert sum(means[-4:]) > sum(means[:4]) + 1
    assert shares[0] == pytest.approx(sum(one is None for one in calls[0][2]) / (2 * GROUP))
    assert set(logged(trainer, "more_a/judge_cost")) == {0.0}
    assert reward.ranker.totals.counts.selections == 2 * len(calls)


def test_a_judge_that_fails_ends_the_training_or_gives_no_reward(tmp_path):
    """Its error is the trainer's; with another on_failure a step has no rewards, and goes on."""
    with pytest.raises(JudgeError, match="out of order"):
        trained(reward_func(broken), tmp_path / "raise", steps=1)
    reward = reward_func(broken, on_failure="random")
    trained(reward, tmp_path / "random", steps=1)
    assert reward.ranker.totals.counts.unjudged == 2
