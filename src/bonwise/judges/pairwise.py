"""A judge that says which of two candidates is better."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any, ClassVar

from bonwise.judges.comparing import ComparingSettings
from bonwise.judges.parse.readers import pick

__all__ = ["Pairwise"]

_CREDIT = {"A": 1.0, "TIE": 0.5, "B": 0.0}


@dataclass(frozen=True)
class Pairwise(ComparingSettings):
    """Every pair of candidates, by default in both orders: the better one earns 1, a tie 0.5.

    A candidate's score is what it earned on average over its pairs that were scored. Judges favour the first or
    the last one they are shown; both orders make that visible in `Preference.order_effect`.

    Parameters
    ----------
    model : str
        ``provider/model``.
    prompt : str or pathlib.Path
        Name of a built-in prompt, or a file of mode ``pairwise``.
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
    >>> judge = Pairwise("anthropic/claude-opus-5")
    >>> judge.name, judge.calls(candidates=4)
    ('pairwise:anthropic/claude-opus-5', 12)
    """

    _: KW_ONLY
    prompt: str | Path = "pairwise"

    kind: ClassVar[str] = "pairwise"

    read = staticmethod(pick)

    def credit(self, said: Any) -> tuple[float, int | None]:
        """Return 1 for the better one, 0.5 for a tie, and the stated confidence."""
        return _CREDIT[said.choice], said.confidence
