"""How many prompts, or clusters of them, are to be labelled over all phases, and the rule that says which."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bonwise.data.label_design import BY_CANDIDATE, LabelDesign
from bonwise.errors import InputError, UsageError
from bonwise.planning.sampling.label_population import LabelPopulation
from bonwise.planning.sampling.label_rules import Rule, refined, rule_of
from bonwise.stats.partial.label_allocation import LEAST
from bonwise.stats.top_of_scores import top_of_scores

__all__ = ["applied_rule", "counted_prompts", "units_asked"]

_Mask = npt.NDArray[np.bool_]


def units_asked(name: str, labels: int, population: LabelPopulation, taken: int, units: _Mask) -> int:
    """Return how many prompts, or clusters, are to be labelled over all phases, refusing what cannot be drawn.

    Parameters
    ----------
    name : str
        Of the rule.
    labels : int
        Asked for.
    population : LabelPopulation
    taken : int
        Prompts drawn before.
    units : ndarray of bool, shape (units,)
        Which units they are.
    """
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
    most = min(units, LEAST * (units - int(own.first(before.drawn).sum()))) if piloted else units
    rule = rule_of(name, population, most, None if piloted else own.first(before.stratum))
    if name in BY_CANDIDATE:
        return rule, ()
    seen = before.drawn & population.complete
    weights = np.divide(1.0, before.propensity, out=np.ones(len(seen)), where=before.propensity > 0)
    return refined(name, rule, population, seen, weights, units), _unlabelled(before.drawn, population.complete)


def _open_prompts(population: LabelPopulation) -> int:
    """Return in how many prompts the judge does not tie all candidates."""
    panel = population.panel
    return int((top_of_scores(panel.scores, panel.sizes).tied < panel.sizes).sum())


def counted_prompts(count: int) -> str:
    """Return such as ``1 prompt`` or ``1,200 prompts``."""
    return f"{count:,} prompt{'' if count == 1 else 's'}"


def _unlabelled(drawn: _Mask, complete: _Mask) -> tuple[str, ...]:
    owed, extra = int((drawn & ~complete).sum()), int((complete & ~drawn).sum())
    found = []
    if owed:
        found.append(f"Of the {int(drawn.sum()):,} prompts drawn before {owed:,} still lack labels.")
    if extra:
        found.append(
            f"Labelled but never drawn: {counted_prompts(extra)}; they say nothing about the others and are left out."
        )
    return tuple(found)
