"""Picks: what all of them come to, and each pool as a row that opens to words, candidates and reasons."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from bonwise.judges.protocol import EMPTY
from bonwise.printable import file_name, listed, printable, shell_path
from bonwise.report import samples
from bonwise.report.answers import StatedVerdict, steps, verdict
from bonwise.report.blocks import Block, Card, CardMark, Cards, Column, Drawing, Part, Row, Said, Table
from bonwise.report.figures.forest import Forest, forest_figure
from bonwise.report.limits import limits
from bonwise.report.numbers import NOTHING, column, count, counted, money, number, per_unit, score, seconds, setting
from bonwise.selection import entrants, result
from bonwise.table.chat import NO_TEXT
from bonwise.table.verdicts import compared

_LIMITS = (
    "Whether the picks are good: only an audit against labels shows that (bonwise audit).",
    "That the judge would pick the same again: scores of a model vary from call to call.",
)

MOST_COMPARISONS = 100
"""Comparisons of one pool that are shown."""

_UNASKED = {entrants.NOT_SENT.reason, EMPTY.reason, NO_TEXT}
FIGURES = ("score", "se", "P(best)", "draws", "low", "high")
"""What is known of a candidate."""

MEANINGS: dict[result.DecidedBy, str] = {
    "score": "one candidate had the highest score",
    "comparison": "equal scores were compared, or all candidates were",
    "tie-break": "the seed decided between equals",
    "only candidate": "there was no other",
    "same text": "all candidates are one and the same text",
    "nothing scored": "no judge gave any candidate a score",
    "owed": "an answer has not arrived; the same command asks for it",
    "deadline": "the best that was known when the time was up",
    "limit": "the best of what could be judged before a limit on spending was reached",
    "partial": "the best of what could be judged: what is missing or lost could change it",
    "first": "no judgment: the first candidate was kept",
    "random": "no judgment: a random candidate was kept",
}

_COLUMNS = (
    Column("prompt", "name"),
    Column("picked", "words"),
    Column("decided by", "words"),
    *map(Column, ("score", "tied at top", "not scored", "calls", "tokens", "cost")),
)


def pools(shown: Sequence[result.ShownPick], of: int) -> Part:
    """Return the pools that a document holds, each to be opened."""
    which = f"{counted(of, 'pool')}."
    if len(shown) < of:
        part = f"The first {count(len(shown))} of {count(of)} pools are shown"
        which = f"{part}; the others are in the output of the command."
    how = "Each opens to its prompt, its candidates and why one of them was kept."
    title = "Search prompts, candidates and reasons"
    finder = Table(_COLUMNS, [_row(shown_pick) for shown_pick in shown], title, "finder")
    return Part("Pools", [Said("finding", f"{which} {how}"), finder], "detail", anchor="prompts")


def by_rank(pick: result.PickRecord) -> list[int]:
    """Return the positions of the candidates, the best first, and those without a rank last."""
    place = {name: rank for rank, name in enumerate(pick.ranking)}
    return sorted(range(len(pick.ids)), key=lambda at: (place.get(pick.ids[at], len(place)), at))


def figures(pick: result.PickRecord, at: int) -> Iterator[tuple[str, str]]:
    """Yield what is known of a candidate: name and figure."""
    known: tuple[Sequence[float | None], ...] = (
        *(pick.scores, pick.standard_errors, pick.p_best, pick.draws),
        *(pick.low, pick.high),
    )
    for name, values in zip(FIGURES, known, strict=True):
        value = values[at] if values else None
        if value is not None:
            yield name, score(value)


def story(pick: result.PickRecord) -> Iterator[Said]:
    """Yield what else is to be said of a pick than who it is and what decided."""
    if pick.level:
        yield Said("finding", f"The seed decided among {count(len(pick.level))} candidates.")
    if pick.failure:
        yield Said("caveat", f"What went wrong: {_cut(pick.failure)}.")
    if pick.lost:
        yield Said("caveat", f"{_lost(pick.lost, len(pick.comparisons))}.")
    if pick.routed is not None:
        yield Said("finding", _routed_pool(pick.routed))
    if pick.expected_regret is not None:
        yield Said("finding", f"Expected loss against the best candidate: {score(pick.expected_regret)}.")
    if pick.p_best_reason:
        yield Said("caveat", f"P(best) and the expected loss are not stated: {printable(pick.p_best_reason)}.")


def _lost(lost: int, asked: int) -> str:
    return f"{count(lost)} of {counted(asked, 'comparison')} lost: each counts a half for both sides"


def _spent(pick: result.PickRecord) -> Said:
    """Return what a pick took."""
    asked = f"{counted(pick.calls, 'call')} sent, {counted(pick.answers, 'answer')} used"
    return Said("finding", f"{asked}, {count(pick.from_ledger)} of them from the ledger; {setting(pick.latency)} s.")


def _routed_pool(routed: result.RoutedRecord) -> str:
    signal = "" if routed.signal is None else f", signal {score(routed.signal)}"
    who = "Not sent to a stronger judge" if routed.strong is None else f"Decided by {_cut(routed.strong)}"
    first = f"; the first pass alone would have kept {_cut(routed.first_pick)}" if routed.first_pick else ""
    return f"{who} ({routed.reason}{signal}){first}."


def _row(shown_pick: result.ShownPick) -> Row:
    pick = shown_pick.pick
    best = None if pick.index is None else pick.scores[pick.index]
    tokens = pick.input_tokens + pick.output_tokens
    return Row(
        (
            _cut(pick.prompt_id or "the pool"),
            "no pick" if pick.best is None else _cut(pick.best),
            pick.decided_by,
            score(best),
            count(len(pick.tied)) if pick.tied else NOTHING,
            count(len(pick.unscored)),
            count(pick.calls),
            count(tokens),
            "unknown" if pick.cost is None else money(pick.cost),
        ),
        values=(None, None, None, best, len(pick.tied), len(pick.unscored), pick.calls, tokens, pick.cost),
        inside=list(_inside(shown_pick)),
    )


def _inside(shown_pick: result.ShownPick) -> Iterator[Block | Cards]:
    pick = shown_pick.pick
    yield Said("finding", f"Decided by {pick.decided_by}: {MEANINGS[pick.decided_by]}.")
    if pick.stopped:
        yield Said("finding", f"Asking stopped: {pick.stopped}.")
    yield from story(pick)
    yield _spent(pick)
    if shown_pick.prompt is not None:
        yield Part("Prompt", samples.quoted(shown_pick.prompt, shown_pick.prompt_left_out))
    yield Cards([_candidate(pick, shown_pick.candidates[at], at) for at in by_rank(pick)], "Candidates")
    yield from _members(pick)
    yield from _comparisons(pick)


def _candidate(pick: result.PickRecord, words: result.CandidateWords, at: int) -> Card:
    picked = words.id == pick.best
    tied = f", one of {count(len(pick.tied))} tied" if len(pick.tied) > 1 and words.id in pick.tied else ""
    reason = pick.unscored.get(words.id)
    reply = pick.raw[at] if pick.raw else None
    return Card(
        _cut(words.id),
        marks=[CardMark("picked", f"picked{tied}")] if picked else [],
        facts=list(figures(pick, at)),
        note="" if reason is None else f"not scored: {_cut(reason)}",
        blocks=[
            *([] if words.text is None else samples.quoted(words.text, words.text_left_out)),
            *([Part("The judge said", [Said("quoted", reply)])] if reply else []),
        ],
    )


def _members(pick: result.PickRecord) -> Iterator[Block]:
    """Yield what each member of a jury, or criterion of a rubric, says of each candidate, and who disagrees."""
    members = pick.members or {}
    if not members:
        return
    kind = "criterion" if all(",criterion=" in name for name in members) else "member"
    places = {name: _places(its) for name, its in members.items()}
    rows = []
    for at in by_rank(pick):
        for name in members:
            its, place = members[name][at], places[name][at]
            score_, why = (NOTHING, its) if isinstance(its, str) else (score(its), "not asked" if its is None else "")
            short = name.partition(",criterion=")[2].partition(":")[0] or name
            cells = (_cut(short), score_, NOTHING if place is None else setting(place), _cut(why))
            rows.append(Row(cells, group=_cut(pick.ids[at]) if name == next(iter(members)) else ""))
    columns = Column(kind, "name"), Column("score"), Column("rank"), Column("why not", "words")
    yield Table(columns, rows, f"What each {kind} says")
    if kind == "member":
        yield from _disagreement(pick, places)


def _places(stated: Sequence[float | str | None]) -> list[float | None]:
    """Return the rank of each candidate by one member, 1 for the best; equal scores share the mean of theirs."""
    level = compared([None if isinstance(value, str) else value for value in stated])
    known = sorted((value for value in level if value is not None), reverse=True)
    return [None if value is None else known.index(value) + (known.count(value) + 1) / 2 for value in level]


def _disagreement(pick: result.PickRecord, places: Mapping[str, Sequence[float | None]]) -> Iterator[Said]:
    """Yield on which candidates the members' ranks lie furthest apart, and who is furthest from the others."""
    known = [{name: its[at] or 0.0 for name, its in places.items() if its[at]} for at in range(len(pick.ids))]
    apart = {
        name: max(its.values()) - min(its.values()) for name, its in zip(pick.ids, known, strict=True) if len(its) > 1
    }
    if apart and not any(apart.values()):
        yield Said("finding", "The members rank the candidates alike.")
    elif apart:
        most = f"their ranks are {setting(max(apart.values()))} apart"
        yield Said("finding", f"The members disagree most on {_largest(apart)}: {most}.")
        away = {name: [_from_others(its, name) for its in known if name in its and len(its) > 1] for name in places}
        means = {name: sum(its) / len(its) for name, its in away.items() if its}
        mean = f"{number(max(means.values()))} ranks from the mean of the others"
        yield Said("finding", f"Furthest from the other members: {_largest(means)}, on average {mean}.")


def _from_others(ranks: Mapping[str, float], name: str) -> float:
    return abs(ranks[name] - (sum(ranks.values()) - ranks[name]) / (len(ranks) - 1))


def _largest(values: Mapping[str, float]) -> str:
    return listed(name for name, value in values.items() if value > max(values.values()) - 1e-9)


def _comparisons(pick: result.PickRecord) -> Iterator[Block]:
    if not pick.comparisons:
        return
    columns = (
        Column("first", "words"),
        Column("second", "words"),
        Column("the first earned"),
        Column("order effect"),
    )
    rows = [
        (
            _cut(pair.a),
            _cut(pair.b),
            "no verdict" if pair.value is None else score(pair.value),
            score(pair.order_effect, sign=True),
        )
        for pair in pick.comparisons[:MOST_COMPARISONS]
    ]
    yield Table.of(columns, rows, "Comparisons")
    more = len(pick.comparisons) - MOST_COMPARISONS
    if more > 0:
        yield Said("note", f"{count(more)} more comparisons are in the output of the command.")


def _cut(name: str) -> str:
    return printable(name, longest=samples.LONGEST_NAME)


_LONGEST = 60
"""Characters of a candidate's name or reason."""

_AGAIN = "Mend what is named here, then run the same command again: it asks only for what is missing."
_LABEL = "Whether the picks are good only labels show. Label some pools, then audit the picks:"

_LABELLED = 100
"""Pools to label where there are more."""

_MAKESHIFT = ("deadline", "limit", "partial", "first", "random")

_MOST_PARAMETERS = 4
"""Sets of parameters that the head names."""


def describe(document: result.SelectionsDocument) -> Part:
    """Describe what was picked, then what it took, then each pool that the document holds."""
    settings, totals = document.settings, document.totals
    alone = _alone(document)
    if settings.source is not None:
        title = f"Picks from {file_name(settings.source)}"
    else:
        title = f"Pick of {settings.judge}" if alone is None else headline(alone)
    inside: list[Block] = [_decided(totals, settings.ended), *_totals(totals)]
    if alone is not None:
        lead = [] if settings.source is None else [Said("lead", headline(alone))]
        # The text of a single pick says in one line what it took.
        inside = [*lead, *single_pick(alone), *(replace(part, role="detail") for part in _totals(totals))]
    blocks = [Table.facts(_facts(document)), verdict(answer(document)), *inside, pools(document.picks, document.of)]
    return Part(title, [*blocks, limits(_LIMITS)])


def _alone(document: result.SelectionsDocument) -> result.PickRecord | None:
    """Return the only pick, None where there are several or pools are missing."""
    whole = document.of == 1 and len(document.picks) == 1 and not document.settings.ended
    return document.picks[0].pick if whole else None


def answer(document: result.SelectionsDocument) -> StatedVerdict:
    """Return whether every pool has a pick that rests on scores of all its candidates."""
    alone = _alone(document)
    stated = _answer(document.totals, document.settings.ended) if alone is None else _answer_of_one(alone)
    question = "Has every pool a pick?" if alone is None else "Which candidate is picked?"
    return replace(stated, question=question, then=list(_next(document, stated)))


def _next(document: result.SelectionsDocument, stated: StatedVerdict) -> Iterator[Said]:
    """Yield what makes the picks whole, or what to type to label all pools, or a uniform draw of many."""
    source, pools_ = document.settings.source, document.totals.pools
    if source is None and document.of == 1:
        return  # a single pick of Python is no file of picks
    if stated.state == "bad":
        yield Said("finding", _AGAIN)
        return
    if source in {None, "-"}:
        yield from steps(_LABEL)
        return
    many = pools_ > _LABELLED
    draw = f"bonwise labels draw --pools {shell_path(str(source))}{f' --labels {_LABELLED}' if many else ''}"
    yield from steps(_LABEL, f"{draw} --sheet sheet.html")
    yield Said(
        "finding", f"Then audit the picks with --labels sheet-labels.csv{' --design uniform' if many else ''}."
    )


def _answer(totals: result.SelectionTotals, ended: str | None) -> StatedVerdict:
    """Return whether every pool has a pick that rests on scores of all its candidates."""
    picked, unscored = totals.picked, sum(totals.unscored.values())
    says = (
        f"A candidate was picked in {count(picked)} of {counted(totals.pools, 'pool')}{_share(picked, totals.pools)}"
    )
    if unscored:
        share = _share(unscored, totals.candidates)
        says += f"; {count(unscored)} of {counted(totals.candidates, 'candidate')} have no score{share}"
    makeshift = sum(times for how, times in totals.decided_by.items() if how in _MAKESHIFT)
    if makeshift:
        says += f"; {counted(makeshift, 'pick')} {'rests' if makeshift == 1 else 'rest'} on less than was asked for"
    why = next(iter(totals.failures), ended)
    if why and picked < totals.pools:
        says += f". {printable(why, longest=200)}"
    if ended or picked < totals.pools:
        return StatedVerdict("not all picked", "bad", f"{says}.")
    if unscored or makeshift:
        return StatedVerdict("picked, with gaps", "open", f"{says}.")
    return StatedVerdict("all picked", "good", f"{says}.")


def _answer_of_one(pick: result.PickRecord) -> StatedVerdict:
    says = f"Decided by {pick.decided_by}: {MEANINGS[pick.decided_by]}."
    if pick.best is None:
        return StatedVerdict("no pick", "bad", f"No candidate was picked: {pick.stopped}. {says}")
    whole = pick.decided_by not in _MAKESHIFT and not pick.unscored
    return StatedVerdict(f"{printable(pick.best, longest=_LONGEST)} is picked", "good" if whole else "open", says)


def _facts(document: result.SelectionsDocument) -> Iterator[tuple[str, str]]:
    settings = document.settings
    yield "pools", count(document.totals.pools)
    yield "judge", settings.judge
    yield "judge version", settings.judge_version
    parameters = _asked_with(settings)
    if parameters:
        yield "asked with", parameters
    yield "strategy", settings.strategy
    routed = ", ".join(_routed_by(settings))
    if routed:
        yield "routed", routed
    if settings.deadline is not None:
        yield "deadline", f"{setting(settings.deadline)} s per pool"
    yield "on failure", settings.on_failure
    yield "seed", str(settings.seed)
    yield "bonwise", settings.version


def _routed_by(settings: result.SelectionsSettings) -> Iterator[str]:
    """Yield which pools go to which stronger judge, as far as that is known."""
    if settings.signal is not None:
        yield f"by {settings.signal}"
    if settings.share is not None:
        yield f"share {setting(settings.share)}"
    if settings.strong is not None:
        yield f"to {settings.strong}"


def _asked_with(settings: result.SelectionsSettings) -> str:
    """Return the sets of parameters that models were asked with, each once."""
    sets = dict.fromkeys(
        ", ".join(f"{name}={value}" for name, value in sorted(parameter.items())) for parameter in settings.parameters
    )
    shown = [words or "none" for words in sets][:_MOST_PARAMETERS]
    more = [f"{count(len(sets) - len(shown))} more"] if len(sets) > len(shown) else []
    return "; ".join([*shown, *more])


def _decided(totals: result.SelectionTotals, ended: str | None) -> Part:
    # How many pools have a pick is what the verdict says.
    blocks: list[Block] = [Said("caveat", f"Not all pools are here: {ended}.")] if ended else []
    if totals.tied:
        blocks.append(Said("finding", f"In {counted(totals.tied, 'pool')} several candidates have the top score."))
    makeshift = sum(times for how, times in totals.decided_by.items() if how in _MAKESHIFT)
    if totals.order.lost:
        blocks.append(Said("caveat", f"{_lost(totals.order.lost, totals.order.asked or 0)}."))
    if makeshift:
        rests = "rests" if makeshift == 1 else "rest"
        what = f"{counted(makeshift, 'pick')} {rests} on less than was asked for: see what decided."
        blocks.append(Said("caveat", what))
    columns = (
        Column("decided by", "name"),
        Column("pools"),
        Column("share"),
        Column("what that is", "words", spare=1),
    )
    rows = [
        (how, count(times), number(times / totals.pools, "share"), MEANINGS[how])
        for how, times in totals.decided_by.items()
    ]
    blocks += _drawn_decisions(totals)
    blocks.append(Table.of(columns, rows, "What decided"))
    if len(totals.stopped) > 1:
        blocks.append(_tally(totals.stopped, "Why asking stopped", "reason", "pools"))
    return Part("What was picked", blocks, anchor="picked")


def _drawn_decisions(totals: result.SelectionTotals) -> list[Drawing[Forest]]:
    shares = [(how, times / totals.pools, None, None) for how, times in totals.decided_by.items()]
    written = column([number(share, "share") for _, share, *_ in shares])
    each = "; ".join(f"{how} {share}" for how, share in zip(totals.decided_by, written, strict=True))
    says = f"Share of {counted(totals.pools, 'pool')}: {each}."
    return forest_figure(
        shares, "picks-decided", "What decided", says, across="share of pools", unit="share", bars=True, said=written
    )


def _totals(totals: result.SelectionTotals) -> Iterator[Part]:
    """Yield what is known beside the picks themselves, each where there is something to say."""
    if totals.unscored or totals.failures:
        yield Part("What was not scored", list(_not_scored(totals)), anchor="unscored")
    if totals.filled:
        words = "Of these the stack took what its other judges let expect."
        blocks: list[Block] = [
            Said("finding", words),
            _tally(totals.filled, "", "judge", "candidates without its score"),
        ]
        yield Part("Judges of the stack without a score", blocks, anchor="filled")
    if totals.routed.seen:
        yield Part("Routing", list(_routed(totals.routed, totals.pools)), anchor="routing")
    if totals.order.advantage is not None:
        yield Part("Order of presentation", list(_order(totals.order, totals.order.advantage)), anchor="order")
    yield Part("What it took", list(_cost(totals)), anchor="cost")


def _not_scored(totals: result.SelectionTotals) -> Iterator[Block]:
    candidates = sum(totals.unscored.values())
    have = "has" if candidates == 1 else "have"
    yield Said(
        "finding",
        f"{count(candidates)} of {counted(totals.candidates, 'candidate')} {have} no score"
        f"{_share(candidates, totals.candidates)}; such a candidate cannot win.",
    )
    if totals.unscored:
        yield _tally(totals.unscored, "Candidates without a score", "reason", "candidates")
    if totals.failures:
        yield _tally(totals.failures, "Pools where something went wrong", "what", "pools")


def _routed(routed: result.RoutedTotals, of: int) -> Iterator[Block]:
    sent = f"{count(routed.sent)} of {counted(routed.seen, 'pool')}{_share(routed.sent, routed.seen)}"
    yield Said("finding", f"A stronger judge decided {sent} and changed {counted(routed.changed, 'pick')}.")
    if routed.seen < of:
        yield Said("finding", f"{counted(of - routed.seen, 'pool')} never reached the router.")
    yield _tally(routed.reasons, "", "reason", "pools")


def _order(order: result.OrderTotals, advantage: float) -> Iterator[Said]:
    moved = f"{count(order.differing)} of {counted(order.pairs, 'pair')} judged in both orders"
    meant = "0 is no effect, 1 means that the candidate shown first always won"
    effect = f"{number(advantage, sign=True)} on average ({meant})"
    yield Said("finding", f"Position effect of being shown first: {effect}.")
    yield Said("finding", f"The verdict on {moved} changes with the order{_share(order.differing, order.pairs)}.")
    if pending := order.without_verdict - (order.lost or 0):
        have = "has" if pending == 1 else "have"
        yield Said("finding", f"{counted(pending, 'comparison')} {have} no verdict.")


def _cost(totals: result.SelectionTotals) -> Iterator[Block]:
    several = totals.pools > 1
    asked = f"{counted(totals.calls, 'call')} sent, {counted(totals.answers, 'answer')} used"
    tokens = counted(totals.input_tokens + totals.output_tokens, "token")
    yield Said("finding", f"{asked}, {tokens}, {_known(totals.cost, totals, 'cost ')}.")
    took = totals.latency
    if took is not None and several:
        yield Said(
            "finding",
            f"A pool took {seconds(took.mean)} on average: half up to {seconds(took.half)}, "
            f"95% up to {seconds(took.most)}, the longest {seconds(took.longest)}.",
        )
    columns = [Column("what", "name"), *map(Column, ("all pools", "per pool") if several else ("the pool",))]
    yield Table.of(columns, [row[: len(columns)] for row in _amounts(totals)])
    if totals.unpriced:
        yield Said("note", f"The cost of {counted(totals.unpriced, 'pool')} is unknown.")


def _amounts(totals: result.SelectionTotals) -> Iterator[Sequence[str]]:
    pools_ = max(totals.pools, 1)
    for what, amount in (
        ("calls sent", totals.calls),
        ("answers from the ledger", totals.from_ledger),
        ("input tokens", totals.input_tokens),
        ("output tokens", totals.output_tokens),
        ("tokens of answers from the ledger", totals.reused_tokens),
    ):
        yield what, count(amount), per_unit(amount, pools_)
    yield "US dollars", _known(totals.cost, totals), _known(totals.cost / pools_, totals)


def _known(amount: float, totals: result.SelectionTotals, what: str = "") -> str:
    """Write an amount in dollars, as far as the cost of pools is known."""
    if not totals.unpriced:
        return money(amount)
    return f"{what}unknown" if totals.unpriced >= totals.pools else f"at least {money(amount)}"


def _tally(counts: Mapping[str, int], title: str, what: str, of: str) -> Table:
    columns = (Column(what, "name"), Column(of))
    return Table.of(columns, [(reason, count(times)) for reason, times in counts.items()], title)


def _share(part: int, whole: int) -> str:
    return f" ({number(part / whole, 'share')})" if whole else ""


def headline(pick: result.PickRecord) -> str:
    """Return who was picked, and what decided."""
    best = "no pick" if pick.best is None else printable(pick.best, longest=_LONGEST)
    return f"{best}, decided by {pick.decided_by}: {pick.stopped}"


def single_pick(pick: result.PickRecord) -> Iterator[Block]:
    """Yield what stands below the headline."""
    yield from story(pick)
    yield from _drawn_scores(pick)
    yield _candidates(pick)
    yield _took(pick)


def _took(pick: result.PickRecord) -> Said:
    tokens = counted(pick.input_tokens + pick.output_tokens + pick.reused_tokens, "token")
    cost = f", {money(pick.cost)}" if pick.cost else ""
    took = f"{counted(pick.calls, 'call')}, {counted(pick.from_ledger, 'answer')} from a ledger, {tokens}{cost}"
    return Said("note", took)


def explanation(document: result.SelectionsDocument) -> Part:
    """Describe why the candidate of a document of one pick was picked."""
    pick, settings = document.picks[0].pick, document.settings
    strong = None if pick.routed is None else pick.routed.strong
    who = f"{_cut(settings.judge)} judged by {_cut(settings.strategy)}{'' if pick.routed is None else ' first'}."
    blocks: list[Block] = [verdict(_answer_of_one(pick)), Said("finding", who)]
    if strong is not None:
        asked = [name for name in pick.ids if pick.unscored.get(name) not in _UNASKED]
        blocks.append(Said("finding", f"{_cut(strong)} was then asked about {listed(asked)}."))
    if pick.tied:
        blocks.append(Said("finding", f"{listed(pick.tied)} share the highest score."))
    blocks += [*story(pick), _candidates(pick, ranked=True), *_members(pick), *_comparisons(pick)]
    if pick.raw and not pick.members:
        words = ((_cut(pick.ids[at]), pick.raw[at]) for at in by_rank(pick))
        blocks += [Part(f"The judge said of {name}", [Said("quoted", reply)]) for name, reply in words if reply]
    return Part(headline(pick), [*blocks, _took(pick)])


def _drawn_scores(pick: result.PickRecord) -> list[Drawing[Forest]]:
    """Draw the scores, the best first, with the interval that the judge stated for each if it did."""
    ends = [(pick.low[at], pick.high[at]) if pick.low else (None, None) for at in range(len(pick.ids))]
    rows = [(_cut(pick.ids[at]), pick.scores[at], *ends[at]) for at in by_rank(pick)]
    known = "; ".join(f"{name} {score(value)}" for name, value, *_ in rows[:_MOST_PARAMETERS] if value is not None)
    roles = ["judge" if at == pick.index else "other" for at in by_rank(pick)]
    says = f"The highest scores: {known}."
    return forest_figure(rows, "pick-scores", "Scores of the candidates", says, None, across="score", roles=roles)


def _candidates(pick: result.PickRecord, *, ranked: bool = False) -> Table:
    """Return the candidates, the best first, in the columns that say something."""
    known = [dict(figures(pick, at)) for at in range(len(pick.ids))]
    places = {name: str(place) for place, name in enumerate(pick.ranking, 1)} if ranked else {}
    names = [name for name in FIGURES if any(name in figures for figures in known)]
    if set(pick.draws) == {1}:
        names.remove("draws")  # each was scored once
    cells = {name: [figures.get(name, NOTHING) for figures in known] for name in names}
    if ranked:
        cells = {"rank": [places.get(name, NOTHING) for name in pick.ids], **cells}
    columns = [Column("candidate", "name"), *map(Column, cells)]
    if pick.unscored:
        columns.append(Column("why not", "words"))
        cells["why not"] = [printable(pick.unscored.get(name, ""), longest=_LONGEST) for name in pick.ids]
    rows = [
        Row([printable(pick.ids[at], longest=_LONGEST), *(cell[at] for cell in cells.values())], at == pick.index)
        for at in by_rank(pick)
    ]
    return Table(columns, rows)
