"""The rules by which prompts are chosen for labelling, and how many each labels over all phases."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np

from bonwise.arrays import Floats, Ints, Mask
from bonwise.errors import InputError, UsageError
from bonwise.labels.population import LabelPopulation
from bonwise.labels.result import DrawRule
from bonwise.printable import listed, quoted
from bonwise.stats.partial import label_allocation
from bonwise.stats.sums import Sums
from bonwise.stats.top_of_scores import TopOfScores, top_of_scores
from bonwise.table.label_design import BY_CANDIDATE, LabelDesign

ENOUGH_TO_REFINE = 100
"""Labelled prompts in all from which the spread seen in the first phase decides the second."""

_FEWEST_SEEN = 20


MEANING: Mapping[DrawRule, str] = MappingProxyType(
    {
        "rule": "the size of the top set times the spread of the scores: more labels where the pick is less certain",
        "uniform": "all prompts alike",
        "stratified": "the size of the top set alone",
        "neyman": "level and spread of the scores, by the spread of the outcomes in a pilot",
        "pick": "the judge's pick alone, in the same share of every stratum",
        "pair": "the judge's pick and one other candidate, where the judge does not tie all candidates",
    }
)


def known_rule(name: str) -> DrawRule:
    """Return a rule by its name."""
    for rule in MEANING:
        if rule == name:
            return rule
    raise UsageError(f"unknown rule {quoted(name)}", hint=f"the rules are {listed(MEANING)}")


@dataclass(frozen=True, eq=False)
class Rule:
    """A rule applied to a population."""

    strata: Ints = field(repr=False)
    """0, 1, ...; a unit is a prompt, or a cluster of prompts with their means."""
    size: Floats | None = field(repr=False)
    """What the standard deviation of the outcome is taken to be in proportion to, in the unit of the scores; None
    where the rule takes it to be anything.
    """
    sd: Floats = field(repr=False)
    """What a stratum's labels are in proportion to, a unit."""
    explained: float = 0.0
    """Share of the variance of the outcome that the scores explain, where a first phase has shown it."""
    told: bool = False
    """Whether the labels of a first phase told `sd`."""
    sentences: tuple[str, ...] = ()
    """What the rule looked at, and why not at more."""

    @property
    def units(self) -> Ints:
        """N_h, shape (strata,)."""
        return np.bincount(self.strata, minlength=len(self.sd)).astype(np.int64)

    @property
    def open_units(self) -> Ints:
        """N_h where units may be drawn, 0 where a label would say nothing, shape (strata,)."""
        if self.size is None:
            return self.units
        return np.where(np.bincount(self.strata, weights=self.size, minlength=len(self.sd)) > 0, self.units, 0)

    @classmethod
    def of_size(cls, strata: Ints, size: Floats, *sentences: str) -> Rule:
        """Return the rule that labels in proportion to a size measure."""
        count = np.bincount(strata)
        return cls(strata, size, np.bincount(strata, weights=size) / count, sentences=sentences)


def rule_of(name: str, population: LabelPopulation, labels: int, before: Ints | None = None) -> Rule:
    """Apply a rule, a key of `MEANING`, to units over all phases; strata of an earlier one, `before`, stay."""
    panel = population.panel
    tops = top_of_scores(panel.scores, panel.sizes, panel.ranked)
    if name not in ("uniform", "pick") and not (tops.tied < panel.sizes).any():
        return _nothing_open(population.units.count)
    rule = _RULES[name](population, tops, labels)
    return rule if before is None else replace(rule, strata=before, sd=_means(before, rule))


def _means(strata: Ints, rule: Rule) -> Floats:
    size = np.ones(len(strata)) if rule.size is None else rule.size
    return np.bincount(strata, weights=size) / np.bincount(strata)


def _nothing_open(units: int) -> Rule:
    sentence = (
        "The judge ties all candidates of every prompt, so its pick is a random pick and its recovery is 0 whatever "
        "the labels are; nothing tells the prompts apart, so all were equally likely to be drawn."
    )
    return Rule(np.zeros(units, dtype=np.int64), None, np.ones(1), sentences=(sentence,))


def _uniform(population: LabelPopulation, _tops: TopOfScores, _labels: int) -> Rule:
    return Rule(np.zeros(population.units.count, dtype=np.int64), None, np.ones(1))


def _by_size(population: LabelPopulation, _tops: TopOfScores, labels: int) -> Rule:
    panel, second = population.panel, population.second
    size = population.units.mean(label_allocation.size_measure(panel.scores, panel.sizes, second))
    return Rule.of_size(label_allocation.strata(size, labels), size, *looked_at(population, second))


def looked_at(population: LabelPopulation, second: Floats | None) -> tuple[str, ...]:
    """Say whose scores the spread is of."""
    judge = population.panel.judge
    if second is None:
        sentence = (
            f"The table holds no further judge, so the spread is of the scores of {judge}; a second judge on "
            "all prompts would choose better and narrow the interval further."
        )
        return (sentence,)
    missing = int(np.isnan(second[np.cumsum(population.panel.sizes) - 1]).sum())
    counts = "prompt lacks them and counts" if missing == 1 else "prompts lack them and count"
    lacking = f"; {missing:,} {counts} as of mean spread" if missing else ""
    return (f"The spread is that of the scores of {', '.join(population.further)}{lacking}.",)


def _by_ties(population: LabelPopulation, tops: TopOfScores, labels: int) -> Rule:
    factor = population.units.mean(label_allocation.pick_factor(tops.tied, population.panel.sizes))
    return Rule.of_size(label_allocation.tie_strata(factor, labels), factor)


def _by_level(population: LabelPopulation, tops: TopOfScores, labels: int) -> Rule:
    mean = population.units.mean
    levels = label_allocation.level_by_spread(mean(tops.mean), mean(tops.spread), labels)
    return Rule(levels, None, np.ones(int(levels.max()) + 1))


def _pick(population: LabelPopulation, tops: TopOfScores, labels: int) -> Rule:
    rule = _by_size(population, tops, labels)
    return Rule(rule.strata, None, np.ones(len(rule.sd)), sentences=rule.sentences)


def _pair(population: LabelPopulation, tops: TopOfScores, labels: int) -> Rule:
    """Stratify prompts by ``1 - a/K`` times the spread; those that the judge ties all come last, with nothing."""
    panel, second = population.panel, population.second
    size = (1 - tops.tied / panel.sizes) * label_allocation.spread_of(
        panel.scores if second is None else second, panel.sizes
    )
    apart = tops.tied < panel.sizes
    strata = np.zeros(len(size), dtype=np.int64)
    strata[apart] = label_allocation.strata(size[apart], labels)
    strata[~apart] = strata.max() + 1
    return Rule.of_size(strata, np.where(apart, size, 0.0), *looked_at(population, second))


_RULES: Mapping[str, Callable[[LabelPopulation, TopOfScores, int], Rule]] = MappingProxyType(
    {"rule": _by_size, "uniform": _uniform, "stratified": _by_ties, "neyman": _by_level, "pick": _pick, "pair": _pair}
)


def refined(name: str, rule: Rule, population: LabelPopulation, seen: Mask, weights: Floats, labels: int) -> Rule:
    """Let a first phase's labels say how outcomes vary: ``sigma_h^2 = (sum_h r^2 + 10 p_h) / (k_h + 10)``."""
    if (rule.size is None and name != "neyman") or name in ("pick", "pair"):
        return rule
    kind = "clusters" if population.units.clustered else "prompts"
    few = _too_few(name, int(seen.sum()), labels, kind)
    if few:
        return replace(rule, sentences=(*rule.sentences, few))
    panel = population.panel
    t = Sums(*panel.keep(seen).sums())
    gain, best, w = t.J - t.R, t.M - t.R, weights[seen]
    if float(w @ best) <= 0:
        words = (
            "All labels of a prompt were equal in every prompt so far, so they say nothing of where to label next."
        )
        return replace(rule, sentences=(*rule.sentences, words))
    phi = gain - float(w @ gain) / float(w @ best) * best
    groups = rule.strata[population.units.of_prompts[seen]]
    words = f"The spread of the outcomes of {_counted(int(seen.sum()))} decided where the others are drawn."
    sentences = (*rule.sentences, words)
    if rule.size is None:
        within = phi - (np.bincount(groups, phi) / np.maximum(np.bincount(groups), 1))[groups]
        prior = np.full(len(rule.sd), max(float(np.mean(phi**2)), 1e-12))
        return replace(rule, sd=label_allocation.shrunken_sd(within, groups, prior), told=True, sentences=sentences)
    left, explained = _residuals(phi, population, seen, w)
    sd = label_allocation.shrunken_sd(left, groups, label_allocation.size_prior(left, groups, rule.sd))
    return replace(rule, sd=sd, explained=explained, told=True, sentences=sentences)


def _too_few(name: str, seen: int, labels: int, kind: str) -> str:
    if seen < _FEWEST_SEEN:
        instead = "all strata count alike" if name == "neyman" else "the scores alone decide where to label"
        return f"{_counted(seen)} so far, and it takes {_FEWEST_SEEN} to see a spread; {instead}."
    if labels < ENOUGH_TO_REFINE and name != "neyman":
        return (
            f"Below {ENOUGH_TO_REFINE} labelled {kind} in all, the spread seen so far is too uncertain to go by; "
            "the scores alone decide where to label."
        )
    return ""


def _counted(seen: int) -> str:
    return f"{seen:,} labelled prompt{'' if seen == 1 else 's'}"


def _residuals(phi: Floats, population: LabelPopulation, seen: Mask, w: Floats) -> tuple[Floats, float]:
    """Return what a weighted regression on p1, p2 and sd T leaves, and the share it explains (adjusted)."""
    features = population.features()
    p1_and_p2, spread = np.asarray(features.stand_ins)[seen, 1:3], np.asarray(features.spread)[seen]
    X = np.column_stack((np.ones(len(phi)), p1_and_p2, spread))
    root = np.sqrt(w)[:, None]
    slope, *_ = np.linalg.lstsq(root * X, root[:, 0] * phi, rcond=None)
    left: Floats = phi - X @ slope
    whole = float(w @ (phi - np.average(phi, weights=w)) ** 2)
    rows, terms = X.shape
    share = 1 - float(w @ left**2) / whole * (rows - 1) / max(rows - terms, 1) if whole > 0 else 0.0
    return left, min(max(share, 0.0), 1.0)


def units_asked(name: str, labels: int, population: LabelPopulation, taken: int, units: Mask) -> int:
    """Return how many prompts, or clusters, are to be labelled over all phases, refusing what cannot be drawn."""
    prompts = labels // 2 if name == "pair" else labels
    there = len(population.panel.sizes)
    if prompts < 2:
        raise UsageError(
            f"{labels} labels make {prompts} pair", hint="ask for at least 4 labels (--labels), better 100 or more"
        )
    if prompts > there:
        raise UsageError(
            f"{population.table.source} holds {counted_prompts(there)}, and {prompts:,} were asked to be labelled",
            hint=f"ask for at most {there:,}",
        )
    if taken and prompts <= taken:
        raise UsageError(
            f"{counted_prompts(taken)} drawn already, and {prompts:,} asked for in all",
            hint="labels (--labels) counts all phases: ask for more than were drawn before",
        )
    wanted = population.units.of(prompts)
    if wanted < 2 or wanted <= units.sum():
        raise UsageError(
            f"{population.table.source}: {counted_prompts(prompts)} make about {wanted:,} of its "
            f"{population.units.count:,} clusters, and {int(units.sum()):,} were drawn before",
            hint="ask for more labels (--labels): clusters are drawn whole",
        )
    return wanted


def applied_rule(
    name: str, population: LabelPopulation, units: int, before: LabelDesign | None
) -> tuple[Rule, tuple[str, ...]]:
    """Return the rule, told by the labels of an earlier phase where there is one, and what to say of them."""
    if name == "pair" and not _open_prompts(population):
        raise InputError(
            f"{population.table.source}: the judge ties all candidates of every prompt, so a pick and another "
            "candidate tell nothing apart",
            hint="the judge's picks are random picks; label whole pools (design uniform) to see what is at stake",
        )
    if before is None:
        return rule_of("uniform" if name == "neyman" else name, population, units), ()
    piloted = name == "neyman" and int(before.phase.max()) == 1
    # Of a pilot's strata each takes at least one label of those left, so that none is missed.
    own = population.units
    most = min(units, label_allocation.LEAST * (units - int(own.first(before.drawn).sum()))) if piloted else units
    rule = rule_of(name, population, most, None if piloted else own.first(before.stratum))
    if name in BY_CANDIDATE:
        return rule, ()
    seen = before.drawn & population.complete
    weights = np.divide(1.0, before.propensity, out=np.ones(len(seen)), where=before.propensity > 0)
    return refined(name, rule, population, seen, weights, units), _unlabelled(before.drawn, population.complete)


def _open_prompts(population: LabelPopulation) -> int:
    """Return in how many prompts the judge does not tie all candidates."""
    panel = population.panel
    return int((top_of_scores(panel.scores, panel.sizes, panel.ranked).tied < panel.sizes).sum())


def counted_prompts(count: int) -> str:
    """Return such as ``1 prompt`` or ``1,200 prompts``."""
    return f"{count:,} prompt{'' if count == 1 else 's'}"


def _unlabelled(drawn: Mask, complete: Mask) -> tuple[str, ...]:
    owed, extra = int((drawn & ~complete).sum()), int((complete & ~drawn).sum())
    sentences = []
    if owed:
        sentences.append(f"Of the {int(drawn.sum()):,} prompts drawn before {owed:,} still lack labels.")
    if extra:
        sentences.append(
            f"Labelled but never drawn: {counted_prompts(extra)}; they say nothing about the others and are left out."
        )
    return tuple(sentences)
