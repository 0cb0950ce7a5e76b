"""A fitted factor model, and a study of what human ratings and judges are worth, as a person reads them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bonwise.factors import figures, result, view_answers
from bonwise.printable import file_name, printable
from bonwise.report import answers, numbers
from bonwise.report.blocks import Block, Column, Drawing, Part, Said, Table
from bonwise.report.figures.curves import Curve, Curves, curves_figure
from bonwise.report.figures.forest import Forest, ReferenceMark, forest_figure
from bonwise.report.limits import limits

_LONGEST = 32


def cohesion_part(found: Sequence[result.CategoryCohesion]) -> Part:
    """Describe how far one skill drives the prompts of each category."""
    return Part("Cohesion of the categories", list(_cohesion(found)), "detail")


def _cohesion(found: Sequence[result.CategoryCohesion]) -> Iterator[Block]:
    yield Said(
        "note",
        "Cohesion is the share of what the prompts of a category ask for that is one skill. p is the share of random "
        "sets of as many prompts that are as cohesive. The adjusted p counts that all categories were looked at: the "
        "share of random groupings of which any category is as cohesive for its size.",
    )
    few = sum(one.cohesion.p <= 0.05 for one in found)
    sure = sum((one.cohesion.p_adjusted or 1) <= 0.05 for one in found)
    by_chance = numbers.setting(round(0.05 * len(found), 1))
    yield Said(
        "finding",
        f"Categories with p of at most 0.05: {numbers.count(few)} of {numbers.count(len(found))}. By chance it would "
        f"be about {by_chance}. With an adjusted p of at most 0.05: {numbers.count(sure)}.",
    )
    columns = (
        Column("category", "name"),
        Column("prompts"),
        Column("cohesion", sorted=True),
        Column("interval"),
        Column("random sets"),
        Column("p"),
        Column("adjusted p"),
    )
    rows = [
        (
            printable(one.category, longest=_LONGEST),
            numbers.count(one.prompts),
            numbers.estimate(_share(one), "share"),
            numbers.interval(_share(one), "share"),
            numbers.number(one.random, "share"),
            _p(one),
            "" if one.cohesion.p_adjusted is None else numbers.setting(round(one.cohesion.p_adjusted, 3)),
        )
        for one in found
    ]
    best = found[0]
    yield from forest_figure(
        [(one.category, one.cohesion.share, one.cohesion.low, one.cohesion.high) for one in found],
        "factor-cohesion",
        "Cohesion of the categories",
        f"Share of one skill by category, most cohesive first: {printable(best.category, longest=_LONGEST)}, "
        f"{numbers.with_interval(_share(best), 'share')}, p = {_p(best)}.",
        across="cohesion: share of one skill",
        marks=[ReferenceMark(at, one.random, "random", "random sets of prompts") for at, one in enumerate(found)],
        said=[f"{numbers.with_interval(_share(one), 'share')}, p = {_p(one)}" for one in found],
        unit="share",
        bars=True,
    )
    yield Table.of(columns, rows)


def _share(one: result.CategoryCohesion) -> numbers.Ends:
    return numbers.Ends(one.cohesion.share, one.cohesion.low, one.cohesion.high)


def _p(one: result.CategoryCohesion) -> str:
    return numbers.setting(round(one.cohesion.p, 3))


def information_part(found: Sequence[result.JudgeInformation]) -> Part:
    """Describe what is lost without each judge."""
    return Part("What each judge adds", list(_information(found)), "detail")


def _information(found: Sequence[result.JudgeInformation]) -> Iterator[Block]:
    yield Said(
        "note",
        "By how much the variance of the human's gaps between models on a prompt would grow without the ratings of "
        "the judge. The model takes judges' errors as independent: judges that err alike add less than this says.",
    )
    columns = (Column("judge", "name"), Column("variance without it", sorted=True), Column("interval"))
    rows = [
        (
            printable(one.rater, longest=_LONGEST),
            numbers.estimate(one.growth, "share", sign=True),
            numbers.interval(one.growth, "share", sign=True),
        )
        for one in found
    ]
    first = found[0]
    yield from forest_figure(
        [(one.rater, one.growth.estimate, one.growth.low, one.growth.high) for one in found],
        "factor-judges",
        "What each judge adds",
        "Growth of the variance of the human's gaps without each judge. Most: "
        f"{printable(first.rater, longest=_LONGEST)}, {numbers.with_interval(first.growth, 'share', sign=True)}.",
        across="growth of the variance without the judge, as a share",
        said=[numbers.with_interval(one.growth, "share", sign=True) for one in found],
        unit="share",
        bars=True,
    )
    yield Table.of(columns, rows)


def map_part(found: result.PromptMap) -> Part:
    """Describe where the prompts stand."""
    return Part("Map of the prompts", [_map_note(found), _map(found)], "detail")


def _map_note(found: result.PromptMap) -> Said:
    shares = f"{numbers.number(found.x.share, 'share')} and {numbers.number(found.y.share, 'share')}"
    return Said(
        "note",
        "Prompts stand near each other where the same models are better. The axes are the principal axes of the "
        f"human's capabilities of the models, less their mean on the prompt; they hold {shares} of the variance.",
    )


def _map(found: result.PromptMap) -> Drawing[figures.Places]:
    places = [(prompt.prompt_id, prompt.category, prompt.x, prompt.y) for prompt in found.prompts]
    x, y = (
        figures.axis_words(at, numbers.number(axis.share, "share"), axis.high, up=at == 2)
        for at, axis in ((1, found.x), (2, found.y))
    )
    coloured = len({prompt.category for prompt in found.prompts if prompt.category})
    by = f", in the colours of {numbers.count(coloured)} categories" if coloured > 1 else ""
    says = f"{numbers.counted(len(places), 'prompt')}{by}. {_ends(found)}"
    return figures.prompt_map_figure(figures.Places(places, x, y), "factor-map", "Map of the prompts", says)


def _ends(found: result.PromptMap) -> str:
    right, left = (printable(one, longest=_LONGEST) for one in (found.x.high, found.x.low))
    up, down = (printable(one, longest=_LONGEST) for one in (found.y.high, found.y.low))
    return f"To the right {right} is better and {left} worse; upwards {up} is better and {down} worse."


def describe(document: result.FactorFit) -> Part:
    """Describe the fit: first how well it predicts, then the models, then how it was chosen."""
    return Part(f"Factor model of {file_name(document.settings.source)}", list(_blocks(document)))


def _blocks(document: result.FactorFit) -> Iterator[Block]:
    data, settings = document.data, document.settings
    yield Table.facts(
        [
            ("ratings", settings.source),
            ("human rater", settings.human),
            ("intervals", f"{numbers.percent(settings.confidence)}, {settings.interval or 'none'}"),
            ("bonwise", settings.version),
        ]
    )
    yield Said(
        "finding",
        f"{numbers.counted(data.ratings, 'rating')} of {numbers.counted(data.models, 'model')} on "
        f"{numbers.counted(data.prompts, 'prompt')} by {numbers.counted(len(document.raters), 'rater')}; "
        f"{numbers.count(data.human_ratings)} of them by "
        f"{printable(settings.human, longest=_LONGEST)}.",
    )
    yield answers.verdict(view_answers.answer(document))
    if data.dropped:
        left_out = ", ".join(f"{numbers.count(rows)} ({reason})" for reason, rows in data.dropped.items())
        yield Said("caveat", f"Rows left out: {left_out}.")
    if data.repeats:
        yield Said(
            "note", f"{numbers.counted(data.repeats, 'rating')} repeat an earlier one and count as replicates."
        )
    if document.ranking:
        yield from _drawn(document)
        yield _leaderboard(document)
    if document.answer_effect is not None:
        yield _answer_effect(document.answer_effect, document.settings.human)
    if document.holdout is not None:
        yield from _held_out(document)
    for note in document.notes:
        yield Said("caveat", printable(note))
    if document.prompt_map is not None:
        yield map_part(document.prompt_map)
    if document.cohesion:
        yield cohesion_part(document.cohesion)
    if document.information:
        yield information_part(document.information)
    yield _chosen(document)
    yield _raters(document.raters)
    yield limits(view_answers.LIMITS)


def _answer_effect(effect: result.AnswerEffectRecord, human: str) -> Said:
    return Said(
        "finding",
        f"On {numbers.counted(effect.answers, 'answer')} that two or more judges rate, judges share an effect with a "
        f"standard deviation of {numbers.with_interval(effect.sd)} logits that no skill explains. Of an effect that "
        f"moves a judge by 1, {printable(human, longest=_LONGEST)} heeds "
        f"{numbers.with_interval(effect.human_weight)}. The intervals count both.",
    )


def _leaderboard(document: result.FactorFit) -> Table:
    columns = (
        Column("model", "name"),
        Column("capability", sorted=True),
        Column(numbers.interval_title(document.settings.confidence)),
        Column("human ratings", spare=1),
    )
    rows = [
        (
            printable(one.model, longest=_LONGEST),
            numbers.estimate(one.capability, sign=True),
            numbers.interval(one.capability),
            numbers.count(one.human_ratings),
        )
        for one in document.ranking
    ]
    return Table.of(columns, rows, "Mean capability over prompts, less the mean of all models")


def _drawn(document: result.FactorFit) -> list[Drawing[Forest]]:
    found = [(one.model, one.capability) for one in document.ranking]
    best, capability = found[0]
    return forest_figure(
        [(model, one.estimate, one.low, one.high) for model, one in found],
        "factor-models",
        "Models",
        f"Mean capability, less that of all models. Best: {printable(best)}, "
        f"{numbers.with_interval(capability, sign=True)}.",
        across="capability, less the mean",
        said=[numbers.with_interval(one, sign=True) for _, one in found],
    )


def _held_out(document: result.FactorFit) -> Iterator[Block]:
    held = document.holdout
    if held is None:
        return
    yield Said(
        "finding",
        f"{numbers.counted(held.fitted, 'human rating')} predict the {numbers.count(held.n)} held out with a "
        f"cross-entropy of {numbers.setting(round(held.cross_entropy, 4))} nats per rating.",
    )
    losses = [numbers.setting(round(baseline.cross_entropy, 4)) for baseline in document.baselines.values()]
    columns = (Column("baseline", "words"), *map(Column, ("cross-entropy", "more than the model", "interval")))
    rows = [
        (
            view_answers.baseline_name(name),
            loss,
            numbers.estimate(one.difference, sign=True),
            numbers.interval(one.difference),
        )
        for (name, one), loss in zip(document.baselines.items(), losses, strict=True)
    ]
    yield Table.of(columns, rows, "Baselines on the same held-out ratings")


def _chosen(document: result.FactorFit) -> Part:
    said = Said(
        "note",
        f"Rank {document.rank}, prior precision {numbers.setting(document.prior)}, columns "
        f"{', '.join(document.columns)}, ridge {numbers.setting(document.ridge)}: the smallest cross-entropy of "
        "human ratings, cross-validated. The loss of stage 1 falls with every further skill and chooses nothing.",
    )
    columns = tuple(map(Column, ("rank", "prior", "columns", "ridge", "cross-entropy", "se", "stage 1")))
    ranked = sorted(document.candidates, key=lambda one: one.cross_entropy)
    return Part("Choice of the model", [said, Table.of(columns, map(_candidate, ranked))], "detail")


def _candidate(one: result.ModelCandidateRecord) -> tuple[str, ...]:
    return (
        numbers.count(one.rank),
        numbers.setting(one.prior),
        ", ".join(one.columns),
        numbers.setting(one.ridge),
        numbers.number(one.cross_entropy),
        numbers.number(one.se),
        numbers.number(one.stage_one_loss),
    )


def _raters(raters: list[result.RaterRecord]) -> Part:
    columns = (
        Column("rater", "name"),
        Column("ratings"),
        Column("rates", "words"),
        Column("categories", "words"),
        Column("read as", "words"),
    )
    rows = [
        (
            printable(rater.rater, longest=_LONGEST),
            numbers.count(rater.ratings),
            "two models" if rater.side_by_side else "one model",
            ", ".join(printable(word, longest=_LONGEST) for word in rater.categories[:10]),
            f"{numbers.count(rater.distinct)} numbers in {len(rater.categories)} bins"
            if rater.rule == "bins"
            else rater.rule,
        )
        for rater in raters
    ]
    return Part("Raters", [Table.of(columns, rows)], "detail")


_OWN = "factor model"


def describe_study(document: result.FactorStudy) -> Part:
    """Describe the study: by human ratings, by judges, then every method."""
    return Part(f"Human ratings and judges of {file_name(document.settings.source)}", list(_study_blocks(document)))


def _study_blocks(document: result.FactorStudy) -> Iterator[Block]:
    data, settings = document.data, document.settings
    yield Table.facts(
        [
            ("ratings", settings.source),
            ("human rater", settings.human),
            ("intervals", f"{numbers.percent(settings.confidence)}, clustered by prompt"),
            ("splits", numbers.count(settings.splits)),
            ("bonwise", settings.version),
        ]
    )
    yield answers.verdict(view_answers.answer(document))
    yield Said("finding", _finding(document))
    if data.dropped:
        left_out = ", ".join(f"{numbers.count(rows)} ({reason})" for reason, rows in data.dropped.items())
        yield Said("caveat", f"Rows left out: {left_out}.")
    yield from _curves(document.by_labels, "labels")
    yield _summary(document.by_labels, document, "labels")
    if document.by_judges:
        yield from _curves(document.by_judges, "judges")
        yield _summary(document.by_judges, document, "judges")
    for note in document.notes:
        yield Said("caveat", printable(note))
    yield _every(document)
    yield limits(view_answers.LIMITS)


def _finding(document: result.FactorStudy) -> str:
    first, last = document.by_labels[0], document.by_labels[-1]
    name, best = _best(first)
    held = document.data.held_out
    words = (
        f"From {numbers.count(round(first.fitted))} ratings by "
        f"{printable(document.settings.human, longest=_LONGEST)} the factor model predicts "
        f"{numbers.count(round(sum(held) / len(held)))} others with a cross-entropy of "
        f"{numbers.with_interval(first.cross_entropy)} nats per rating. The best of {len(first.baselines)} "
        f"baselines, {name}, has {numbers.with_interval(best.cross_entropy)}."
    )
    if len(document.by_labels) == 1:
        return words
    return (
        f"{words} From {numbers.count(round(last.fitted))} ratings the factor model loses "
        f"{numbers.with_interval(first.more_than_largest)} less."
    )


def _best(step: result.StudiedShareRecord) -> tuple[str, result.StudiedBaseline]:
    """Return the baseline that loses least, in words, and its record."""
    name = min(step.baselines, key=lambda one: step.baselines[one].cross_entropy.estimate or 0.0)
    return view_answers.baseline_name(name), step.baselines[name]


def _summary(steps: Sequence[result.StudiedShareRecord], document: result.FactorStudy, of: str) -> Table:
    settings = document.settings
    ends = numbers.interval_title(settings.confidence)
    first = Column("human ratings" if of == "labels" else "judges")
    columns = (
        first,
        Column("share"),
        Column(_OWN),
        Column(ends),
        Column("between splits", spare=2),
        Column("best baseline", "words"),
        Column("loses more"),
        Column("interval", spare=1),
    )
    rows = []
    for step in steps:
        name, best = _best(step)
        fitted = numbers.count(round(step.fitted)) if of == "labels" else numbers.count(step.judges)
        rows.append(
            (
                fitted,
                numbers.percent(step.share),
                numbers.estimate(step.cross_entropy),
                numbers.interval(step.cross_entropy),
                numbers.number(step.between_splits),
                name,
                numbers.estimate(best.difference, sign=True),
                numbers.interval(best.difference),
            )
        )
    judges = numbers.counted(document.data.judges, "judge")
    words = (
        f"Cross-entropy of held-out ratings in nats, by human ratings fitted; {judges}"
        if of == "labels"
        else f"By judges, drawn at random; {numbers.percent(settings.rater_budget)} of the human ratings fitted"
    )
    return Table.of(columns, rows, words)


def _curves(steps: Sequence[result.StudiedShareRecord], of: str) -> list[Drawing[Curves]]:
    across = [step.fitted if of == "labels" else float(step.judges) for step in steps]
    if len(steps) < 2:
        return []
    curves = [
        Curve(
            view_answers.baseline_name(name),
            across,
            [step.baselines[name].cross_entropy.estimate for step in steps],
            role="other",
            points=True,
        )
        for name in steps[0].baselines
        if name != "frequencies"
    ]
    own = [step.cross_entropy for step in steps]
    curves.append(
        Curve(
            _OWN,
            across,
            [one.estimate for one in own],
            [one.low for one in own],
            [one.high for one in own],
            points=True,
        )
    )
    what = "human ratings fitted" if of == "labels" else "judges fitted"
    return curves_figure(
        curves,
        f"factor-study-{of}",
        f"Cross-entropy by {what}",
        f"The factor model loses {numbers.with_interval(own[0])} nats per held-out rating with "
        f"{numbers.count(round(across[0]))} {what} and {numbers.with_interval(own[-1])} with "
        f"{numbers.count(round(across[-1]))}.",
        across=what,
        up="cross-entropy, nats",
    )


def _every(document: result.FactorStudy) -> Part:
    ends = numbers.interval_title(document.settings.confidence)
    columns = (
        Column("fitted", "words"),
        Column("method", "words"),
        Column("cross-entropy"),
        Column(ends),
        Column("between splits"),
        Column("more than the model"),
        Column("interval"),
    )
    rows = list(_rows(document))
    folded = f"A table of {numbers.counted(len(rows), 'row')}"
    return Part("Every method", [Table.of(columns, rows)], "detail", folded=folded)


def _rows(document: result.FactorStudy) -> Iterator[tuple[str, ...]]:
    for of, steps in (("labels", document.by_labels), ("judges", document.by_judges)):
        for step in steps:
            fitted = (
                numbers.counted(round(step.fitted), "rating")
                if of == "labels"
                else numbers.counted(step.judges, "judge")
            )
            own = step.cross_entropy
            yield (
                fitted,
                _OWN,
                numbers.estimate(own),
                numbers.interval(own),
                numbers.number(step.between_splits),
                numbers.NOTHING,
                numbers.NOTHING,
            )
            for name, found in step.baselines.items():
                yield (
                    fitted,
                    view_answers.baseline_name(name),
                    numbers.estimate(found.cross_entropy),
                    numbers.interval(found.cross_entropy),
                    numbers.number(found.between_splits),
                    numbers.estimate(found.difference, sign=True),
                    numbers.interval(found.difference),
                )
