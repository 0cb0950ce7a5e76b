"""Votes as they are: margins, near ties, what could be detected, what prompts say, and the pairs, closest first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import ceil

from bonwise.estimates import EstimateRecord
from bonwise.printable import file_name, printable
from bonwise.report import answers, numbers
from bonwise.report.blocks import Block, Column, Drawing, Part, Role, Said, Table
from bonwise.report.figures.forest import Forest, forest_figure
from bonwise.report.limits import OTHER_PROMPTS, limits
from bonwise.votes import result
from bonwise.votes.robustness_view import figures, first_sections, next_answer, stability_words

_LIMITS = (
    "That a preference is absent: one that is not seen with these votes can be there.",
    "Which model is best: each pair is taken by itself.",
    OTHER_PROMPTS,
)

MOST_PAIRS = 40
"""Pairs that are shown."""

_LONGEST = 32
"""Characters of a model's name."""

_HALF = 0.5


def vote_pairs(document: result.PreferenceStudy) -> Iterator[Block]:
    """Yield two tables of the pairs, and what their columns mean."""
    pairs = _closest_first(document)
    shown = pairs[:MOST_PAIRS]
    names = (Column("first", "name"), Column("second", "name"))
    yield Table.of(
        (
            *names,
            Column("votes", spare=2),
            Column("margin"),
            Column("interval", spare=3),
            Column("votes (5%)"),
            Column("detectable", spare=1),
            Column("verdict", "words"),
        ),
        [(*_names(one), *_margin_row(one)) for one in shown],
        "Pairs, closest first; margin = P(second preferred) - 1/2",
    )
    if len(pairs) > MOST_PAIRS:
        more = numbers.counted(len(pairs) - MOST_PAIRS, "pair")
        yield Said(
            "caveat", f"{more} with larger margins {'is' if len(pairs) == MOST_PAIRS + 1 else 'are'} in --json alone"
        )
    yield Table.of(
        (
            *names,
            Column("prompts", spare=6),
            Column("se ratio", spare=5),
            Column("nats"),
            Column("bound"),
            Column("kappa", spare=2),
            Column("by chance", spare=1),
            Column("spread", spare=3),
            Column("screened", spare=4),
        ),
        [(*_names(one), *_information_row(one)) for one in shown],
        "What a vote tells, and the prompts behind it",
    )
    yield Said(
        "note",
        f"detectable: smallest margin that these votes find with power {numbers.percent(document.settings.power)}, "
        f"design effect counted. verdict: shown, else level (within {numbers.setting(document.settings.near_tie)}, "
        "two one-sided tests), else underpowered. votes (5%): needed at the 5% level.",
    )
    least = pairs[0].information.least_votes
    yield Said(
        "note",
        f"nats a vote: KL(1/2 + margin, 1/2). bound: no test with errors of {numbers.setting(least.level)} and "
        f"{numbers.setting(least.miss)} does with fewer votes, even one that knows all margins; a lower bound, and "
        "no test is known to do with so few.",
    )
    yield Said(
        "note", "kappa, by chance: concentration of the preference, and what it exceeds in 5% of permutations."
    )
    yield from _simulated(pairs, document.settings)


def drawn_pairs(document: result.PreferenceStudy) -> list[Drawing[Forest]]:
    """Return the share of votes of each pair as a drawing."""
    pairs = _closest_first(document)
    rates = [pair.win_rate for pair in pairs]
    return forest_figure(
        [
            (f"{second} against {first}", rate.estimate, rate.low, rate.high)
            for (first, second), rate in zip(map(_names, pairs), rates, strict=True)
        ],
        "votes-pairs",
        "Votes by pair",
        "Share of the votes for the model that is named first, closest pair first; the line is one half.",
        _HALF,
        across="share of votes",
        said=list(map(share_of_votes, rates)),
        unit="share",
    )


def share_of_votes(rate: numbers.Bounded) -> str:
    """Write a share of votes with its interval, whose ends are not rounded to one half."""
    if rate.low is None or rate.high is None:
        return numbers.estimate(rate, "share")
    low, high = (numbers.against(end, _HALF, "share", like=rate) for end in (rate.low, rate.high))
    return f"{numbers.estimate(rate, 'share')} [{low}, {high}]"


def _closest_first(document: result.PreferenceStudy) -> list[result.PairVotes]:
    return sorted(document.pairs, key=lambda one: abs(one.margin))


def votes_or_none(votes: int | None) -> str:
    """Write a number of votes; what no number of votes sees has none."""
    return "no number" if votes is None else numbers.count(votes)


def _simulated(pairs: Sequence[result.PairVotes], settings: result.VotesSettings) -> Iterator[Said]:
    """Say what the two simulated powers are, where there are any."""
    votes = sorted({pair.screening.plan.votes for pair in pairs if pair.screening.plan is not None})
    if votes:
        yield Said(
            "note",
            f"spread, screened: how often 'no prompt has a preference' is rejected at the 5% level with "
            f"{numbers.count_range(votes)} new votes in proportion, and with half of them spent on screening; "
            f"simulated {numbers.counted(settings.repetitions, 'time')} at margins as likely, for planning only.",
        )


def _names(pair: result.PairVotes) -> tuple[str, str]:
    return printable(pair.first, longest=_LONGEST), printable(pair.second, longest=_LONGEST)


def _margin_row(pair: result.PairVotes) -> tuple[str, ...]:
    return (
        numbers.count(pair.votes),
        numbers.estimate(_margin_of(pair), sign=True),
        numbers.interval(_margin_of(pair), sign=True),
        votes_or_none(pair.votes_needed.at_05.whole),
        numbers.number(pair.detectable),
        pair.verdict or numbers.NOTHING,
    )


def _margin_of(pair: result.PairVotes) -> numbers.Ends:
    rate = pair.win_rate
    return numbers.Ends(pair.margin, *(None if end is None else end - 0.5 for end in (rate.low, rate.high)))


def _information_row(pair: result.PairVotes) -> tuple[str, ...]:
    bound, power, kappa = pair.information.least_votes.estimate, pair.screening.simulated, pair.concentration
    return (
        numbers.count(pair.prompts),
        numbers.number(pair.cluster_ratio.estimate),
        numbers.number(pair.information.per_vote.estimate),
        numbers.NOTHING if bound is None else f">= {numbers.count(ceil(bound))}",
        numbers.number(kappa.kappa),
        numbers.number(kappa.null_quantile),
        numbers.number(None if power is None else power.proportional, "share"),
        numbers.number(None if power is None else power.two_stage, "share"),
    )


_LONGEST_READING = 400


def vote_readings(readings: Mapping[str, str] | None) -> Iterator[Said]:
    """Yield which columns play which role, then what each column of verdicts was taken for."""
    for column, reading in (readings or {}).items():
        place, _, name = column.rpartition(": ")
        start = f"{printable(place)}: " if place else ""
        said = (
            reading
            if name == "columns"
            else f"{printable(name)} read as {printable(reading, longest=_LONGEST_READING)}"
        )
        role: Role = "note" if name == "columns" else "caveat"
        yield Said(role, f"{start}{printable(said, longest=_LONGEST_READING)}")


_MARGIN = "margin: P(second preferred) - 1/2, where first and second model of a pair are in alphabetical order"


def _ranking(document: result.PreferenceStudy) -> Iterator[Block]:
    """Yield the strengths of the models, what they mean, and the models that have none."""
    models = document.ranking or ()
    rows = [tuple(_strength_row(model)) for model in models if model.places is not None]
    if rows:
        columns = [Column(name) for name in ("votes", "share", "strength", "interval", "places")]
        title = "Models by strength: log-odds of a vote against their mean"
        yield Table.of((Column("model", "name"), *columns), rows, title)
        how = "strength: Bradley-Terry, from all votes, with intervals clustered by prompt"
        yield Said("note", f"{how}. places: what differences of two models leave open.")
    for model in models:
        if model.places is None:
            name = printable(model.model, longest=_LONGEST)
            yield Said("caveat", f"{name} is not ranked: {model.strength.reason}")


def _strength_row(model: result.ModelStrength) -> Iterator[str]:
    yield from (printable(model.model, longest=_LONGEST), numbers.count(model.votes))
    yield numbers.number(model.share, "share")
    yield from (numbers.estimate(model.strength, sign=True), numbers.interval(model.strength, sign=True))
    yield numbers.count_range(model.places or [0])


_REPLACED: dict[result.DrawnHow, str] = {"with_replacement": "with", "without_replacement": "without"}


def describe(document: result.PreferenceStudy) -> Part:
    """Describe what the votes can and cannot tell."""
    return Part(
        f"Votes of {file_name(document.settings.source)}",
        [
            Table.facts(_facts(document.settings)),
            *drawn_pairs(document),
            *figures(document),
            *_opening(document),
            answers.verdict(answer(document)),
            *_ranking(document),
            *first_sections(document),
            Said("note", _MARGIN),
            *vote_pairs(document),
            _margins(document),
            *_near_ties(document),
            *_detection(document),
            *_prompts(document),
            *stability_words(document),
            *_screening(document),
            limits(_LIMITS),
        ],
    )


def answer(document: result.PreferenceStudy) -> answers.StatedVerdict:
    """Return in how many pairs the interval of the win rate excludes one half, or which places are settled."""
    if document.next_votes is not None:
        return replace(next_answer(document.next_votes, document.settings.next or 0), question="Who is best?")
    what = "Is a model preferred?" if len(document.pairs) == 1 else "In which pairs is a model preferred?"
    return replace(_answer(document), question=what, then=_next(document))


def _answer(document: result.PreferenceStudy) -> answers.StatedVerdict:
    pairs = document.pairs
    seen = [pair for pair in pairs if answers.outcome_of(pair.win_rate, 0.5) != "open"]
    if len(pairs) == 1:
        return _answer_of_one(pairs[0])
    chance = numbers.brief(round(len(pairs) * (1 - document.settings.confidence), 2))
    told = (
        f"The interval of the share of votes excludes one half in {numbers.count(len(seen))} of "
        f"{numbers.counted(len(pairs), 'pair')}; about {chance} would be expected where no model is preferred."
    )
    if len(seen) == len(pairs):
        return answers.StatedVerdict("every preference shown", "good", told)
    if not seen:
        return answers.StatedVerdict("no preference shown", "open", told)
    return answers.StatedVerdict(f"{numbers.count(len(seen))} of {numbers.count(len(pairs))} shown", "open", told)


def _answer_of_one(pair: result.PairVotes) -> answers.StatedVerdict:
    first, second = (printable(one, longest=_LONGEST) for one in (pair.first, pair.second))
    outcome = answers.outcome_of(pair.win_rate, 0.5)
    rate = pair.win_rate
    share = f"{second} has {share_of_votes(rate)} of the votes against {first}"
    if outcome == "below" and rate.estimate is not None and rate.low is not None and rate.high is not None:
        ends = {"estimate": 1 - rate.estimate, "low": 1 - rate.high, "high": 1 - rate.low}
        share = f"{first} has {share_of_votes(rate.model_copy(update=ends))} of the votes against {second}"
    if outcome == "open":
        return answers.StatedVerdict(
            "no preference shown", "open", f"Neither model is shown to be preferred: {share}.", rate
        )
    preferred = second if outcome == "above" else first
    return answers.StatedVerdict(f"{preferred} is preferred", "good", f"A preference is shown: {share}.", rate)


def _next(document: result.PreferenceStudy) -> list[Said]:
    """Say how many votes the closest pair takes that shows nothing yet."""
    unseen = [pair for pair in document.pairs if answers.outcome_of(pair.win_rate, 0.5) == "open"]
    if not unseen:
        return []
    nearest = max(unseen, key=lambda one: abs(one.margin))
    names = " and ".join(printable(one, longest=_LONGEST) for one in (nearest.first, nearest.second))
    whole = nearest.votes_needed.at_05.whole
    if whole is None:
        return [Said("finding", f"Collect more votes: for {names} no number of votes can be named at this margin.")]
    why = f"Collect more votes: {names} take {numbers.count(whole)} if their margin stays as it is."
    return list(answers.steps(why, f"bonwise plan --question margin --effect {numbers.brief(abs(nearest.margin))}"))


def _facts(settings: result.VotesSettings) -> Iterator[tuple[str, str]]:
    yield "votes", settings.source
    yield "intervals", numbers.percent(settings.confidence)
    yield "seed", str(settings.seed)
    yield "bonwise", settings.version


def _opening(document: result.PreferenceStudy) -> Iterator[Said]:
    data, settings = document.data, document.settings
    prompts = f" for {numbers.counted(data.prompts, 'prompt')}" if data.prompts else ""
    clustered = "clustered by prompt" if data.prompts else "each vote is its own cluster: no prompt column was named"
    yield Said(
        "note",
        f"{numbers.counted(data.votes, 'vote')} on {numbers.counted(data.pairs, 'pair')} of "
        f"{numbers.counted(data.models, 'model')}{prompts}; intervals at {numbers.percent(settings.confidence)}: of "
        f"a pair {clustered}, over pairs by resampling the pairs",
    )
    if data.dropped:
        few = f"; {numbers.count(data.pairs_left_out)} of the pairs" if data.pairs_left_out else ""
        yield Said("caveat", f"left out: {numbers.listed_counts(data.dropped.items())}{few}")
    if settings.ties is not None:
        yield Said(
            "caveat" if data.ties else "note",
            f"ties: {settings.ties}. {numbers.counted(data.ties, 'vote')} are ties; {settings.counting}",
        )
    yield from vote_readings(settings.readings)
    rates = document.ties
    if data.ties:
        yield Said(
            "finding",
            f"tie rate of a pair: median {_with_interval(rates.median)}, 90th percentile "
            f"{numbers.estimate(rates.p90, 'share')}; correlation with the margin of the other votes "
            f"{_correlation(rates.correlation_with_margin)}",
        )


def _correlation(found: EstimateRecord) -> str:
    return "unknown" if found.estimate is None else numbers.with_interval(found)


def _with_interval(found: EstimateRecord) -> str:
    return f"{numbers.estimate(found, 'share')} {numbers.interval(found, 'share')}"


def _margins(document: result.PreferenceStudy) -> Table:
    columns = (
        Column("quantile", "name"),
        Column("|margin|"),
        Column("interval"),
        Column("votes (5% level)"),
        Column("interval"),
        Column("votes (1% level)", spare=2),
        Column("interval", spare=1),
    )
    title = f"Votes needed to see the margin of a pair with power {numbers.percent(document.settings.power)}"
    return Table.of(columns, [tuple(_margin(margin)) for margin in document.margins], title)


def _margin(one: result.MarginQuantile) -> Iterator[str]:
    yield f"p{numbers.setting(100 * one.quantile)}"
    yield numbers.estimate(one)
    yield numbers.interval(one)
    needed = one.votes_needed
    for level in (None, None) if needed is None else (needed.at_05, needed.at_01):
        yield from (numbers.NOTHING, numbers.NOTHING) if level is None else _needed(level)


def _needed(found: result.NeededVotes) -> tuple[str, str]:
    # A margin that may be 0 takes any number of votes.
    most = "no end" if found.high is None else numbers.count(ceil(found.high))
    ends = numbers.NOTHING if found.low is None else f"[{numbers.count(ceil(found.low))}, {most}]"
    return votes_or_none(found.whole), ends


def _near_ties(document: result.PreferenceStudy) -> Iterator[Said]:
    near = document.near_ties
    said = (
        f"near ties (|margin| <= {numbers.setting(near.tau)}): {numbers.count(near.count)} of "
        f"{numbers.counted(document.data.pairs, 'pair')}, share {_with_interval(near.share)}"
    )
    if near.votes_needed is not None:
        votes = votes_or_none(near.votes_needed.at_05.whole)
        said += f"; their median {numbers.estimate(near.median)} takes {votes} votes at the 5% level"
    yield Said("finding", said)
    which = ", ties not among them" if document.settings.ties == "drop" else ""
    yield Said(
        "note",
        f"These are counts of independent votes{which}, at margins as estimated. A preference that is not seen with "
        "fewer votes is not shown to be absent.",
    )


def _detection(document: result.PreferenceStudy) -> Iterator[Block]:
    known = [one for one in document.detection if one.median.estimate is not None]
    if known:
        columns = (
            Column("votes", "name"),
            Column("replacement", "words"),
            Column("median rate"),
            Column("interval"),
            Column(f"pairs at {numbers.setting(document.settings.power)}"),
        )
        title = "How often subsamples of a pair's votes show its preference (binomial test at .05)"
        yield Table.of(columns, [_rate(one) for one in known], title)
        yield Said(
            "note",
            "Without replacement the pool is all there is: near its size the rate is the pool's own verdict, not "
            "power.",
        )
    else:
        yield Said("caveat", "no rates of detection: the binomial test is not defined for half votes")
    rows = [row for one in document.z for row in _z(one)]
    if rows:
        yield Table.of(
            (
                Column("votes", "name"),
                Column("replacement", "words"),
                Column("p10 of z"),
                Column("interval"),
                Column("median z"),
                Column("interval"),
                Column("infinite", spare=1),
                Column("pairs", spare=2),
            ),
            rows,
            "z = |rate - 1/2| / sqrt(rate (1 - rate) / votes) of all subsamples, with equal weight per pair",
        )


def _rate(one: result.DetectionOverPairs) -> tuple[str, ...]:
    return (
        numbers.count(one.votes),
        _REPLACED[one.drawn],
        numbers.estimate(one.median, "share"),
        numbers.interval(one.median, "share"),
        f"{numbers.count(one.pairs_with_power)} of {numbers.count(one.pairs)}",
    )


def _z(one: result.ZOverPairs) -> Iterator[tuple[str, ...]]:
    if one.p10 is None or one.median is None or one.infinite_share is None:
        return
    figures = [cell for found in (one.p10, one.median) for cell in (_or_infinite(found), numbers.interval(found))]
    yield (
        numbers.count(one.votes),
        _REPLACED[one.drawn],
        *figures,
        numbers.number(one.infinite_share, "share"),
        numbers.count(one.pairs),
    )


def _or_infinite(found: EstimateRecord) -> str:
    return "infinite" if found.estimate is None else numbers.estimate(found)


def _prompts(document: result.PreferenceStudy) -> Iterator[Said]:
    found = document.cluster_ratio
    if not found.pairs:
        why = "no pair varies" if document.data.prompts else "no prompt column was named"
        yield Said("caveat", f"prompts: {why}, so what votes on one prompt share is unknown")
        return
    yield Said(
        "finding",
        f"prompts: clustering multiplies a pair's standard error by {numbers.estimate(found.median)} "
        f"{numbers.interval(found.median)} at the median ({numbers.number(found.least, like=found.median)} to "
        f"{numbers.number(found.most, like=found.median)}): "
        f"{numbers.number(found.design_effect)} votes are worth one independent vote",
    )
    if found.single_vote_prompts_only:
        yield Said("caveat", "no prompt has two votes of a pair: the ratio is 1 whatever raters do")
    yield from _variance(document.variance)


def _variance(found: result.VarianceOverPairs) -> Iterator[Said]:
    if found.published is None:
        yield Said("caveat", f"variance of win rates: not split, {found.reason}")
        return
    named = (("total", found.total), ("within", found.within), ("between", found.between))
    parts = ", ".join(f"{name} {numbers.estimate(one)} {numbers.interval(one)}" for name, one in named)
    yield Said(
        "finding",
        f"variance of a prompt's win rate, medians of {numbers.counted(found.pairs, 'pair')}, prompts with two votes "
        f"or more: {parts}",
    )
    known = found.published
    published = " / ".join(numbers.estimate(one) for one in (known.total, known.within, known.between))
    yield Said("note", f"the same as Lee (2026) prints it, biased for prompts with few votes: {published}")


def _screening(document: result.PreferenceStudy) -> Iterator[Said]:
    found, settings = document.concentration, document.settings
    if not found.pairs:
        return
    of = numbers.counted(found.pairs, "pair")
    yield Said(
        "finding",
        f"concentration: kappa is above {numbers.setting(settings.threshold)} in "
        f"{numbers.count(found.above_threshold)} of {of}. That rule alone is not evidence: with few votes per prompt "
        "it fires on prompts that are all alike.",
    )
    yield Said(
        "finding",
        f"Above what permuting the votes over prompts gives in 95% of cases: {numbers.count(found.above_chance)} of "
        f"{of} ({numbers.brief(found.above_chance_expected)} expected by chance).",
    )
    yield Said(
        "finding",
        "Win rates differ between prompts (chi-squared, p of permuted votes at most .05) in "
        f"{numbers.count(found.heterogeneous)} of {of}.",
    )
    named = ", ".join(
        f"{printable(a, longest=32)} and {printable(b, longest=32)}"
        for a, b in found.recommend_two_stage[:MOST_PAIRS]
    )
    yield Said(
        "finding", f"two-stage screening may help for: {named}" if named else "two-stage screening: for no pair"
    )
    yield Said(
        "note",
        "Screening chooses prompts to look at next. Its test is one of 'no prompt has a preference', never of the "
        "mean preference: preferences that cancel over prompts are rejected most of the time.",
    )
