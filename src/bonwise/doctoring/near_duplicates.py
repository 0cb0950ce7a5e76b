"""Prompts whose words are nearly the same: they are likely to be wordings of one question."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from math import ceil

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from bonwise.table.score_table import ScoreTable

__all__ = ["near_duplicates"]

SHARED = 0.8
"""Part of the words of two prompts together that both must have."""

_FEWEST_WORDS = 4
_TEMPLATE = 0.2
_FEWEST_PROMPTS = 50
"""Prompts from which on words that `_TEMPLATE` of them have count as those of a template."""

_MOST_COMPARED = 200
"""Prompts with one rare word in common that are compared with each other."""

_LONGEST = 20_000
"""Characters of a prompt that are looked at."""

_WORD = re.compile(r"\w+")


def near_duplicates(table: ScoreTable) -> tuple[tuple[str, ...], ...]:
    """Return groups of prompts whose texts are nearly the same, by id, largest group first.

    Two prompts belong together where, letter case and punctuation aside, their texts are the same, or where they have
    four words or more and share 80 % of their different words (Jaccard similarity). Words that a fifth of the
    prompts have are those of a template and do not count, unless a prompt has no others.

    Parameters
    ----------
    table : ScoreTable
        Nothing is found without a column ``prompt``.
    """
    if table.words is None or "prompt" not in table.words.columns:
        return ()
    codes = table.frame["prompt_id"].cat.codes.to_numpy()
    _, first = np.unique(codes, return_index=True)
    rows = table.words["prompt"].reindex(table.frame.index[first])
    texts = {str(table.prompts[code]): value for code, value in enumerate(rows.tolist()) if isinstance(value, str)}
    return _grouped(list(texts), [tuple(_WORD.findall(text[:_LONGEST].casefold())) for text in texts.values()])


def _grouped(ids: Sequence[str], texts: Sequence[tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    by_text: dict[tuple[str, ...], int] = {}
    of_text = [by_text.setdefault(words, len(by_text)) for words in texts]
    pairs = list(_alike([frozenset(words) for words in by_text]))
    joined = sparse.coo_array(
        (np.ones(len(pairs)), tuple(np.array(pairs, dtype=np.int64).reshape(-1, 2).T)), shape=(len(by_text),) * 2
    )
    _, group = csgraph.connected_components(joined, directed=False)
    members: defaultdict[int, list[str]] = defaultdict(list)
    for name, text, words in zip(ids, of_text, texts, strict=True):
        if words:
            members[int(group[text])].append(name)
    found = [tuple(names) for names in members.values() if len(names) > 1]
    return tuple(sorted(found, key=lambda names: -len(names)))


def _alike(texts: Sequence[frozenset[str]]) -> Iterator[tuple[int, int]]:
    """Yield pairs of different texts that share enough words.

    Two sets that share the part s of their words have one in common among the first ``n - ceil(s n) + 1`` of each,
    whatever the order; in that of rarity few others share it.
    """
    times = Counter(word for words in texts for word in words)
    own = [_without_template(words, times, len(texts)) for words in texts]
    held: defaultdict[str, list[int]] = defaultdict(list)
    known: dict[frozenset[str], int] = {}
    for at, words in enumerate(own):
        if len(words) < _FEWEST_WORDS:
            continue
        if (first := known.setdefault(words, at)) != at:
            yield first, at
        else:
            rarest = sorted(words, key=lambda word: (times[word], word))
            for word in rarest[: len(words) - ceil(SHARED * len(words)) + 1]:
                held[word].append(at)
    for together in held.values():
        for one, other in combinations(together[:_MOST_COMPARED], 2):
            both = len(own[one] & own[other])
            if both >= SHARED * (len(own[one]) + len(own[other]) - both):
                yield one, other


def _without_template(words: frozenset[str], times: Mapping[str, int], texts: int) -> frozenset[str]:
    if texts < _FEWEST_PROMPTS:
        return words
    return frozenset(word for word in words if times[word] <= _TEMPLATE * texts) or words
