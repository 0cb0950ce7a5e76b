"""A judge of your own, in ten lines. Runs as it is, without a key: ``python examples/custom_judge.py``."""

from collections.abc import Sequence

import bonwise as bw


class Fresh:
    """Likes answers that do not repeat the words of the prompt."""

    name, version = "fresh", "1"

    def judge(self, prompt: str, candidates: Sequence[str]) -> list[bw.Score | bw.Unscored]:
        """Return one verdict per candidate, in order."""
        return [self.one(set(prompt.split()), set(text.split())) for text in candidates]

    def one(self, said: set[str], words: set[str]) -> bw.Score | bw.Unscored:
        """Score one answer, or say why not."""
        return bw.Score(len(words - said) / len(words)) if words else bw.Unscored("empty answer")


pick = bw.select(
    "Why is the sky blue ?", ["Why is the sky blue ? Who knows", "Air scatters short waves", ""], judge=Fresh()
)
print(f"{pick.best!r} wins by {pick.decided_by}; scores {pick.scores}; unscored {dict(pick.unscored)}")
