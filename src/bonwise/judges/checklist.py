"""A judge in two steps: the model drafts what a good answer to a prompt has, then marks each answer item by item."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Self

from bonwise.calls.ask import Answers, Ask
from bonwise.errors import CallError, RowError, UsageError
from bonwise.flags import takes_numbers
from bonwise.judges import asking, prompt_file, prompt_loading, protocol
from bonwise.judges.parse import readers
from bonwise.judges.parse.slots import Fault, TextsSlot
from bonwise.table.text_files import json_lines
from bonwise.table.verdicts import Score, Unscored, Verdict, kept

CATEGORIES = 10
"""Into how many ordered categories of equal width the share of items that are present is cut."""

_Items = tuple[str, ...]


@takes_numbers
@dataclass(frozen=True)
class Checklist(asking.AskingSettings):
    """One question per prompt, for the items that a good answer has, then one per candidate, which marks each item.

    The share of items that a candidate has is cut into 10 ordered categories of equal width; its score is the
    category, 0 to 9, over 9, and `Score.raw` holds share and marks. Each prompt is drafted once, whoever answers it
    and however often marks are drawn. Where the draft cannot be read, the pool is unscored.

    Parameters
    ----------
    model : str
        ``provider/model``.
    prompt : str or pathlib.Path
        Name of a built-in prompt, or a file of mode ``checklist``, which marks the items.
    **asking
        What every judge has that asks a model, see `bonwise.judges.asking.AskingSettings`.
    draft : str or pathlib.Path
        Name of a built-in prompt, or a file of mode ``checklist-draft``.
    persona : str
        Who judges: a name of `bonwise.judges.prompt_loading.personas`. It drafts the items.
    items : str or pathlib.Path
        A file of JSON lines with ``prompt`` and ``items``: these prompts are not drafted.

    Examples
    --------
    >>> judge = Checklist("openai/gpt-5-mini", persona="fact-checker")
    >>> judge.name, judge.calls(candidates=4)
    ('checklist,persona=fact-checker:openai/gpt-5-mini', 5)
    """

    prompt: str | Path = "checklist"
    _: KW_ONLY
    draft: str | Path = "checklist-draft"
    persona: str = ""
    items: str | Path = ""
    drafting: prompt_file.PromptFile = field(init=False, repr=False)
    drafted: _Items | Unscored | None = field(default=None, init=False, repr=False)
    """The items of the prompt at hand, or why there are none; None before they are drafted."""
    stated: Mapping[str, _Items] = field(default_factory=dict, init=False, repr=False, hash=False)
    """Items by prompt, from the file."""

    kind: ClassVar[str] = "checklist"
    first_calls: ClassVar[int] = 1

    def _check(self) -> None:
        file = prompt_loading.load(self.draft)
        if file.mode != "checklist-draft":
            raise UsageError(f"the prompt {self.draft} is for mode {file.mode}", hint="draft needs checklist-draft")
        object.__setattr__(self, "drafting", prompt_loading.with_persona(file, self.persona))
        object.__setattr__(self, "stated", items_by_prompt(self.items) if self.items else {})

    @protocol.cached_property
    def version(self) -> str:
        """Identities of both prompt files, version of the readers, and of the items of the file."""
        given = hashlib.sha256(json.dumps(self.stated, sort_keys=True).encode()).hexdigest()[:12]
        return f"{super().version} {self.drafting.identity} items {given if self.stated else 'drafted'}"

    def first_ask(self, prompt: str, candidates: Sequence[str]) -> Ask | None:
        """Return the question for the items; None where they are known, or no candidate has words."""
        if self.drafted is not None or prompt in self.stated or not protocol.candidates_with_words(candidates):
            return None
        words = self.drafting.render(prompt, (), longest=self.longest)
        read = partial(readers.in_answer_to, readers.items, words.user)
        ask = self.ask(prompt, ["", ""], readers.items)
        return replace(
            ask,
            system=words.system,
            user=words.user,
            read=read,
            schema=self.drafting.schema,
            shortened=words.shortened,
            replaced=words.replaced,
        )

    def after(self, answers: Answers) -> Self:
        """Return the judge that marks the items that were drafted."""
        return self._with(asking.reading(answers))

    def asks(self, prompt: str, candidates: Sequence[str]) -> list[Ask]:
        """Return the question about each candidate that has words; none where there are no items to mark."""
        items = self._items(prompt)
        if isinstance(items, Unscored):
            return []
        # Before the model has drafted them, estimates count with eight items, other ones for each persona.
        items = items or (f"An item of a checklist that is not drafted yet: {self.drafting.digest}",) * 8
        listed = "\n".join(f"{number}. {item}" for number, item in enumerate(items, 1))
        read = partial(readers.marks, shown=len(items))
        return [self.ask(prompt, [listed, candidates[at]], read) for at in protocol.candidates_with_words(candidates)]

    def conclude(self, prompt: str, candidates: Sequence[str], answers: Sequence[Answers]) -> protocol.Conclusion:
        """Turn the marks of each candidate into its share of the items, and this into its category."""
        items = self._items(prompt)
        if items is None:
            items = Unscored("the checklist is not drafted: a judge of several cannot draw one again")
        if isinstance(items, Unscored):
            without: list[Verdict] = [items if protocol.has_words(text) else protocol.EMPTY for text in candidates]
            return protocol.Conclusion(tuple(without))
        return asking.concluded_alone(candidates, answers, partial(_rated, items))

    def calls(self, candidates: int) -> int:
        """Return one call for the items and one per candidate."""
        return candidates + 1 if candidates else 0

    def draft_items(self, prompt: str) -> _Items:
        """Ask for the items of a prompt and wait, to edit them in a file for ``items=``; `CallError` without any."""
        from bonwise.calls import portal  # noqa: PLC0415 - a judge that is only described needs no clients

        ask = self.first_ask(prompt, ["-"])
        items = self.stated[prompt] if ask is None else asking.reading(portal.default_portal().run(_asked, ask))
        if isinstance(items, Unscored):
            raise CallError(f"no items were drafted: {items.reason}")
        return tuple(items)

    def _items(self, prompt: str) -> _Items | Unscored | None:
        return self.stated.get(prompt, self.drafted)

    def _with(self, drafted: _Items | Unscored) -> Self:
        judge = self.__copy__()
        if isinstance(drafted, Unscored) and not drafted.owed:
            drafted = Unscored(f"no checklist was drafted: {drafted.reason}", drafted.raw)
        object.__setattr__(judge, "drafted", drafted)
        return judge


def items_by_prompt(path: str | Path) -> dict[str, _Items]:
    """Read a file of items; what is no prompt with items, or a prompt twice, raises `RowError`."""
    by_prompt: dict[str, _Items] = {}
    for line, row in json_lines(Path(path)):
        prompt, items = row.get("prompt"), TextsSlot().of_json(row.get("items"))
        hint = 'write {"prompt": "...", "items": ["...", "..."]}, each prompt once'
        if not isinstance(prompt, str) or isinstance(items, Fault) or prompt in by_prompt:
            raise RowError(f"{path}, line {line}: no prompt with items, or one that stands above", hint=hint)
        by_prompt[prompt] = items
    return by_prompt


async def _asked(engine: Any, ask: Ask) -> Answers:
    answers: Answers = await engine.ask(ask)
    return answers


def _rated(items: _Items, marks: Sequence[int], _raw: str) -> Score:
    share = sum(marks) / len(items)
    category = min(sum(marks) * CATEGORIES // len(items), CATEGORIES - 1)
    marked = [[item, mark] for item, mark in zip(items, marks, strict=True)]
    raw = json.dumps({"share": share, "category": category, "items": marked}, ensure_ascii=False)
    return Score(category / (CATEGORIES - 1), raw=kept(raw))
