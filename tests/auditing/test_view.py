from __future__ import annotations

import io
import re

import pandas as pd
import pytest
from rich.console import Console

import bonwise as bw
from auditing.tables import cohort, two_judges
from bonwise.auditing.next_steps import PythonCalls
from bonwise.auditing.page import audit_page
from bonwise.auditing.result_exhibits import Note
from bonwise.auditing.view import describe
from bonwise.auditing.view_labels import _such_as
from bonwise.metric_groups import GROUPS
from bonwise.report.numbers import estimate, interval
from bonwise.report.show import drawings, markdown, notebook, page, printed, text
from bonwise.testing import simulate
from report.audits import audited, changed, exhibits, several, table
from report.readers import HOSTILE, harmless, in_a_column, words

METRICS = [metric for group in GROUPS for metric in group.metrics]


def on_a_terminal(document, width):
    """Return the lines of an audit on a terminal of some width."""
    stream = io.StringIO()
    console = Console(file=stream, width=width, force_terminal=True, color_system=None)
    for part in printed(document, full=True):
        console.print(part)
    return [line.rstrip() for line in stream.getvalue().splitlines()]


def whole(document):
    """Return all that a terminal shows of an audit."""
    return text(document, full=True)


def partly(prompts=60):
    """Return a table of which half the prompts have labels."""
    frame = table(prompts)
    return frame.assign(oracle_label=frame["oracle_label"].where(frame.index % (3 * prompts) < 1.5 * prompts))


def lines_of(document):
    """Return the lines of the text with single blanks."""
    return [" ".join(line.split()) for line in whole(document).splitlines()]


def with_a_loss(prompts):
    """Return a table in which one score is missing: its audit has every metric."""
    frame = cohort(prompts)
    return frame.assign(judge_score=frame["judge_score"].where(frame.index != 5))


@pytest.mark.parametrize("width", [80, 104, 160])
def test_each_metric_takes_one_line(width):
    """Whatever the width of the terminal, a metric and its interval stand on one line, once."""
    document = bw.audit(with_a_loss(60), top=2)
    lines = on_a_terminal(document, width)
    for metric in METRICS:
        (line,) = (line for line in lines if line.startswith(f"  {metric.name} "))
        assert any(form in line for form in in_a_column(interval(document[metric.name], metric.unit)))


def test_a_narrow_terminal_says_what_it_leaves_out():
    """Where meanings, counts or intervals give way they are named below the table, and at no other width."""
    document = bw.audit(cohort(60))
    assert not any(line.startswith("left out for want of room") for line in on_a_terminal(document, 160))
    assert "columns hidden, the terminal is too narrow: what it says; --json has all" in on_a_terminal(document, 80)
    said = " ".join(on_a_terminal(document, 50))
    assert "columns hidden, the terminal is too narrow: 95% interval, n, effective n, what it says;" in said
    assert "effective_agreement_decided" in said


def test_a_narrow_terminal_keeps_the_reasons():
    """Where there is no room for meanings, why a metric has no estimate is still said."""
    document = bw.audit(cohort(60).assign(judge_score=0.5))
    for width in (80, 140):
        said = " ".join(" ".join(on_a_terminal(document, width)).split())
        assert "needs scores and labels that vary" in said
        assert "all prompts alike: bound" in said


def test_several_judges_fit_eighty_columns():
    """On a narrow terminal columns give way whole: no name and no figure is cut short."""
    names = ("local:consensus", "local:length", "local:lexical")
    document = bw.audit(pd.concat([cohort(60).assign(judge=name) for name in names]))
    lines = on_a_terminal(document, 80)
    assert not any("…" in line for line in lines)
    assert sum("local:consensus" in line for line in lines) >= 3


def test_every_metric_of_an_audit_is_described():
    """The catalogue names each metric of an audit and no other."""
    assert {metric.name for metric in METRICS} == set(bw.audit(with_a_loss(60), top=2).metrics)


def test_a_metric_of_a_later_version_is_shown():
    """What this version does not know is in a group of its own."""
    document = audited()
    strange = changed(document, metrics={**document.to_dict()["metrics"], "surprise": document["gain"].to_dict()})
    lines = lines_of(strange)
    assert lines.index("Others") + 1 == next(at for at, line in enumerate(lines) if line.startswith("surprise "))


def test_the_terminal_begins_with_what_decides():
    """The verdict whole and in its order, what was audited, the gates, data and metrics come in this order."""
    document = audited({"recovery": -5.0, "tie_rate": 0.99})
    said = " ".join(whole(document).split())
    answer, *levels = document.verdict.sentences
    told = (f"Verdict: {document.verdict.level} {answer}", *levels, "Audit of", "Gates 1 of 2 gates met.")
    told += (*(gate.sentence for gate in document.gates), "30 prompts x 3 candidates", "metric estimate")
    places = [said.index(one) for one in told]
    assert places == sorted(places)
    assert places[0] == 0


def test_the_verdict_and_the_gates_come_first_on_a_page_and_in_markdown():
    """The decision with its figures stands before any table, then the gates; no sentence of the verdict is lost."""
    document = audited({"recovery": -5.0})
    asked = "Is the judge good enough for picking the best candidate of one prompt?"
    in_markdown = " ".join(markdown(document).replace("\\", "").split())
    for shown, heading in ((words(page(document)), asked), (in_markdown, "Verdict: ")):
        assert all(sentence.replace(">", "") in shown.replace("&gt;", "") for sentence in document.verdict.sentences)
        answer, *levels = document.verdict.sentences
        places = [shown.index(words_shown) for words_shown in (heading, answer, *levels, "1 of 1 gate met.")]
        # The contents of a page name the metrics before they come.
        assert places == sorted(places)
        assert shown.index("1 of 1 gate met.") < shown.index("90 rows")


@pytest.mark.parametrize("target", ["best-of-n", "system"])
def test_what_leads_carries_its_figures(target):
    """The answer with its figures leads; the levels are a table, each once with its state."""
    document = audited(target=target)
    found = document.verdict
    (verdict,) = (part for part in describe(document).blocks if getattr(part, "role", "") == "verdict")
    lead, bar, change, folded, headlines = verdict.blocks
    (levels,) = folded.blocks
    deciding = ("recovery", "share") if target == "best-of-n" else ("global_r", "number")
    figure = estimate(document[deciding[0]], deciding[1])
    assert bar.rows[0].figure == figure
    assert (change.role, bool(folded.folded)) == ("detail", True)
    assert (lead.role, lead.text) == ("lead", found.sentences[0])
    assert re.search(r"\[-?[\d.]+%?, -?[\d.]+%?\]", lead.text)
    assert [row.cells[0] for row in levels.rows] == list(found.checks)
    states = {"pass": "passes", "fail": "fails"}
    assert [row.cells[1] for row in levels.rows] == [states.get(one, one) for one in found.checks.values()]
    assert [row.cells[2] for row in levels.rows] == found.sentences[1:]
    first = ["recovery", "within_r", "global_r", "top1_accuracy"]
    assert [row.cells[0] for row in headlines.rows] == [one for one in first if one != deciding[0]]


def test_every_metric_has_its_row_with_figures_and_meaning():
    """The page holds all metrics by group, each with its figures and what it says; Markdown too."""
    document = audited(control="c")
    shown = words(page(document))
    summary = markdown(document).replace("\\", "")
    assert "Every estimate with its 95% interval, clustered by prompt; figures under with control have none" in shown
    for group in GROUPS:
        assert group.title in shown
        for metric in (one for one in group.metrics if one.name in document.metrics):
            found, control = document[metric.name], document.with_control[metric.name]
            unit = metric.unit
            figures = f"{estimate(found, unit)} {interval(found, unit)} {estimate(control, unit)} {found.n}"
            assert f"{metric.name} {metric.meaning} {figures}" in shown
            row = f"{estimate(found, unit)} | {interval(found, unit)} | {estimate(control, unit)} | {found.n}"
            assert f"| {metric.name} | {row} |" in summary


@pytest.mark.parametrize(("design", "told"), [("uniform", ["labels alone"]), (None, [])])
def test_columns_without_intervals_are_named(design, told):
    """Only the estimates have intervals, so the sentence names every other column of figures that is there."""
    document = audited(source=partly(), control="c", design=design)
    named = f"figures under {' and '.join([*told, 'with control'])} have none here."
    assert named in words(page(document))


def test_gates_drops_and_exclusions_are_told():
    """What was asked for, left out and dropped can be read with its counts, everywhere."""
    frame = table().drop(index=[0, 4])
    document = audited({"recovery": -5.0, "tie_rate": 0.99}, source=frame, exclude="c")
    shown = words(page(document))
    said = " ".join(whole(document).split())
    for one in (shown, said, " ".join(markdown(document).replace("\\", "").replace("&gt;", ">").split())):
        assert "1 of 2 gates met." in one
        assert all(gate.sentence in one for gate in document.gates)
        assert "rectangular table; without c" in one
        assert "dropped 2 prompts: " in one
        assert all(drop.reason in one for drop in document.data.dropped)
    assert re.search(r"why prompts such as lacks \w 1 p\d", shown)


@pytest.mark.parametrize(("reasons", "more"), [(5, False), (6, True)])
def test_five_reasons_are_told_whole(reasons, more):
    """Of five reasons each is named and nothing is said to be missing; of six the last gives way to dots."""
    dropped = [
        {"prompt_id": f"p{at}{again}", "reason": f"reason {at}"} for at in range(reasons) for again in range(9 - at)
    ]
    document = changed(audited(), data={"dropped": dropped})
    told = ", ".join(f"reason {at} ({9 - at})" for at in range(5))
    said = " ".join(whole(document).split())
    assert f"prompts: {told}{', ...' if more else ''}: p00, p01, p02, p03, p04, ..." in said
    assert ("reason 5" in said) == 0
    assert words(page(document)).count("reason 5") == more


def test_partial_labels_show_how_they_differ_and_the_worst_case():
    """With labels of a part there are scope, balance and bounds; with a stated design how they were drawn."""
    document = audited(source=partly())
    for shown in (words(page(document)), " ".join(whole(document).split())):
        assert "Labelled against unlabelled prompts" in shown
        assert "Worst case over the missing labels, all prompts: metric at least at most" in shown.replace("─", "")
        assert "* from the completely labelled prompts alone" in shown
        assert document.verdict.sentences[1] in shown
    drawn = audited(source=partly(), design="uniform")
    for shown in (words(page(drawn)), " ".join(whole(drawn).split())):
        assert drawn.sampling.how in shown
        assert "labels alone" in shown


def test_balance_gives_way_to_its_difference():
    """Of labelled against unlabelled prompts the difference and its interval stay on a narrow terminal."""
    said = "\n".join(on_a_terminal(bw.audit(cohort(100, unlabelled=30)), 60))
    below = said[said.index("Labelled against") :]
    assert "columns hidden, the terminal is too narrow: labelled, unlabelled;" in " ".join(below.split())
    assert "[" in next(line for line in below.splitlines() if line.startswith("margin of the top score"))


@pytest.mark.parametrize(("narrowed", "told"), [(0.254, "25.4% narrower"), (-0.1, "10.0% wider")])
def test_percentages_are_written_in_one_way(narrowed, told):
    """What a model explains and what covariates save are percentages, the sign after the figure."""
    sampling = {
        "design": "uniform",
        "how": "drawn alike",
        "ess": 1234.4,
        "model": {"name": "ridge", "covariates": ["length"], "reason": "the default"},
        "share_explained": 0.412,
        "further_judges": ["second"],
        "narrowed": narrowed,
        "notes": ["few prompts"],
    }
    said = " ".join(whole(changed(audited(), sampling=sampling)).split())
    assert "labels: drawn alike; equivalent to 1,234 labels drawn at random" in said
    assert "outcome model: ridge: the default; explains 41.2% of the variance" in said
    assert f"with second as covariates the interval of recovery is {told}" in said
    assert "note: few prompts" in said


@pytest.mark.parametrize(
    ("sentences", "said", "levels"),
    [
        (["Answer.", "Scope.", "A.", "B.", "C.", "D."], ["Answer.", "Scope."], ["A.", "B.", "C.", "D."]),
        (["Answer.", "A.", "B.", "C.", "D."], ["Answer."], ["A.", "B.", "C.", "D."]),
        (["Answer.", "Scope.", "No scores.", "D."], ["Answer.", "Scope."], [*["No scores."] * 3, "D."]),
        (["Answer.", "No scores.", "D."], ["Answer."], [*["No scores."] * 3, "D."]),
        (["Answer.", "D."], ["Answer.", "D."], []),
        (list("ABCDEFG"), list("ABCDEFG"), []),
    ],
)
def test_the_sentences_of_a_verdict_are_told_apart(sentences, said, levels):
    """What opens a verdict stands as sentences, the levels as a table; other numbers of sentences stay sentences."""
    old = audited()
    shown = describe(changed(old, verdict={**old.verdict.to_dict(), "sentences": sentences, "deciding": 1}))
    (verdict,) = (part for part in shown.blocks if getattr(part, "role", "") == "verdict")
    assert [one.text for one in verdict.blocks if hasattr(one, "text")] == said
    tables = [table for one in verdict.blocks if getattr(one, "folded", "") for table in one.blocks]
    assert [row.cells[2] for table in tables for row in table.rows] == levels


def at_the_levels(lines):
    """Return where the table of the four levels begins."""
    return next(at for at, line in enumerate(lines) if line.endswith("   what it rests on"))


@pytest.mark.parametrize("width", [60, 80, 120])
def test_sentences_of_the_levels_are_whole_at_any_width(width):
    """Long sentences run over several lines, on a narrow terminal and in a file, and no line is wider than it."""
    document = audited()
    lines = on_a_terminal(document, width)
    start = next(
        at for at, line in enumerate(lines) if line.split() == ["validity", "state", "what", "it", "rests", "on"]
    )
    said = " ".join(" ".join(lines[start:]).split())
    assert all(sentence in said for sentence in document.verdict.sentences[1:])
    assert max(map(len, lines[start:])) <= width
    piped = whole(document).splitlines()
    assert (
        max(len(line) for line in piped[piped.index(next(one for one in piped if "what it rests on" in one)) :])
        <= 120
    )


def test_a_reference_is_never_called_an_oracle():
    """Where a judge stands in for the oracle every reader names it a reference throughout."""
    both = two_judges(30).drop(columns="oracle_label")
    document = bw.audit(both, oracle="judge:second")
    for shown in (whole(document), markdown(document)):
        assert "oracle" not in shown
        assert "correlation with second" in shown
        assert "picking by second" in shown
    shown = words(audit_page(document, exhibits(["first"])))
    opening = shown.index("Is the judge good enough")
    assert opening < shown.index("picking by second") < shown.index("The reference is the scores of second: ")
    assert "agreement with second, which is not an oracle" in shown
    assert "value_reference" in shown
    assert "oracle" not in shown.replace("which is not an oracle", "").lower()


def test_several_judges_have_a_summary_differences_and_a_part_each():
    """Every judge is in the summary, each pair in the differences, and a part of its own says the verdict."""
    document = several(["x", "y", "z"], {"recovery": 0.9})
    shown = audit_page(document, exhibits(["x", "y", "z"]))
    for said in (words(shown), " ".join(whole(document).split())):
        assert re.search(r"[0123] of 3 judges (is|are) useful", said)
        for judge in document.judges.values():
            assert all(sentence in said for sentence in judge.verdict.sentences)
        for pair in document.comparisons:
            found = pair.differences["recovery"]
            apart = f"{estimate(found, 'points', sign=True)} {interval(found, 'points', sign=True)}"
            assert f"{pair.first} {pair.second} 30 {apart}" in said
        assert f"x: {document.gates[0].sentence}" in said
    for at, name in enumerate(document.judges, start=1):
        assert f'href="#judge-{at}"' in shown
        assert f"<h2><bdi>{name}</bdi></h2>" in shown
    assert "Difference of recovery" in words(shown)


def test_names_of_compared_judges_are_told_apart():
    """Each paired difference is drawn beside both names, whole where they have room."""
    names = ("openai/gpt-5-mini", "openai/gpt-5-nano", "openai/gpt-5")
    paired = [one for one in drawings(several(names)) if one.key.startswith("paired-")]
    assert [one.title for one in paired] == ["Difference of recovery", "Difference of within_r"]
    for one in paired:
        rows = {frozenset(row.split(" - ")) for row in one.to_frame()["row"]}
        assert rows == {frozenset((first, second)) for at, first in enumerate(names) for second in names[at + 1 :]}


@pytest.mark.parametrize(("judges", "all_shown", "drawn"), [(4, True, True), (5, False, True), (7, False, False)])
def test_many_judges_are_shown_in_short(judges, all_shown, drawn):
    """Of more than four judges Markdown shows the summary, of more than six a page draws none; both say so."""
    document = several([f"j{at}" for at in range(judges)])
    said = markdown(document)
    assert ("# Metrics" in said) == all_shown
    assert (f"Every metric of all {judges} judges is in the JSON document (--json FILE)." in said) != all_shown
    assert whole(document).splitlines().count("Metrics") == judges
    shown = words(page(document))
    assert shown.count("for best-of-n: it recovers") == judges
    assert ("What the picks are worth" in shown) == drawn
    assert (f"Of {judges} judges each has tables below and no drawings" in shown) != drawn


def test_what_was_dropped_of_many_judges_is_one_table():
    """Where the parts of the judges are for pages alone the drops are in a table, fifteen of them on a terminal."""
    frame = pd.concat([table(12, judge=f"j{at:02}", shift=at) for at in range(17)], ignore_index=True)
    document = bw.audit(frame.drop(index=range(0, len(frame), 36)), shape="rectangular")
    lines = lines_of(document)
    assert lines.count("Dropped prompts") == 1
    assert "j14 1 lacks a (1)" in lines
    assert "2 more rows are on the page and in the JSON document." in lines
    assert "j16 1 lacks a (1)" not in lines
    assert "j16 1 lacks a (1)" in words(page(document))


def test_the_prompts_open_to_all_that_is_known_of_them():
    """Each row of the drill-down holds its figures, and inside prompt, candidates, marks and the judge's words."""
    shown = audit_page(audited(), exhibits(["judge"]), more="rest of it.csv")
    said = words(shown)
    assert "In 30 prompts the pick lost something, the greatest loss first." in said
    assert "Each row opens to the pick beside the best candidate. The page has no room for 27 more." in said
    assert '<a href="./rest%20of%20it.csv">' in shown
    assert 'aria-sort="descending"' in shown
    assert '<td data-v="0.5">0.500</td>' in shown
    assert '<td data-v="">-</td>' in shown
    for told in ("b picked, one of 2 tied", "hello best", "score 0.500, label 1.00", "The judge's words hello"):
        assert told in said
    assert "hello and 9 more" in said
    assert "12 more characters are not shown here." in said
    assert "7 more candidates are not shown here." in said
    assert "Where the judge lost most" not in whole(audited())


def test_what_is_not_there_has_no_place():
    """Without exhibits, controls or gates their sections are missing, and nothing fails."""
    said = words(page(audited()))
    for title in ("Gates", "Where the judge lost most", "Strata", "Missing labels", "Not audited"):
        assert title not in said


def test_notes_stand_in_for_studies_and_addresses_stay_apart():
    """Two notes of one name are on the page with addresses of their own, and in no text."""
    note = Note.on("Mix", "no control")
    shown = audit_page(audited(), exhibits(["judge"]), [note, note])
    assert shown.count("Not studied: no control.") == 2
    assert {"mix", "mix-2"} <= set(re.findall(r'\bid="([^"]*)"', shown))
    assert whole(note) == "Mix\nNot studied: no control."


def test_a_notebook_holds_the_verdict_and_two_drawings():
    """A notebook shows what decides, the gates, and figures, without prompts."""
    shown = notebook(audited({"recovery": -5.0}))
    said = words(shown)
    places = [said.index(one) for one in ("Verdict:", "Gates", "Between random and best", "Data")]
    assert places == sorted(places)
    assert shown.count("<svg") <= 2


def test_names_stay_text():
    """Judges, candidates, prompts and sources are text wherever they are shown."""
    frame = table().assign(judge=HOSTILE)
    frame["candidate"] = frame["candidate"] + HOSTILE
    frame["prompt_id"] = HOSTILE + frame["prompt_id"]
    found = bw.audit(frame.drop(index=[0]), exclude=f"c{HOSTILE}")
    harmless(found.check({"recovery": 0.1}))
    both = bw.audit(pd.concat([frame, frame.assign(judge="b")]))
    harmless(both.check({"recovery": 0.1}))


def test_picks_tell_what_made_them(tmp_path):
    """Of logged picks the head says how they were taken and what decided, and there are metrics of picks alone."""
    frame = cohort(20)
    log = tmp_path / "picks.jsonl"
    pools = frame.groupby("prompt_id")["candidate"].apply(list)
    lines = [f'{{"prompt_id": "{prompt}", "ids": {ids}, "best": "{ids[0]}"}}' for prompt, ids in pools.items()]
    log.write_text("\n".join(lines).replace("'", '"'), "utf-8")
    labels = frame[["prompt_id", "candidate", "oracle_label"]]
    document = bw.audit(log, labels=labels)
    said = whole(document)
    assert said.startswith("Verdict: ")
    assert "\n\nAudit of the picks of " in said
    assert "in expectation where a seed decided; decided by not said (20)" in " ".join(said.split())
    assert "Within prompts" not in said
    assert "decided by not said (20)" in words(page(document))


@pytest.mark.shared
def test_arena100_with_its_control(shared):
    """The figures of the paper's data are on the page, with and without the easy candidate."""
    document = bw.audit(shared / "data" / "arena100" / "scores.csv", control="unhelpful")
    said = words(page(document))
    assert "recovery share of the possible gain 21.3% [7.9%, 34.5%] 65.6% 99" in said
    assert re.search(r"global_r correlation over all cells 0\.652 \[0\.540, 0\.741\] 0\.869 99", said)


def test_an_undefined_metric_has_a_dash():
    """A metric without a figure has a dash in its row and its reason below."""
    said = whole(bw.audit(table().assign(oracle_label=1.0)))
    assert re.search(r"^ {2}recovery +- +- +30 ", said, re.MULTILINE)
    assert "needs a prompt where labels differ" in " ".join(said.split())


def test_single_labels_are_not_counted_in_no_prompt():
    """Where no prompt is labelled whole the sentence says so; it does not count labels in 0 prompts."""
    frame = simulate("arena", n=60, seed=4).frame()
    some = frame.assign(oracle_label=frame["oracle_label"].where(frame.index % 4 == 0))
    told = text(bw.audit(some, design="cells"), full=True)
    assert "60 labels of 240 candidates, none of them in a prompt that is labelled whole." in " ".join(told.split())
    most = frame.assign(oracle_label=frame["oracle_label"].where(frame.index >= 30))
    told = " ".join(text(bw.audit(most, design="cells"), full=True).split())
    assert re.search(
        r"Figures rest on 210 labels of 240 candidates, \d+ of them in 52 prompts labelled whole\.", told
    )


@pytest.mark.parametrize("design", [None, "uniform"])
def test_figures_of_labelled_prompts_are_called_so(design):
    """With labels for half of the prompts strata and spread say that they show the labelled ones."""
    frame = simulate("arena", n=60, seed=4).frame()
    number = frame["prompt_id"].str[1:].astype(int)
    half = frame.assign(oracle_label=frame["oracle_label"].where(number % 2 == 0), topic=number % 3)
    audit = bw.audit(half.astype({"topic": str}), **({} if design is None else {"design": design}))
    says = {one.key: one.says for one in audit.drawings}
    assert "all 30 labelled prompts" in says["a-spread-between"]
    assert "with the number of labelled prompts" in says["a-strata-0-recovery"]
    whole = {one.key: one.says for one in bw.audit(frame.assign(topic=(number % 3).astype(str))).drawings}
    assert "all 60 prompts" in whole["a-spread-between"]


def test_names_of_prompts_are_told_up_to_40_letters():
    """A longer one is cut to 37 and three dots; those beyond the most that are told are dots."""
    assert _such_as(["p" * 40, "q" * 41], 2) == f"{'p' * 40}, {'q' * 37}..."
    assert _such_as(["p", "q", "r"], 2) == "p, q, ..."


@pytest.mark.parametrize(("stated", "written"), [("0.95", False), ("0.9", True)])
def test_the_same_audit_is_typed_with_what_is_not_usual(stated, written):
    """A confidence that is the usual one is not typed again, wherever its number came from."""
    calls = PythonCalls(bw.audit(table(), confidence=float(stated)), gated=False)
    assert ("confidence" in calls.with_design("uniform")) is written
