"""What a selection found and how it came to it, and what many selections come to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic

from bonwise.calls.bill import Bill
from bonwise.printable import writable
from bonwise.shown import ShowsItself
from bonwise.table.verdicts import Score, Verdict

if TYPE_CHECKING:
    import pandas as pd
    from typing_extensions import TypeVar

    from bonwise.selection.result import ComparisonRecord, RoutedRecord, SelectionsDocument

    T = TypeVar("T", default=Any)
else:
    from typing import TypeVar

    T = TypeVar("T")
"""What candidates are; anything where a selection does not say."""


@dataclass(frozen=True, slots=True)
class GeneratedAnswers:
    """What became of the draws of a pick whose candidates were drawn for it; every one of them was sent."""

    drawn: int
    """Answers that came in time: the candidates."""
    failed: int = 0
    """Draws that raised an error, or returned something that cannot be judged."""
    late: int = 0
    """Draws that had not ended when the time was up. They are dropped, and may be billed."""
    cancelled: int = 0
    """Draws that were under way when an answer reached `stop_at`. They may be billed."""
    failures: tuple[str, ...] = ()
    """Why each of the failed ones did."""
    bill: Bill = field(default_factory=Bill)
    """What draws have asked of models through bonwise: calls, tokens and cost. Other clients are not seen."""


@dataclass(frozen=True)
class Selection(ShowsItself, Generic[T]):
    """The pick of one pool.

    Examples
    --------
    >>> import bonwise as bw
    >>> pick = bw.select("Name a colour", ["red", "a long answer"], judge=lambda prompt, text: -len(text))
    >>> pick.best, pick.decided_by, pick.calls
    ('red', 'score', 0)
    """

    prompt_id: str | None
    best: T
    """The candidate as it was passed in. None when nothing could be scored, which is an error unless `on_failure` is
    ``owe``.
    """
    best_id: str | None
    index: int | None
    """Position of the best among the candidates."""
    text: str | None = field(repr=False)
    """Its text."""
    ids: tuple[str, ...] = field(repr=False)
    """Candidate ids, in candidate order."""
    scores: tuple[float | None, ...]
    """What each is ranked by, in candidate order, None where unscored."""
    ranking: tuple[str, ...] = field(repr=False)
    """Ids from best to worst, unscored ones left out; ties are in the seeded order."""
    tied: tuple[str, ...]
    """Ids that share the top score, empty where one stands alone."""
    decided_by: str
    """``score``; ``comparison``, where equal scores were compared; ``tie-break``, where the seed decided; ``only
    candidate``; ``same text``, where all candidates are one and the same text; ``nothing scored``; ``owed``, where an
    answer has not arrived and a later run asks for it; ``deadline``, the best that was known by then; ``limit``, the
    best of what could be judged before a limit on spending was reached; ``partial``, the same where a judge failed or
    comparisons that were lost could change the pick; ``first`` and ``random``, where nothing could be judged and
    `on_failure` says so.
    """
    unscored: Mapping[str, str]
    """Id to reason."""
    settings: Mapping[str, Any] = field(repr=False)
    """``judge``, ``judge_version``, ``strategy``, ``seed``, the package's ``version``, and ``parameters``: every set
    of sampling parameters that was really sent, in order of first appearance; empty where no model was asked.
    """
    standard_errors: tuple[float | None, ...] = field(default=(), repr=False)
    """Of the scores, in candidate order; empty where none is known."""
    p_best: tuple[float | None, ...] = field(default=(), repr=False)
    """Posterior probability that a candidate is the best, in candidate order; empty where unknown. Candidates of one
    and the same text share it.
    """
    expected_regret: float | None = field(default=None, repr=False)
    """Posterior expectation of what the best candidate's score exceeds the pick's by."""
    draws: tuple[int, ...] = field(default=(), repr=False)
    """Scores asked of each candidate, in candidate order; empty where candidates were only compared."""
    level: tuple[str, ...] = field(default=(), repr=False)
    """Ids among which the seed decided; empty where it decided nothing."""
    stopped: str = field(default="", repr=False)
    """Why nothing more was asked."""
    comparisons: tuple[ComparisonRecord, ...] = field(default=(), repr=False)
    """In the order in which they were asked."""
    lost: int = field(default=0, repr=False)
    """Comparisons of which an order could not be read: each adds a half to both sides."""
    routed: RoutedRecord | None = field(default=None, repr=False)
    """None without a router."""
    failure: str = ""
    """What went wrong, where the pick rests on less than was asked for; empty otherwise."""
    latency: float = field(default=0.0, repr=False, compare=False)
    """Seconds from the call to the answer."""
    bill: Bill = field(default_factory=Bill, repr=False, compare=False)
    """Calls, tokens and cost."""
    verdicts: tuple[Verdict | None, ...] = field(default=(), repr=False)
    """What the judge said of each candidate, in candidate order; None where no judge was needed. A `Score` has the
    `value` of `scores`; `low` and `high`, where the judge states an interval: of several draws the mean of the stated
    ends, which say how sure the judge is of one score and are no standard error; `draws`, where there are several;
    and `raw`, the judge's words, of which long replies lose their middle. An `Unscored` has the reason. Where a
    stronger judge decided, the verdicts are its own.
    """
    evaluations: int = field(default=0, repr=False)
    """Candidates that judges which ask no model have judged; a redraw counts again. Calls of models are in `bill`."""
    p_best_reason: str = field(default="", repr=False)
    """Why a strategy that draws again states no `p_best` and no `expected_regret`; empty where it states them."""
    members: Mapping[str, tuple[float | str | None, ...]] = field(default_factory=dict, repr=False)
    """By member of a jury or criterion of a rubric: its score of each candidate, in candidate order (of several draws
    the mean), the reason why there is none, or None where it was not asked. Where a stronger judge decided, the
    members are its own.
    """
    generated: GeneratedAnswers | None = field(default=None, repr=False, compare=False)
    """What became of the draws; None where the candidates were given."""

    @property
    def calls(self) -> int:
        """Calls of a model that were sent."""
        return self.bill.calls

    @property
    def cost(self) -> float | None:
        """In US dollars; None where unknown."""
        return self.bill.cost

    @property
    def filled(self) -> dict[str, int]:
        """Candidates that judges of a stack did not score, by judge: filled by what the other judges let expect."""
        names = [name for verdict in self.verdicts if isinstance(verdict, Score) for name in verdict.filled]
        return dict(Counter(names)) if names else {}

    @property
    def order_effect(self) -> float | None:
        """Mean of how much more a candidate earned when shown first; None where no pair was scored in both orders."""
        effects = [comparison.order_effect for comparison in self.comparisons if comparison.order_effect is not None]
        return sum(effects) / len(effects) if effects else None

    def to_text(self, *, full: bool = False) -> str:
        """Return the text that was picked, and below it how it came to it as plain text; see `ShowsItself`."""
        how = super().to_text(full=full)
        return how if self.text is None else f"{writable(self.text)}\n\n{how}"

    def explain(self) -> str:
        """Return why this candidate was picked, as plain text.

        It shows what decided, scores and ranks, why a candidate has no score, what each member of a jury or criterion
        of a rubric says, where members disagree most, who was asked, comparisons, the judge's words, calls and cost.
        """
        from bonwise.report.terminal import plain, renderables  # noqa: PLC0415 - rendering loads rich
        from bonwise.selection.view import explanation  # noqa: PLC0415 - loaded only to be shown

        return plain(renderables(explanation(self.document())))

    def document(self) -> SelectionsDocument:
        """Return a document of schema ``bonwise.selections/1``: this pick alone, with the text of the best."""
        from bonwise.selection.recorded import document_of  # noqa: PLC0415 - picking needs no document

        return document_of(self)

    def _document(self) -> SelectionsDocument:
        return self.document()

    def to_dict(self) -> dict[str, Any]:
        """Return the line that ``bonwise select`` writes; ``best`` is the id."""
        from bonwise.selection.recorded import pick_line  # noqa: PLC0415 - picking needs no record

        return pick_line(self)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per candidate, in candidate order.

        Columns: ``prompt_id``, ``candidate``, ``score``, ``rank`` (1 is the best; equal scores are in the seeded
        order, and what is unscored has none), ``picked``, ``tied`` (whether it shares the top score),
        ``standard_error``, ``p_best``, ``draws``, ``unscored``: the reason, where there is no score; ``low``,
        ``high`` and ``raw``: what the judge said.
        """
        return self.document().to_frame()
