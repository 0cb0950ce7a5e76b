"""Fit a stack of judges, and tell what it is worth on prompts that it was not fitted to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import numpy as np

from bonwise.auditing.audit import audit
from bonwise.auditing.settings import Settings
from bonwise.data.checks import CONFIDENCE, SEED, check_number, names_of
from bonwise.data.feature_scaling import FeatureKind
from bonwise.data.judge_stack import JudgeStack
from bonwise.data.opening import ScoreSource, open_table
from bonwise.data.reading_options import ReadingKeywords, ReadingOptions, opens_a_table
from bonwise.data.stack_scores import STACK, with_judge
from bonwise.data.table import ScoreTable
from bonwise.data.wording import listed, quoted
from bonwise.data.writing import write_whole
from bonwise.documented import DocumentedResult
from bonwise.errors import UsageError
from bonwise.factors.stack_baselines import Baseline
from bonwise.factors.stack_measures import StackMeasures
from bonwise.factors.stack_table import StackTable, stack_table
from bonwise.stats.estimate import Estimate
from bonwise.stats.stacking.chances import ChanceCalibration
from bonwise.stats.stacking.figures import StackFigures
from bonwise.stats.stacking.folds import Deal, deal
from bonwise.stats.stacking.procedure import Paths, Trained, train
from bonwise.stats.stacking.worth_of_judges import JudgeWorth, Smaller

if TYPE_CHECKING:
    from bonwise.auditing.result import Audit
    from bonwise.documents.stack import StackDocument

__all__ = ["StackFit", "fit_stack"]

_MOST = 1e12
"""The highest price of a call, in any currency."""


@dataclass(frozen=True, eq=False)
class StackFit(DocumentedResult):
    """A fitted stack and its report."""

    stack: JudgeStack
    """What applies it."""
    laid: StackTable = field(repr=False)
    """What it was fitted to."""
    audit: Audit | None = field(repr=False)
    """Of each judge on the same labels; None where too few prompts are labelled whole."""
    figures: StackFigures = field(repr=False)
    """Of the stack and of the best judge, out of fold."""
    worth: Mapping[str, JudgeWorth] = field(repr=False)
    """What is lost without each judge; empty where the stack falls back."""
    smaller: tuple[Smaller, ...] = field(repr=False)
    """Stacks of fewer and fewer judges."""
    baselines: Mapping[str, Baseline] = field(repr=False)
    calibration: ChanceCalibration = field(repr=False)
    trained: Trained = field(repr=False)
    """On all labelled prompts."""
    deal: Deal = field(repr=False)
    ridge: float = field(repr=False)
    """That was chosen."""
    prices: Mapping[str, float] = field(default_factory=dict, repr=False)
    """Of a call, by judge; empty where none were given."""
    specs: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The texts that make judges whose names do not."""
    exclude: tuple[str, ...] = ()
    """Candidates left out."""
    confidence: float = CONFIDENCE
    seed: int = SEED

    def __repr__(self) -> str:
        what = f"falls back to {self.stack.fallback!r}" if self.stack.fallback else f"{len(self.stack.judges)} judges"
        return f"<StackFit: {what}, {len(self.figures.whole.utilities[0])} labels>"

    def __getitem__(self, metric: str) -> Estimate:
        """Return a metric of the stack, out of fold."""
        return self.figures.metrics[metric]

    def document(self) -> StackDocument:
        """Return the document of schema ``bonwise.stack/1``, which also applies the stack."""
        from bonwise.factors.stack_record import stack_document  # noqa: PLC0415 - loaded only to be shown

        return stack_document(self)

    def to_stack(self) -> JudgeStack:
        """Return what applies the stack."""
        return self.stack

    def save(self, path: str | Path) -> None:
        """Write the document, which ``bonwise.Stack`` and ``--judge stack:FILE`` read."""
        write_whole(Path(path), self.document().to_json())

    def scores(self, name: str = STACK) -> ScoreTable:
        """Return the table with the stack as a further judge.

        A prompt that the stack was fitted to is scored by the fit to the other folds; any other prompt by the stack
        itself. So the scores can be audited on the labels that the stack was fitted to.

        Parameters
        ----------
        name : str
            What the stack is called as a judge.
        """
        laid = self.laid
        own = np.zeros(laid.standardised.shape[1])
        for one, coefficient in zip(self.stack.features, self.stack.coefficients, strict=True):
            own[laid.scaling.features.index(one)] = coefficient
        by_prompt = np.tile(own, (len(laid.panel.sizes), 1))
        by_prompt[laid.prompts] = self.figures.whole.trained.coefficients[self.deal.folds[0][self.deal.parts]]
        utilities = np.einsum("cf,cf->c", laid.standardised, np.repeat(by_prompt, laid.panel.sizes, axis=0))
        scored = (~np.isnan(laid.values[:, list(laid.own)])).any(axis=1)
        return with_judge(laid.table, laid.panel, np.where(scored, utilities, np.nan), name)


@opens_a_table
def fit_stack(
    source: ScoreSource,
    *,
    features: FeatureKind | Sequence[FeatureKind] = (),
    prices: Mapping[str, float] | None = None,
    specs: Mapping[str, str] | None = None,
    confidence: float = CONFIDENCE,
    seed: int = SEED,
    **reading: Unpack[ReadingKeywords],
) -> StackFit:
    """Fit a stack of the judges of a table to its labels.

    The stack is a logit of which of two labelled candidates of a prompt is the better one, on how much the judges'
    scores differ, centred within prompts; see `docs/stack.md`. Everything reported of it is out of fold.

    Parameters
    ----------
    source : str, pathlib.Path, pandas.DataFrame, ScoreTable, JudgedPools or rows as mappings
        Long table of two judges or more: ``prompt_id, candidate, judge, judge_score, oracle_label``.
    features : str or sequence of str
        Beside the scores: ``spread`` of draws, ``width`` of stated intervals, ``length`` of the text.
    prices : mapping of str to float, optional
        Price of a call by judge, in any one currency; for all judges or for none.
    specs : mapping of str to str, optional
        The texts that make judges whose names in the table do not, such as ``pointwise:openai/gpt-5-mini``.
    confidence : float
        Of the two-sided intervals, in [0.5, 1).
    seed : int
        Of folds and draws.
    **reading
        How the table is opened, see `bonwise.data.reading_options.ReadingOptions`.

    Returns
    -------
    StackFit

    Raises
    ------
    bonwise.errors.InputError
        Fewer than two judges that tell candidates apart, or too few labels; one line: what, and how to mend.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> import bonwise as bw
    >>> rng = np.random.default_rng(1)
    >>> label = rng.normal(size=240)
    >>> cells = pd.DataFrame({"prompt_id": np.repeat(np.arange(80), 3), "candidate": np.tile(list("abc"), 80)})
    >>> judges = [cells.assign(judge=name, judge_score=label + rng.normal(size=240), oracle_label=label)
    ...           for name in ("first", "second")]
    >>> found = bw.fit_stack(pd.concat(judges))
    >>> found["recovery"].n, found.stack.judges
    (80, ('first', 'second'))
    """
    options = ReadingOptions.of(fit_stack, reading)
    settings = Settings(confidence=confidence, seed=seed, exclude=options.exclude, shape=options.shape)
    table = open_table(source, options)
    laid = stack_table(table, options, names_of("features", features))
    checked = _prices(prices or {}, laid)
    pools = laid.pools()
    dealt = deal(len(pools.sizes), pools.clusters, seed=seed)
    paths = Paths.of(pools, dealt, seed=seed)
    trained = train(pools, paths, dealt, np.ones((1, dealt.count), dtype=bool))
    measured = StackMeasures(laid, pools, paths, dealt, trained, settings)
    worth, smaller = measured.worth()
    return StackFit(
        measured.stack(),
        laid,
        None if measured.too_few else _audited(table, settings),
        measured.figures,
        worth,
        smaller,
        measured.baselines(),
        measured.calibration,
        trained,
        dealt,
        paths.stack.ridges[trained.ridges[0, 0]],
        checked,
        _specs(specs or {}, laid),
        options.exclude,
        confidence,
        seed,
    )


def _audited(table: ScoreTable, settings: Settings) -> Audit:
    return audit(
        table,
        confidence=settings.confidence,
        seed=settings.seed,
        exclude=settings.exclude,
        shape=settings.shape,
    )


def _prices(prices: Mapping[str, float], laid: StackTable) -> Mapping[str, float]:
    """Return the prices, of all judges or of none."""
    _refuse_strangers("a price", prices, laid)
    lacking = [judge for judge in laid.judges if judge not in prices]
    if prices and lacking:
        raise UsageError(
            f"no price is given for {quoted(lacking[0])}", hint="give the price of a call of every judge"
        )
    for judge, price in prices.items():
        check_number(f"the price of {quoted(judge)}", price, low=0, high=_MOST)
    return dict(prices)


def _specs(specs: Mapping[str, str], laid: StackTable) -> Mapping[str, str]:
    _refuse_strangers("a spec", specs, laid)
    return dict(specs)


def _refuse_strangers(what: str, given: Mapping[str, object], laid: StackTable) -> None:
    unknown = [judge for judge in given if judge not in laid.table.judges]
    if unknown:
        raise UsageError(
            f"{what} is given for {quoted(unknown[0])}, which is not a judge of this table",
            hint=f"the judges are {listed(laid.table.judges)}",
        )
