"""An audit: what was audited and how, what was found, what it means; in full and in short."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Literal

from bonwise.auditing import result_exhibits, view_exhibits, view_judges, view_labels, view_verdict
from bonwise.auditing.result import Audit, AuditSettings, JudgeFound
from bonwise.printable import file_name, printable
from bonwise.report.blocks import Block, Part, Said, Table
from bonwise.report.limits import LABELS, OTHER_CANDIDATES, OTHER_PROMPTS, limits
from bonwise.report.numbers import count, count_range, counted, listed_counts, percent
from bonwise.report.table_facts import label_words, labels_left_out, table_facts
from bonwise.studies.view import BesideAudit
from bonwise.table.facts import PicksMade

_LIMITS = (
    OTHER_PROMPTS,
    OTHER_CANDIDATES,
    LABELS,
    "Another version of the judge, or another prompt for it: each needs an audit of its own.",
)

_TARGETS = {"best-of-n": "picking the best of a prompt's candidates", "system": "comparing systems on averages"}


def title(settings: AuditSettings) -> str:
    """Return what was audited, and against what."""
    what = "Audit of" if settings.picks is None else "Audit of the picks of"
    against = (
        "against oracle labels" if settings.reference is None else f"agreement with {printable(settings.reference)}"
    )
    return f"{what} {file_name(settings.source)}, {against}"


def facts(document: Audit) -> Table:
    """Return what was compared with what, what was left out, and how intervals were made."""
    settings = document.settings
    return Table.facts([*_matter(document), *_left_out(settings), *_picks(settings.picks), *_manner(settings)])


def of_the_table(document: Audit) -> Iterator[Said]:
    """Yield what is to be known of the table, and is not a judge's own."""
    settings = document.settings
    yield Said("note", "; ".join(_notes(settings)))
    yield from labels_left_out(settings.labels_left_out, settings.unlabelled)
    for name, role in (document.covariates or {}).items():
        yield Said("note", f"{printable(name)} {printable(role, longest=1000)}")
    if settings.not_in_passes is not None:
        yield Said("note", f"audited in passes; not computed: {'; '.join(settings.not_in_passes)}")


def _notes(settings: AuditSettings) -> Iterator[str]:
    yield f"{settings.shape} table"
    if settings.picks is not None:
        yield _manner_of_picks(settings.picks)
        if router := _router(settings.picks):
            yield f"routed by {router}"
        yield f"decided by {_tally(settings.picks.decided_by)}"
        if settings.picks.left_out:
            yield f"left out: {_tally(settings.picks.left_out)}"
    if settings.draws > 1:
        yield f"scores are {_means(settings)}"
    if settings.exclude:
        yield f"without {_listed(settings.exclude)}"
    if settings.control:
        yield f"control: {_listed(settings.control)}"
    if settings.keep_easy:
        yield f"counted like any other: {_listed(settings.keep_easy)}"
    yield from _notes_of_columns(settings)
    if settings.resamples is not None:
        yield f"{counted(settings.resamples, 'bootstrap resample')}, seed {settings.seed}"


def _notes_of_columns(settings: AuditSettings) -> Iterator[str]:
    if settings.judge_family:
        yield f"family of the judge: {_families(settings.judge_family)}"
    if settings.label_words:
        yield label_words(settings.label_words)
    for role, reading in (settings.readings or {}).items():
        yield f"{role} read as {printable(reading)}"
    if settings.unpicked is not None:
        yield f"where nothing has a score: {settings.unpicked}"


def _matter(document: Audit) -> Iterator[tuple[str, str]]:
    settings = document.settings
    yield "scores", settings.source
    if document.judge is None:
        yield "judges", count(len(document.judges))
    else:
        yield "judge", document.judge
    reference = settings.reference
    yield "against", "oracle labels" if reference is None else f"agreement with {reference}, which is not an oracle"


def _left_out(settings: AuditSettings) -> Iterator[tuple[str, str]]:
    judge_scale = settings.judge_scale
    yield from table_facts(settings.shape, settings.exclude, settings.columns, settings.label_scale, judge_scale)
    if settings.control:
        yield "control", ", ".join(settings.control)
    if settings.keep_easy:
        yield "counted like any other", ", ".join(settings.keep_easy)
    if settings.pools is not None:
        yield "texts", settings.pools
    if settings.judge_family:
        yield "family of the judge", _families(settings.judge_family)
    if settings.label_words:
        yield "labels", label_words(settings.label_words).removeprefix("labels are ")
    for role, reading in (settings.readings or {}).items():
        yield f"{role} read as", reading
    if settings.unpicked is not None:
        yield "where nothing has a score", settings.unpicked
    if settings.draws > 1:
        yield "scores are", _means(settings)


def _picks(picks: PicksMade | None) -> Iterator[tuple[str, str]]:
    if picks is None:
        return
    yield "picks", _manner_of_picks(picks)
    if router := _router(picks):
        yield "routed by", router
    if picks.decided_by:
        yield "decided by", _tally(picks.decided_by)
    if picks.left_out:
        yield "left out", _tally(picks.left_out)


def _manner(settings: AuditSettings) -> Iterator[tuple[str, str]]:
    yield "decision", _TARGETS[settings.target]
    kind = "jackknife, Fieller and Clopper-Pearson"
    if settings.resamples is not None:
        kind = f"bootstrap of {counted(settings.resamples, 'resample')}, and Clopper-Pearson"
    yield "intervals", f"{percent(settings.confidence)}, clustered by prompt, {kind}"
    if settings.outcome_model is not None:
        yield "outcome model", settings.outcome_model
    yield "seed", str(settings.seed)
    yield "bonwise", settings.version


def _manner_of_picks(picks: PicksMade) -> str:
    return "as the seed drew them" if picks.as_picked else "in expectation where a seed decided"


def _router(picks: PicksMade) -> str:
    """Name the router of routed picks; earlier picks name the stronger judge alone."""
    if picks.strong is None:
        return ""
    to = f"stronger judge {printable(picks.strong)}"
    return to if picks.router is None else f"{printable(picks.router)}, {to}"


def _means(settings: AuditSettings) -> str:
    return f"means of up to {settings.draws} draws"


def _families(families: Mapping[str, str]) -> str:
    return ", ".join(
        f"{printable(judge)} {printable(family)}" if judge else printable(family)
        for judge, family in families.items()
    )


def _listed(names: list[str]) -> str:
    return ", ".join(printable(name) for name in names)


def _tally(counts: Mapping[str, int]) -> str:
    return listed_counts((printable(what), times) for what, times in counts.items())


_EVERYTHING = "All {metrics} metrics: add --full, or to_text(full=True) in Python."

_ROWS = 12
"""Judges of the table."""

_LINES = 3
"""Different counts of several judges that have a line of their own, and judges that are named in a line."""

_MOST_SAID = 3
"""Warnings of several judges that are written out."""

_REASONS = 5


def describe_in_short(document: Audit) -> Part:
    """Return the short form: counts, dropped prompts and warnings stay, in one line each."""
    return Part(title(document.settings), list(_in_short(document)))


def _in_short(document: Audit) -> Iterator[Block]:
    settings = document.settings
    yield from of_the_table(document)
    if document.several:
        yield from _judges_in_short(document)
    else:
        for name, judge in document.judges.items():
            yield view_verdict.verdict_in_short(judge, settings)
            yield from _one(name, judge, settings)
    if document.annotators is not None:
        yield from _said(view_labels.agreement_of_annotators(document.annotators))
    yield from view_verdict.gates(document)
    metrics = max((len(judge.metrics) for judge in document.judges.values()), default=0)
    if metrics:
        yield Said("note", _EVERYTHING.format(metrics=metrics))


def _one(name: str, judge: JudgeFound, settings: AuditSettings) -> Iterator[Said]:
    answer = judge.verdict.sentences[0].lower()
    for one in judge.suspicions or ():
        # Where the figures fail by themselves the answer does not say that there are few of them.
        if one.kind == "few pools" and one.sentence.partition(". ")[0].lower() not in answer:
            yield Said("caveat", one.sentence)
    yield from _said(view_labels.data(judge, "", name, settings.reference))
    if judge.labelled_cells is not None:
        yield from _said(view_labels.who_was_labelled(judge.labelled_cells, ""))
    if judge.candidate_effects is not None:
        yield from _said(view_labels.preferences_at_equal_label(judge.candidate_effects, ""))
    yield from view_labels.no_worst_case(judge)


def _said(part: Part) -> list[Said]:
    """Return the sentences of a part; its tables and details are left to the full form."""
    return [block for block in part.blocks if isinstance(block, Said)]


def _judges_in_short(document: Audit) -> Iterator[Block]:
    judges, settings = document.judges, document.settings
    yield view_verdict.verdict_of_several(document, in_short=True)
    table = replace(view_judges.summary(document), at_a_glance=_ROWS)
    yield Part("Judges by recovery", [table, *view_judges.best_of(document.choice, "judges", settings.reference)])
    best = list(view_judges.by_recovery(judges).items())[:_LINES]
    told = [
        Said("finding", f"{printable(name)}: {sentence.text}")
        for name, of in best
        for sentence in view_judges.subsets_in_words(of)
    ]
    if told:
        yield Part("Subsets of the prompts, for the best judges", told)
    yield Part("Data", [*_counts(judges), *_dropped(judges), *_warnings(judges, settings.reference)])
    yield from view_judges.not_audited(document)


def _counts(judges: Mapping[str, JudgeFound]) -> Iterator[Said]:
    """Yield what judges were audited on: judges with the same counts share a line."""
    found: dict[str, list[str]] = {}
    for name, judge in judges.items():
        found.setdefault(view_labels.counts_of(judge.data), []).append(name)
    if len(found) == 1:
        yield Said("finding", f"each judge: {next(iter(found))}")
    elif len(found) <= _LINES:
        yield from (Said("finding", f"{_whose(names)}: {told}") for told, names in found.items())
    else:
        prompts = count_range([judge.data.prompts for judge in judges.values()], "prompt")
        rows = count_range([judge.data.rows for judge in judges.values()], "row")
        yield Said("finding", f"{count(len(judges))} judges on {prompts}, {rows} each")


def _dropped(judges: Mapping[str, JudgeFound]) -> Iterator[Said]:
    """Yield how many prompts were dropped of the judges, and why."""
    yield from view_labels.dropped_in_passes(next(iter(judges.values())).data)
    dropped = {name: judge.data.dropped for name, judge in judges.items() if judge.data.dropped}
    if not dropped:
        return
    each = count_range([len(some) for some in dropped.values()], "prompt")
    reasons = Counter(printable(one.reason, longest=60) for some in dropped.values() for one in some).most_common()
    told = listed_counts(reasons[:_REASONS])
    more = ", ..." if len(reasons) > _REASONS else ""
    yield Said("caveat", f"dropped {each} of {_whose(list(dropped))}, in all: {told}{more}")


def _warnings(judges: Mapping[str, JudgeFound], reference: str | None) -> Iterator[Said]:
    """Yield what limits the figures of the judges, each warning once with whose it is; other remarks are counted."""
    found: dict[Said, list[str]] = {}
    for name, judge in judges.items():
        for one in _limits(judge, reference):
            found.setdefault(one, []).append(name)
    warnings = sorted((one for one in found if one.role == "caveat"), key=lambda one: -len(found[one]))
    # What is known of every judge, such as that a stated draw is not used, stands where there is no warning.
    shown = (warnings or [one for one in found if len(found[one]) == len(judges)])[:_MOST_SAID]
    for one in shown:
        yield Said(one.role, f"{_whose(found[one])}: {one.text}")
    more = len(found) - len(shown)
    if more:
        yield Said("note", f"{counted(more, 'more remark')} on single judges: add --full.")


def _limits(judge: JudgeFound, reference: str | None) -> Iterator[Said]:
    # What the figures describe says that labels are missing.
    suspected = [one for one in judge.suspicions or () if one.kind != "missing labels"]
    yield from (Said("caveat", one.sentence) for one in suspected)
    yield from (Said("caveat", one) for one in judge.verdict.opening[1:])
    if judge.labelled_cells is not None:
        yield from (
            one for one in _said(view_labels.who_was_labelled(judge.labelled_cells, "")) if one.role == "caveat"
        )
    if judge.candidate_effects is not None:
        yield from (Said("caveat", note) for note in judge.candidate_effects.notes)
    _, *others = _said(view_labels.data(judge, "", "", reference))
    # Counts and drops are summed up over the judges.
    yield from (other for other in others if not other.text.startswith("dropped "))


def _whose(names: Sequence[str]) -> str:
    if len(names) > _LINES:
        return f"{count(len(names))} judges"
    return ", ".join(printable(name, longest=40) for name in names)


_IN_FULL = 4
"""Judges of which Markdown shows more than the summary."""


def describe(document: Audit) -> Part:
    """Describe an audit by its document alone."""
    return describe_with(document)


def describe_with(
    document: Audit,
    exhibits: result_exhibits.Exhibits | None = None,
    studies: Sequence[BesideAudit] = (),
    more: str | None = None,
    then: Sequence[Said] = (),
) -> Part:
    """Describe an audit with what stands beside it on its page; `more` names the file with a row for each prompt."""
    settings = document.settings
    decisive: Part
    found: Iterator[Block]
    if document.several:
        decisive, found = (
            view_verdict.verdict_of_several(document, exhibits, then),
            _judges_in_full(document, exhibits, studies),
        )
    else:
        decisive, found = _verdict_alone(document, exhibits, then), _alone(document, exhibits, studies)
    annotators = [] if document.annotators is None else [view_labels.agreement_of_annotators(document.annotators)]
    # What the picks are worth is seen before what would change the verdict on them.
    blocks = [facts(document), *of_the_table(document), decisive, *islice(found, 1)]
    blocks += [
        *view_exhibits.what_would_change(exhibits, settings.reference),
        *found,
        *annotators,
        *view_verdict.gates(document),
    ]
    if exhibits is not None:
        blocks += view_exhibits.worst_prompts(
            exhibits.prompts, several=document.several, reference=settings.reference, more=more
        )
    blocks.append(limits(_LIMITS, "long", settings.reference))
    return Part(title(settings), blocks)


def _verdict_alone(document: Audit, exhibits: result_exhibits.Exhibits | None, then: Sequence[Said]) -> Part:
    ((name, judge),) = document.judges.items()
    shown = None if exhibits is None else exhibits.judges.get(name)
    return view_verdict.verdict(judge, document.settings, alone=True, shown=shown, then=then)


def _alone(
    document: Audit, exhibits: result_exhibits.Exhibits | None, studies: Sequence[BesideAudit]
) -> Iterator[Block]:
    ((name, judge),) = document.judges.items()
    shown = None if exhibits is None else exhibits.judges.get(name)
    # Pictures before tables.
    yield from view_exhibits.drawn(judge, shown, "", document.settings.reference)
    yield from _whole(studies)
    yield from _of_judge(judge, document.settings, name=name)


def _whole(studies: Sequence[BesideAudit]) -> Iterator[Part]:
    """Yield the parts of studies that are no judge's own."""
    yield from (replace(part, role="detail") for study in studies for part in study.whole)


def _judges_in_full(
    document: Audit, exhibits: result_exhibits.Exhibits | None, studies: Sequence[BesideAudit]
) -> Iterator[Block]:
    judges, settings = document.judges, document.settings
    yield from view_judges.side_by_side(document)
    yield from _whole(studies)
    role: Literal["part", "long"] = "part" if len(judges) <= _IN_FULL else "long"
    places = {name: at for at, name in enumerate(judges, start=1)}
    for name, judge in view_judges.by_recovery(judges).items():
        anchor = f"judge-{places[name]}"
        shown = None if exhibits is None else exhibits.judges.get(name)
        blocks: list[Block] = []
        if len(judges) <= view_judges.MOST_DRAWN:
            blocks += view_exhibits.drawn(judge, shown, f"{anchor}-", settings.reference)
        blocks += _of_judge(judge, settings, f"{anchor}-")
        blocks.append(view_verdict.verdict(judge, settings, alone=False, shown=shown))
        studied = [part for study in studies if name in study.by_judge for part in study.by_judge[name]]
        blocks += [replace(part, role="detail", anchor=f"{anchor}-{part.anchor}") for part in studied]
        yield Part(printable(name), blocks, role, anchor=anchor, folded=view_verdict.in_a_line(judge))
    if role == "long":
        yield from view_judges.dropped_prompts(judges)
        told = f"Every metric of all {count(len(judges))} judges is in the JSON document (--json FILE)."
        yield Part("", [Said("note", told)])


def _of_judge(judge: JudgeFound, settings: AuditSettings, prefix: str = "", name: str = "") -> Iterator[Block]:
    yield view_labels.data(judge, f"{prefix}data", name, settings.reference)
    if judge.labelled_cells is not None:
        yield view_labels.who_was_labelled(judge.labelled_cells, f"{prefix}labelled-cells")
    yield view_judges.metrics(judge, settings, f"{prefix}metrics")
    yield from view_judges.subsets(judge, f"{prefix}subsets")
    if judge.candidate_effects is not None:
        yield view_labels.preferences_at_equal_label(judge.candidate_effects, f"{prefix}equal-label")
    yield from view_labels.missing_labels(judge, settings.reference, f"{prefix}missing-labels")
