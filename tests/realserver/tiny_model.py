"""Write a language model of 0.1 million random parameters, and its tokenizer, into a folder.

It says nothing sensible and says it in milliseconds. Its vocabulary holds whole answers of a judge beside the
single bytes, and many tokens that end a reply, so that some of its replies hold a score and most hold none.
"""

from __future__ import annotations

import sys

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

SPECIAL = ["<|pad|>", "<|bos|>", "<|user|>", "<|assistant|>", "<|system|>"]
ENDS = [f"<|end{number}|>" for number in range(60)]
ANSWERS = [f'{{"score": {score}}}' for score in range(101)]
TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def tokenizer():
    """Return a tokenizer of bytes, to which the whole answers are added."""
    words = [*SPECIAL, *ENDS, *sorted(pre_tokenizers.ByteLevel.alphabet())]
    inner = Tokenizer(models.BPE(vocab={word: number for number, word in enumerate(words)}, merges=[]))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    made = PreTrainedTokenizerFast(
        tokenizer_object=inner,
        bos_token="<|bos|>",  # noqa: S106 - a token of text
        eos_token=ENDS[0],
        pad_token="<|pad|>",  # noqa: S106 - the same
        additional_special_tokens=[*SPECIAL[2:], *ENDS[1:]],
    )
    made.add_tokens(ANSWERS)
    made.chat_template = TEMPLATE
    return made


def model(words):
    """Return a random model over so many words; any of the ends ends its reply."""
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=words,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=16384,
        tie_word_embeddings=False,
    )
    made = LlamaForCausalLM(config)
    first = len(SPECIAL)
    made.generation_config = GenerationConfig(
        do_sample=True, pad_token_id=0, bos_token_id=1, eos_token_id=list(range(first, first + len(ENDS)))
    )
    return made


def main(folder):
    """Write both."""
    words = tokenizer()
    random = model(len(words))
    random.save_pretrained(folder)
    words.save_pretrained(folder)
    print(f"{sum(one.numel() for one in random.parameters()):,} parameters in {folder}")  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1])
