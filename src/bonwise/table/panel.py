"""From the long table to one panel per judge: complete prompts in contiguous cells, and labels in part."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Literal, NamedTuple, cast

import numpy as np

from bonwise.arrays import Floats, Ints, Mask
from bonwise.errors import InputError, RowError, UsageError
from bonwise.printable import listed, quoted
from bonwise.stats.sums import SumRows, by_rank, compared, over_prompts, prompt_sums
from bonwise.table import cells
from bonwise.table.checks import Shape

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bonwise.table.score_table import ScoreTable
    from bonwise.table.store import Names

RECTANGULAR_SHARE = 0.9
"""Share of prompts with exactly the same candidate names from which a table is rectangular."""

MAY_LACK = 0.05
"""Share of prompts that may lack labels, or a pick, before figures stop describing the whole table."""


@dataclass(frozen=True, slots=True)
class PromptLeftOut:
    """A prompt left out, and why."""

    prompt_id: str
    reason: str


@dataclass(frozen=True, eq=False)
class Pools:
    """The pools of a table, whoever judged them: cells grouped by prompt, prompts sorted by id."""

    prompt_ids: Names
    sizes: Ints
    """Candidates per prompt."""
    names: Ints
    """Position of each cell's candidate name in `candidates`."""
    candidates: Names
    """All candidate names of the table."""
    keys: Ints
    """The table's cell keys."""
    shape: Shape
    dropped: tuple[PromptLeftOut, ...]
    clusters: Ints | None = None
    """Code of the cluster that each prompt belongs to."""


@dataclass(frozen=True, eq=False)
class Panel:
    """One judge's scores on the prompts that have a pick."""

    judge: str
    prompt_ids: Names = field(repr=False)
    sizes: Ints = field(repr=False)
    """Candidates per prompt, 2 or more."""
    scores: Floats = field(repr=False)
    """Cells stand grouped by prompt; a score is NaN where the judge gave none."""
    labels: Floats = field(repr=False)
    """Cells stand grouped by prompt; a label is NaN where there is none."""
    names: Ints = field(repr=False)
    """Position of each cell's candidate name in `candidates`."""
    candidates: Names = field(repr=False)
    shape: Shape
    dropped: tuple[PromptLeftOut, ...] = field(repr=False)
    clusters: Ints | None = field(default=None, repr=False)
    """Code of the cluster that each prompt belongs to."""
    first: Mask | None = field(default=None, repr=False)
    """The first cell of each prompt, picked where none has a score; None where one is then picked at random."""
    weights: Floats | None = field(default=None, repr=False)
    """What each prompt weighs, above 0; None where all weigh alike."""

    @cached_property
    def ranked(self) -> Floats:
        """The scores as picks are made by them, see `rank`."""
        return self.rank(self.scores)

    def rank(self, scores: Floats) -> Floats:
        """Return scores of the cells as picks are made by them, see `bonwise.stats.sums.by_rank`."""
        return by_rank(scores, self.sizes, self.first)

    @cached_property
    def all_names(self) -> int:
        """Number of candidate names of the table."""
        return len(self.candidates)

    def by_candidate(self, at: int, values: Floats | Mask) -> dict[str, float]:
        """Return the values of one prompt's cells by the names of its candidates."""
        cells = slice(int(self.sizes[:at].sum()), int(self.sizes[: at + 1].sum()))
        return dict(zip(map(str, self.candidates[self.names[cells]]), values[cells].tolist(), strict=True))

    @cached_property
    def scored_cells(self) -> Ints:
        """Number of scored candidates of each prompt, shape (prompts,)."""
        return _sum_by_prompt(~np.isnan(self.scores), self.sizes)

    @cached_property
    def labelled_cells(self) -> Ints:
        """Number of labelled candidates of each prompt, shape (prompts,)."""
        return _sum_by_prompt(~np.isnan(self.labels), self.sizes)

    def keep(self, prompts: Mask, dropped: Sequence[PromptLeftOut] = ()) -> Panel:
        """Return the panel of some prompts only."""
        if prompts.all():
            return self
        cells = np.repeat(prompts, self.sizes)
        return Panel(
            self.judge,
            self.prompt_ids[prompts],
            self.sizes[prompts],
            self.scores[cells],
            self.labels[cells],
            self.names[cells],
            self.candidates,
            self.shape,
            (*self.dropped, *dropped),
            None if self.clusters is None else self.clusters[prompts],
            None if self.first is None else self.first[cells],
            None if self.weights is None else self.weights[prompts],
        )

    def of_scored(self) -> Panel:
        """Return the scored candidates alone, of the prompts that have two or more of them."""
        scored = ~np.isnan(self.scores)
        if scored.all():
            return self
        cells = scored & np.repeat(self.scored_cells > 1, self.sizes)
        kept = self.scored_cells > 1
        return replace(
            self,
            prompt_ids=self.prompt_ids[kept],
            sizes=self.scored_cells[kept],
            scores=self.scores[cells],
            labels=self.labels[cells],
            names=self.names[cells],
            clusters=None if self.clusters is None else self.clusters[kept],
            first=None,
            weights=None if self.weights is None else self.weights[kept],
        )

    def all_scored(self) -> Panel:
        """Return the prompts of which every candidate has a score."""
        ends, lost = np.cumsum(self.sizes), []
        for x in np.flatnonzero(self.scored_cells < self.sizes).tolist():
            cells = np.arange(ends[x] - self.sizes[x], ends[x])
            names = list(self.candidates[self.names[cells[np.isnan(self.scores[cells])]]])
            lost.append(PromptLeftOut(str(self.prompt_ids[x]), f"no score for {_some(names)}"))
        return self.keep(self.scored_cells == self.sizes, lost)

    def with_a_score(self) -> Panel:
        """Leave out the prompts of which the judge has no score at all."""
        scored = self.scored_cells > 0
        lost = [PromptLeftOut(str(prompt), "no score for any candidate") for prompt in self.prompt_ids[~scored]]
        return self.keep(scored, lost)

    def sums(self, scores: Floats | None = None) -> Floats:
        """Return the sums of every prompt, all labelled, times its weight, by its scores or others of the cells."""
        own, ranked = (self.scores, self.ranked) if scores is None else (scores, self.rank(scores))
        return self.weighted(prompt_sums(own, self.labels, self.sizes, ranked))

    def sum_rows(self) -> Floats:
        """Return the same sums to read, in less memory where nothing is lost and prompts weigh alike."""
        plain = self.weights is None and self.clusters is None and len(self.sizes) and not np.isnan(self.scores).any()
        # It is read as a matrix is.
        rows = SumRows.of_scored(self.scores, self.labels, self.sizes) if plain else self.sums()
        return cast("Floats", rows)

    def lowest_labels(self) -> Floats:
        """Return the lowest label of every prompt, all labelled, times its weight."""
        return self.weighted(over_prompts(np.minimum, self.labels, self.sizes))

    def weighted(self, values: Floats) -> Floats:
        """Return values of prompts (..., prompts) times their weights, which have a mean of 1."""
        return values if self.weights is None else values * (self.weights / self.weights.mean())


def lay_out(
    table: ScoreTable, *, exclude: Sequence[str] = (), shape: Shape | None = None, alike: bool = False
) -> tuple[Panel, ...]:
    """Lay a table out as one panel per judge with the same cells; without a `shape` 90 % alike are rectangular."""
    rows = _included(table, exclude)
    keys = table.cell_keys()[rows]
    pools = _pools(table, cells.distinct_cells(keys), shape)
    # Where one judge gave each cell its one row, rows and cells are the same thing.
    at = None if len(table.judges) == 1 and np.array_equal(keys, pools.keys) else cells.positions(keys, pools.keys)
    labels = _cell_labels(table, rows, at, len(pools.keys))
    codes = table.rows.columns["judge"].codes[rows]
    scores = table.rows.columns["judge_score"][rows]
    panels = []
    for code, judge in enumerate(table.judges):
        of_judge = codes == code if at is not None else slice(None)
        of_cells = scores if at is None else cells.mean_by_cell(at[of_judge], scores[of_judge], len(pools.keys))
        panel = _whole(judge, pools, of_cells, labels)
        if table.unpicked == "first":
            earliest = np.arange(len(keys)) if at is None else _first_rows(at, len(keys), panel)
            panel = replace(panel, first=_first_cells(panel, earliest))
        if at is not None and len(table.judges) > 1 and not alike:
            panel = _asked(panel, at[of_judge])
        if table.unpicked == "drop" and not alike:
            panel = panel.with_a_score()
        if table.weights is not None:
            weights = table.weights[table.prompts.get_indexer(panel.prompt_ids)]
            lost = [PromptLeftOut(str(prompt), "its weight is 0") for prompt in panel.prompt_ids[weights == 0]]
            panel = replace(panel, weights=weights).keep(weights > 0, lost)
        panels.append(panel)
    return tuple(panels)


def _asked(panel: Panel, cells: Ints) -> Panel:
    """Leave out the prompts of which the judge has no row: it was not asked."""
    rows = np.bincount(cells[cells >= 0], minlength=len(panel.scores))
    asked = _sum_by_prompt(rows > 0, panel.sizes) > 0
    return panel.keep(asked, [PromptLeftOut(str(prompt), "not judged") for prompt in panel.prompt_ids[~asked]])


def _first_rows(at: Ints, count: int, panel: Panel) -> Ints:
    """Return the first row that each cell has, by its number."""
    first = np.full(len(panel.scores), count)
    np.minimum.at(first, at[at >= 0], np.flatnonzero(at >= 0))
    return first


def _first_cells(panel: Panel, rows: Ints) -> Mask:
    """Mark the cell whose row comes first in each prompt."""
    earliest = np.minimum.reduceat(rows, np.cumsum(panel.sizes) - panel.sizes)
    first: Mask = rows == np.repeat(earliest, panel.sizes)
    return first


def _included(table: ScoreTable, exclude: Sequence[str]) -> Ints | slice:
    """Return the rows of all candidates but some; all rows as a slice, by which no column is copied."""
    unknown = [name for name in exclude if name not in table.candidates]
    if unknown:
        raise UsageError(
            f"{table.source}: no candidate named {quoted(unknown[0])} to leave out",
            hint=f"the candidates are {listed(table.candidates)}",
        )
    if not exclude:
        return slice(None)
    left_out = table.candidates.isin(list(exclude))
    return np.flatnonzero(~left_out[table.rows.columns["candidate"].codes])


def _pools(table: ScoreTable, keys: Ints, shape: Shape | None) -> Pools:
    width = len(table.candidates)
    codes = keys // width
    names = keys - codes * width
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    sizes = np.diff(starts, append=len(keys))
    common = _most_common_set(names, starts, sizes)
    rectangular = bool(common.any() and common.mean() >= RECTANGULAR_SHARE)
    taken: Shape = shape or ("rectangular" if rectangular else "ragged")
    kept = common if taken == "rectangular" else sizes >= 2
    if not kept.any():
        raise InputError(
            f"{table.source}: no prompt has two candidates to choose between",
            hint="check --prompt-col and --candidate-col; best of n needs n of 2 or more",
        )
    own = codes[starts]
    prompts = table.prompts if len(own) == len(table.prompts) else table.prompts[own]
    lost = np.flatnonzero(~kept)
    usual = np.flatnonzero(kept)[:1]
    pools = _name_sets(names, starts, sizes, np.append(usual, lost))
    reasons = _shape_reasons(table.candidates, pools, taken)
    dropped = [PromptLeftOut(str(prompt), reason) for prompt, reason in zip(prompts[lost], reasons, strict=True)]
    clusters = None if table.clusters is None else table.clusters[own]
    without = _without_cells(table, prompts)
    if kept.all():
        return Pools(prompts, sizes, names, table.candidates, keys, taken, tuple(without), clusters)
    cells = np.repeat(kept, sizes)
    return Pools(
        prompts[kept],
        sizes[kept],
        names[cells],
        table.candidates,
        keys[cells],
        taken,
        (*without, *dropped),
        None if clusters is None else clusters[kept],
    )


def _without_cells(table: ScoreTable, prompts: Names) -> list[PromptLeftOut]:
    """List the prompts that no row is left of."""
    if len(prompts) == len(table.prompts):
        return []
    return [PromptLeftOut(str(prompt), "no candidate left") for prompt in table.prompts[~table.prompts.isin(prompts)]]


def _most_common_set(names: Ints, starts: Ints, sizes: Ints) -> Mask:
    """Mark the prompts that carry the most common set of two or more candidate names."""
    common = sizes >= 2
    if not common.any():
        return common
    # A sum of random 64-bit tokens identifies a set without building one a prompt.
    tokens = np.random.default_rng(0).integers(0, 2**63, size=int(names.max()) + 1, dtype=np.uint64)
    sums = np.add.reduceat(tokens[names], starts) + sizes.astype(np.uint64)
    if (sums == sums[0]).all():
        return common
    _, first, inverse, counts = np.unique(sums[common], return_index=True, return_inverse=True, return_counts=True)
    # Of sets that are equally common the largest is taken, then that of the first prompt.
    usual = np.lexsort((first, -sizes[common][first], -counts))[0]
    common[common] = inverse == usual
    return common


def _name_sets(names: Ints, starts: Ints, sizes: Ints, wanted: Ints) -> Iterator[Ints]:
    """Yield the candidate names of some prompts."""
    for x in wanted.tolist():
        yield names[starts[x] : starts[x] + sizes[x]]


def _shape_reasons(candidates: Names, pools: Iterator[Ints], shape: Shape) -> Iterator[str]:
    """Say why each pool after the first does not fit, the first being one that does."""
    usual = set(next(pools).tolist())
    for names in pools:
        own_names = set(names.tolist())
        if shape == "ragged":
            yield "one candidate"
        elif lacking := sorted(usual - own_names):
            yield f"lacks {_some([candidates[name] for name in lacking])}"
        else:
            yield f"has extra {_some([candidates[name] for name in sorted(own_names - usual)])}"


def _some(names: Sequence[str]) -> str:
    """List candidate names; of pools of a thousand, the first few."""
    most = 8
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(str, names[:most])) + more


def _cell_labels(table: ScoreTable, rows: Ints | slice, at: Ints | None, count: int) -> Floats:
    """Return one label per cell; several rows of a cell may repeat it but not contradict it."""
    values: Floats = table.rows.columns["oracle_label"][rows]
    if at is None:
        return values
    labels, contradictions = cells.label_by_cell(at, values, count)
    if contradictions.size:
        row = int(np.arange(len(table.rows))[rows][contradictions[0]])
        named = cells.cell_words(table.rows.columns["prompt_id"][row], table.rows.columns["candidate"][row])
        raise RowError(
            f"{table.source}, row {table.rows.index[row]}: {named} carries two different oracle labels",
            hint="give a candidate the same label in each of its rows, or in one of them",
        )
    return labels


def _whole(judge: str, pools: Pools, scores: Floats, labels: Floats) -> Panel:
    return Panel(
        judge,
        pools.prompt_ids,
        pools.sizes,
        scores,
        labels,
        pools.names,
        pools.candidates,
        pools.shape,
        pools.dropped,
        pools.clusters,
    )


def _sum_by_prompt(cells: Mask, sizes: Ints) -> Ints:
    return over_prompts(np.add, cells.astype(np.int64), sizes)


EASY_ALONE = 0.9
"""A candidate is easy that alone has the lowest value in this share of prompts, ..."""

EASY_LOWEST = 0.95
"""... or that has the lowest value, alone or tied, in this share of the prompts whose values differ, ..."""

EASY_OTHERS = 0.5
"""... while none of the others has it in more than this share."""

EASY_POOLS = 4
"""Of a table labelled in part: pools labelled whole, of fewer somebody is the worst in all by chance."""

EASY_FEWEST = 3
"""Of two candidates one is always the lower."""


class EasyCandidate(NamedTuple):
    """A candidate that is worst almost everywhere."""

    name: str
    lowest: float
    """Share of prompts in which no other candidate has a lower value."""
    by_labels: bool
    """Whether the values are labels; otherwise the judge's scores."""


def easy_of_panel(panel: Panel) -> tuple[EasyCandidate, ...]:
    """Return the easy candidates of a panel, by the prompts that are labelled whole, or by scores where few are."""
    complete = panel.keep(panel.labelled_cells == panel.sizes)
    by_labels = _tell_of_names(complete, panel)
    judged = complete if by_labels else panel.keep(panel.scored_cells == panel.sizes)
    return easy_candidates(judged, judged.labels if by_labels else judged.scores, by_labels=by_labels)


def _tell_of_names(whole: Panel, panel: Panel) -> bool:
    """Tell whether the prompts labelled whole are so many that no name holds an end of all of them by chance."""
    return len(whole.sizes) >= max(min(EASY_POOLS, len(panel.sizes)), 1)


def easy_candidates(panel: Panel, values: Floats, *, by_labels: bool = True) -> tuple[EasyCandidate, ...]:
    """Return the candidates that are worst almost everywhere; `values` of cells, labels or scores, hold no NaN."""
    sizes, prompts = panel.sizes, len(panel.sizes)
    if not prompts or sizes.max() < EASY_FEWEST:
        return ()
    exact = compared(values)
    lowest = exact == np.repeat(over_prompts(np.minimum, exact, sizes), sizes)
    tied = _sum_by_prompt(lowest, sizes)
    alone = _count(panel, lowest & np.repeat(tied == 1, sizes)) / prompts
    among = _count(panel, lowest) / prompts
    decided = np.repeat(tied < sizes, sizes)
    share = _count(panel, lowest & decided) / max(int((tied < sizes).sum()), 1)
    often = share >= EASY_LOWEST
    others = share[~often & (_count(panel, np.ones(len(values), dtype=bool)) > 0)]
    if len(others) < EASY_FEWEST - 1 or others.max() > EASY_OTHERS:
        often[:] = False
    easy = np.flatnonzero(often | (alone >= EASY_ALONE))
    return tuple(EasyCandidate(str(panel.candidates[code]), float(among[code]), by_labels) for code in easy)


def _count(panel: Panel, cells: Mask) -> Floats:
    """Count cells by candidate name."""
    return np.bincount(panel.names[cells], minlength=panel.all_names).astype(np.float64)


OUTSTANDING = 0.6
"""A group is outstanding that alone holds an end of the labels in this share of prompts, ..."""

OUTSTANDING_CHANCE = 1.5
"""... and in so many times the share that as many candidates hold by chance, ..."""

OUTSTANDING_OTHERS = 3
"""... where at least so many candidates remain without it."""

LARGEST_GROUP = 3
"""Names of a group at most."""

_ROUNDING = 1e-9  # 1.5 times two fifths is .6 but for rounding

SEARCHED = 0.5
"""Share of prompts in which all names of a group must stand together."""


class OutstandingGroup(NamedTuple):
    """A candidate, or two or three together, that no other one reaches at an end of the labels in most prompts."""

    names: tuple[str, ...]
    end: Literal["best", "lowest"]
    held: float
    """Share of the prompts where they stand in which they alone have the best, or the lowest, label."""
    chance: float
    """That share if all candidates were alike."""


def outstanding_groups(panel: Panel) -> tuple[OutstandingGroup, ...]:
    """Return the outstanding groups of the prompts that are labelled whole, those most beyond chance first."""
    whole = panel.keep(panel.labelled_cells == panel.sizes)
    if not _tell_of_names(whole, panel) or whole.sizes.max() <= OUTSTANDING_OTHERS:
        return ()
    labels = compared(whole.labels)
    groups = [*_at_the_top(whole, labels, "best"), *_at_the_top(whole, -labels, "lowest")]
    return tuple(sorted(groups, key=lambda group: (group.chance - group.held, len(group.names))))


def _at_the_top(panel: Panel, values: Floats, end: Literal["best", "lowest"]) -> Iterator[OutstandingGroup]:
    """Yield the groups that hold the highest value; no tie with another candidate counts."""
    prompts = len(panel.sizes)
    # Only others of its group reach a member, so a prompt has at most three members. At most 10 names can be there in
    # .3 of all prompts, half of .6, and these make at most 175 groups.
    largest = min(LARGEST_GROUP, int(panel.sizes.max()) - OUTSTANDING_OTHERS)
    near = _near_the_top(values, panel.sizes, largest)
    often = np.flatnonzero(_count(panel, near) >= SEARCHED * OUTSTANDING * prompts)
    if not len(often):
        return
    place = np.full(len(panel.candidates), -1)
    place[often] = np.arange(len(often))
    at = place[panel.names]
    searched = at >= 0
    own = np.full((prompts, len(often)), np.nan)
    own[np.repeat(np.arange(prompts), panel.sizes)[searched], at[searched]] = values[searched]
    rest = np.maximum.reduceat(np.where(searched, -np.inf, values), np.cumsum(panel.sizes) - panel.sizes)
    for size in range(1, largest + 1):
        for members in map(list, combinations(range(len(often)), size)):
            stands = ~np.isnan(own[:, members]).any(axis=1) & (panel.sizes - size >= OUTSTANDING_OTHERS)
            if not stands.any() or stands.mean() < SEARCHED:
                continue
            others = np.fmax.reduce(np.delete(own[stands], members, axis=1), axis=1, initial=-np.inf)
            above = own[stands][:, members] > np.fmax(others, rest[stands])[:, None]
            held, chance = float(above.any(axis=1).mean()), float(np.mean(size / panel.sizes[stands]))
            least = max(OUTSTANDING, OUTSTANDING_CHANCE * chance - _ROUNDING)
            if held >= least and above.mean(axis=0).min() >= OUTSTANDING:
                names = tuple(str(panel.candidates[often[member]]) for member in members)
                yield OutstandingGroup(names, end, held, chance)


def _near_the_top(values: Floats, sizes: Ints, largest: int) -> Mask:
    """Mark the cells that fewer others of their prompt have reached than the largest group has names."""
    left = values
    near, at_or_above = np.zeros(len(values), dtype=bool), np.zeros(len(sizes), dtype=np.int64)
    for further in reversed(range(largest)):
        highest = (left == np.repeat(over_prompts(np.maximum, left, sizes), sizes)) & (left > -np.inf)
        at_or_above += _sum_by_prompt(highest, sizes)
        near |= highest & np.repeat(at_or_above <= largest, sizes)
        left = np.where(highest, -np.inf, left) if further else left
    return near


USED_BY_CELLS = "--design cells uses them, and states that the labelled candidates are a random sample of all."
"""What would use labels of prompts that are labelled in part, as the end of a sentence."""

MEANT_BY_NONE = "Where no label means not relevant, as in retrieval, --unlabelled-is 0 says so."
"""What else may be stated of them."""


@dataclass(frozen=True, slots=True)
class LabelsInPart:
    """How many labels stand in prompts that are labelled in part."""

    labels: int
    of: int
    """Both: those labels, and all labels."""
    prompts: int
    """The prompts labelled in part."""

    @classmethod
    def of_panel(cls, panel: Panel) -> LabelsInPart:
        """Count the labels of a panel."""
        labelled = panel.labelled_cells
        partly = (labelled > 0) & (labelled < panel.sizes)
        return cls(int(labelled[partly].sum()), int(labelled.sum()), int(partly.sum()))

    @property
    def unused(self) -> str:
        """How many are not used where whole prompts count alone, as a clause."""
        are, they = ("is", "it stands") if self.labels == 1 else ("are", "they stand")
        prompts = "1 prompt that is" if self.prompts == 1 else f"{self.prompts:,} prompts that are"
        return f"{self.labels:,} of {self.of:,} labels {are} not used, because {they} in {prompts} labelled in part"

    def told(self, why: str) -> dict[str, int | str]:
        """Return the counts with a sentence that ends in what would use them, or why nothing does; empty for none."""
        if not self.prompts:
            return {}
        return {"labels": self.labels, "of": self.of, "prompts": self.prompts, "sentence": f"{self.unused}: {why}"}
