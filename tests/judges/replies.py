"""Answers of models, made by hand: what the tests of judges share."""

from __future__ import annotations

import math

from bonwise.calls.ask import Answer, Answers, Choice, TokenLogprobs


def said(ask, *texts):
    """Return the answers to an ask whose samples said these texts."""
    choices = [one if isinstance(one, Choice) else Choice(one) for one in texts]
    return Answers(tuple(Answer(ask.read(one), one.text) for one in choices))


def answered(judge, prompt, candidates, texts):
    """Return the verdicts and preferences of a judge whose questions were answered by these texts, in order."""
    asks = judge.asks(prompt, candidates)
    return judge.conclude(prompt, candidates, [said(ask, *one) for ask, one in zip(asks, texts, strict=True)])


def first_token(text=None, finish="stop", later=(), **probabilities):
    """Return a reply with these probabilities at its first token, by default the most probable one."""
    table = {name.lstrip("_").replace("space", " "): math.log(p) for name, p in probabilities.items()}
    token = max(table, key=table.get) if text is None else text
    tokens = (TokenLogprobs(token, table), *(TokenLogprobs(one, {one: 0.0}) for one in later))
    return Choice("".join(one.token for one in tokens), finish, logprobs=tokens)
