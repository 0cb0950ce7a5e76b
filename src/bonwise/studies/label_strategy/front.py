"""Which way of asking a judge pays: scores, quantised scores, comparisons, or verdicts alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Unpack

import numpy as np

from bonwise.arrays import Floats
from bonwise.auditing.settings import Settings
from bonwise.errors import InputError, UsageError
from bonwise.estimates import estimate_records
from bonwise.flags import takes_numbers
from bonwise.progress import counting
from bonwise.release import release
from bonwise.results import given
from bonwise.stats.estimand import Estimate
from bonwise.studies.label_strategy import matched_pairs, result, sentences
from bonwise.studies.label_strategy.judged_pairs import PairRecord, PairVerdicts
from bonwise.studies.label_strategy.strategies import Asking, compared
from bonwise.studies.labelled_panels import LabelledPanels, open_judged
from bonwise.studies.registration import Study
from bonwise.table.checks import CONFIDENCE, SEED, check_confidence, names_of
from bonwise.table.labelled_verdicts import LabelledVerdicts
from bonwise.table.panel import Panel
from bonwise.table.reading_options import ReadingKeywords, ReadingOptions, opens_a_table
from bonwise.table.score_table import ScoreTable

if TYPE_CHECKING:
    from bonwise.table.opening import ScoreSource
    from bonwise.table.reading import RowSource


@opens_a_table
def study_label_strategy(  # noqa: PLR0913 - all but the scores are named
    source: ScoreSource,
    *,
    verdicts: RowSource,
    pairwise: str | None = None,
    drawn: RowSource | None = None,
    bins: int = 20,
    edges: int | None = None,
    gap_groups: int = 4,
    confidence: float = CONFIDENCE,
    seed: int = SEED,
    **reading: Unpack[ReadingKeywords],
) -> result.StrategiesStudy:
    """Compare ways of asking a judge with each other on the same prompts and pairs.

    The ways of Tables 4, 5, 15 and 16 of Landesberg (2026): scores as they are and cut into bins, Borda's count over
    every pair or some pairs, in both orders or one, and comparisons of those alone that share the top score.

    Parameters
    ----------
    source : str, pathlib.Path, pandas.DataFrame, ScoreTable, JudgedPools or rows as mappings
        Scores.
    verdicts : str, pathlib.Path, pandas.DataFrame or rows as mappings
        Verdicts on pairs, as ``bonwise judge --pairs`` writes them.
    pairwise : str, optional
        Whose verdicts; needed where the file holds those of several judges.
    drawn : str, pathlib.Path, pandas.DataFrame or rows as mappings, optional
        The record of `draw_pairs`: the verdicts are then on pools of two, each standing for as many pairs as its
        weight says.
    bins : int
        Of the quantised scores, 2 or more.
    edges : int, optional
        Pairs a prompt of the sparse comparison; as many as candidates where not given.
    gap_groups : int
        Groups of oracle gaps, cut at quantiles, in which accuracy is told apart.
    confidence : float
        Of the two-sided intervals, in [0.5, 1).
    seed : int
        Of the pairs of the sparse comparison, and of the order that stands for a judge asked once.
    **reading
        How the table is opened, see `bonwise.table.reading_options.ReadingOptions`.

    Returns
    -------
    LabelStrategyStudy

    Raises
    ------
    bonwise.errors.InputError
        One line: what, which row or column, how to mend; also where no pair has scores, labels and a verdict.

    Examples
    --------
    >>> import pandas as pd
    >>> scores = pd.DataFrame({"prompt_id": list("ppqq"), "candidate": list("abab"),
    ...                        "judge_score": [.5, .5, .9, .1], "oracle_label": [1, 0, 1, 0]})
    >>> pairs = pd.DataFrame({"prompt_id": list("pq"), "a": "a", "b": "b", "shown_first": 1, "shown_second": 1})
    >>> found = study_label_strategy(scores, verdicts=pairs).judges["judge"]["strategies"]["every_pair"]["strategies"]
    >>> [found[way]["metrics"]["recovery"]["estimate"] for way in ("pointwise", "pairwise", "tie_break")]
    [0.5, 1.0, 1.0]
    """
    options = ReadingOptions.of(study_label_strategy, reading)
    settings = Settings(confidence=confidence, seed=seed, exclude=options.exclude, shape=options.shape)
    check_asking(bins, edges, gap_groups)
    # Scores and verdicts are compared on the same pairs, so every candidate needs its score.
    judged = open_judged(source, settings, options, all_scored=True)
    record = None if drawn is None else PairRecord.read(drawn)
    read = PairVerdicts.read(verdicts, pairwise)
    return label_strategy_of(judged, read, record=record, bins=bins, edges=edges, gap_groups=gap_groups)


def check_asking(bins: int, edges: int | None, gap_groups: int) -> None:
    """Refuse numbers that mean nothing, by a `UsageError` with the flag."""
    if bins < 2:
        raise UsageError(f"bins must be 2 or more, not {bins}", hint="such as 20")
    if edges is not None and edges < 1:
        raise UsageError(f"edges must be 1 or more, not {edges}", hint="leave them out for as many as candidates")
    if gap_groups < 1:
        raise UsageError(f"gap groups must be 1 or more, not {gap_groups}", hint="such as 4")


def label_strategy_of(
    judged: LabelledPanels,
    verdicts: PairVerdicts,
    *,
    record: PairRecord | None = None,
    bins: int = 20,
    edges: int | None = None,
    gap_groups: int = 4,
) -> result.StrategiesStudy:
    """Study judges whose scores are laid out, as `study_label_strategy` does; `record` is that of drawn pairs."""
    missing: Mapping[str, int] = {}
    if record is not None:
        verdicts, missing = record.back(verdicts)
    judges: dict[str, result.StrategiesJudge] = {}
    refused = dict(judged.not_studied)
    with counting("judge", len(judged.panels)) as step:
        for name, panel in judged.panels.items():
            if name == verdicts.judge and len(judged.panels) > 1:
                refused[name] = "its scores are what its own verdicts earned"
                continue
            asking = Asking(bins, edges, gap_groups, *_range(judged.table, panel)[0])
            strategies_judge = _ways_of_judge(judged, panel, verdicts, asking, missing)
            if strategies_judge is None:
                refused[name] = "no pair with its scores, labels and a verdict"
            else:
                judges[name] = strategies_judge
            step()
    if not judges:
        raise _no_pair(verdicts)
    asked = judged.settings_as(
        result.StrategiesSettings,
        verdicts=verdicts.source,
        pairwise=verdicts.judge,
        drawn=None if record is None else record.source,
        bins=bins,
        edges=edges,
    )
    return result.StrategiesStudy(settings=asked, judges=judges, not_studied=refused)


def _no_pair(verdicts: PairVerdicts) -> InputError:
    return InputError(
        f"{verdicts.source}: no verdict is on two candidates with scores and labels",
        hint="prompt_id, a and b must name prompts and candidates as the scores do; of pairs that were drawn, give "
        "the record (--drawn)",
    )


def _ways_of_judge(
    judged: LabelledPanels, panel: Panel, verdicts: PairVerdicts, asking: Asking, missing: Mapping[str, int]
) -> result.StrategiesJudge | None:
    settings, method = judged.settings, judged.methods[panel.judge]
    matched = matched_pairs.match(panel, verdicts, settings.seed)
    if not len(matched.pairs.prompt):
        return None
    groups, absent = compared(judged.table, matched, asking, settings, method=method)
    pairs = matched_pairs.best_of_two(matched, settings, asking.gap_groups, method=method)
    scored = {"low": asking.low, "high": asking.high, "from": _range(judged.table, panel)[1]}
    data = judged.counts_as(
        result.StrategyCounts,
        panel.judge,
        pairs=len(matched.pairs.prompt),
        pairs_left_out={**matched.left_out, **missing},
        prompts_without_verdicts=int((matched.judged_pairs == 0).sum()),
        score_range=result.ScoreRange.model_validate(scored),
    )
    return result.StrategiesJudge(
        data=data,
        strategies=groups,
        no_strategies=absent,
        matched_pairs=pairs,
        sentences=sentences.strategy_sentences(data, groups, pairs, judged.table.reference),
    )


def _range(table: ScoreTable, panel: Panel) -> tuple[tuple[float, float], result.RangeFrom]:
    """Return the range that is cut into bins, and whether it was declared or seen."""
    if panel.judge in table.judge_scales or "" in table.judge_scales:
        return (0.0, 1.0), "declared scale"  # a declared scale is mapped to [0, 1]
    return (float(np.min(panel.scores)), float(np.max(panel.scores))), "lowest and highest score"


STUDY = Study(study_label_strategy, result.LabelStrategyStudy)


_NO_ORDER = "one verdict column: what the order did is unknown"


@takes_numbers
def study_verdicts(
    source: RowSource,
    *,
    verdict_col: str | Sequence[str],
    label_col: str,
    prompt_col: str | Sequence[str],
    judge_col: str | Sequence[str] = (),
    pair_col: str | Sequence[str] = (),
    confidence: float = 0.95,
) -> result.VerdictsStudy:
    """Study the order effect, ties and agreement of pairwise verdicts, one order against both.

    Parameters
    ----------
    source : str, pathlib.Path, pandas.DataFrame or rows as mappings
    verdict_col : str or sequence of str
        One or two columns of verdicts (1/2, a/b, model_a/model_b, tie). Two are two presentation orders; both name
        the candidates as in the first, in which the first candidate is shown first.
    label_col : str
        Column with the oracle's verdict.
    prompt_col, judge_col, pair_col : str or sequence of str
        Columns that together name a pair's prompt (the unit of the intervals), its judge, and what tells the pairs
        of a prompt apart.
    confidence : float
        Of the two-sided intervals, in [0.5, 1).

    Returns
    -------
    LabelStrategyStudy
        Of each judge ``ways`` (``first_order``, ``second_order``, ``both_orders``), each with ``tie_rate``,
        ``agreement`` and ``accuracy_decided``; ``minus_both_orders``; ``order``. Verdicts of both orders that
        contradict each other are a tie. Its ``sentences`` warn where judges were not asked about the same pairs.

    Raises
    ------
    bonwise.errors.InputError
        A column that is absent or named for two things, a cell that is not a verdict, a pair judged twice.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"item": range(4), "one": [1, 1, 2, 1], "two": [1, 2, 2, 2], "gold": [1, 1, 2, 2]})
    >>> found = study_verdicts(frame, verdict_col=["one", "two"], label_col="gold", prompt_col="item").judges["judge"]
    >>> found["order"]["flips"]["estimate"], found["ways"]["both_orders"]["accuracy_decided"]["estimate"]
    (0.5, 1.0)
    """
    check_confidence(confidence)
    verdicts, prompt = names_of("verdict_col", verdict_col), names_of("prompt_col", prompt_col)
    judge, pair = names_of("judge_col", judge_col), names_of("pair_col", pair_col)
    if len(verdicts) > 2:
        raise UsageError(f"{len(verdicts)} verdict columns", hint="name one, or two for two presentation orders")
    table = LabelledVerdicts.read(source, verdicts=verdicts, oracle=label_col, prompt=prompt, judge=judge, pair=pair)
    names = [str(name) for name in table.judge.categories]
    judges = {name: _verdicts_of_judge(table, name, confidence) for name in names if table.judge.are(name).any()}
    settings = result.VerdictsSettings(
        confidence=confidence,
        source=table.source,
        verdict_columns=list(verdicts),
        oracle=label_col,
        prompt=list(prompt),
        judge=list(judge),
        pair=list(pair),
        version=release(),
    )
    lost = {name: "no row with both a verdict in every order and a label" for name in names if name not in judges}
    together = sentences.pairs_sentence(list(table.asked.values()))
    return result.VerdictsStudy(settings=settings, judges=judges, not_studied=lost, sentences=together)


def _verdicts_of_judge(table: LabelledVerdicts, name: str, confidence: float) -> result.VerdictsJudge:
    of_judge = table.judge.are(name)
    verdicts, oracle = table.verdicts[of_judge], table.oracle[of_judge]
    prompt = table.prompt.codes[of_judge].astype(np.int64)
    data = result.VerdictCounts(
        prompts=len(np.unique(prompt)),
        pairs=len(verdicts),
        oracle_ties=int((oracle == 0.5).sum()),
        dropped=dict(table.dropped.get(name, {})),
    )
    values: dict[result.VerdictsWay, Floats] = {"first_order": verdicts[:, 0]}
    less: dict[result.VerdictsWay, result.VerdictMetrics] = {}
    order, both = None, verdicts.mean(axis=1)
    if verdicts.shape[1] > 1:
        values["second_order"] = verdicts[:, 1]
        less = {
            way: _metrics(matched_pairs.order_differences(value, both, oracle, prompt, confidence))
            for way, value in values.items()
        }
        values["both_orders"] = both
        order = result.OrderEffects(
            **estimate_records(matched_pairs.order_effects(verdicts[:, 0], verdicts[:, 1], prompt, confidence))
        )
    ways = {
        way: _metrics(matched_pairs.verdict_metrics(value, oracle, prompt, confidence))
        for way, value in values.items()
    }
    return result.VerdictsJudge(
        data=data,
        ways=ways,
        minus_both_orders=less,
        order=order,
        **given(no_order=None if order is not None else _NO_ORDER),
        sentences=sentences.verdict_sentences(ways, order, data),
    )


def _metrics(found: Mapping[str, Estimate]) -> result.VerdictMetrics:
    return result.VerdictMetrics(**estimate_records(found))
