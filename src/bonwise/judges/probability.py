"""A judge that says how probable it is that one candidate is better than another."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import ClassVar

from bonwise.judges.comparing import ComparingSettings
from bonwise.judges.parse.readers import probability

__all__ = ["Probability"]


@dataclass(frozen=True)
class Probability(ComparingSettings):
    """Every pair of candidates, by default in both orders: each earns the stated probability that it is better.

    A candidate's score is what it earned on average over its pairs that were scored.

    Parameters
    ----------
    model : str
        ``provider/model``.
    prompt : str or pathlib.Path
        Name of a built-in prompt, or a file of mode ``probability``.
    base_url : str, optional
        Another server that speaks the provider's language.
    client : object, optional
        A client of the provider's official SDK that you made, for Azure, Bedrock or Vertex or with a proxy of your
        own: it sends the requests, and is neither changed nor closed.
    temperature : float, optional
        None leaves it to the server.
    max_tokens : int
        The most an answer may have, reasoning included.
    longest : int
        Characters of one text beyond which its middle is left out.
    orders : int
        2 asks about a pair in both orders, 1 in one of them, drawn for each pair.
    seed : int
        Of that draw.

    Examples
    --------
    >>> judge = Probability("openai/gpt-5-mini", orders=1)
    >>> judge.name, judge.calls(candidates=4)
    ('probability,orders=1:openai/gpt-5-mini', 6)
    """

    _: KW_ONLY
    prompt: str | Path = "probability"

    kind: ClassVar[str] = "probability"

    read = staticmethod(probability)
