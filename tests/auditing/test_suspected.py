"""What keeps a verdict from being useful and a gate from being met, whatever the figures are."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pandas as pd
import pytest

import bonwise as bw
from auditing.tables import cohort, parts, two_judges
from auditing.test_picks import greedy_lines, labels_of, logged
from bonwise.auditing.suspected import of_outstanding
from bonwise.auditing.what_if import what_if
from bonwise.errors import UsageError
from bonwise.labels.front import draw_labels
from bonwise.stats.estimand import Estimate
from bonwise.table.panel import OutstandingGroup, easy_of_panel, lay_out, outstanding_groups
from bonwise.table.score_table import ScoreTable
from cli.commands import strict, typed


def easy_table(n=60, *, seed=1, binary=False):
    """Return a table whose judge cannot rank three candidates and always rejects a fourth, named bad."""
    rng = np.random.default_rng(seed)
    scores, labels = rng.uniform(0.4, 1, (n, 4)), rng.uniform(0.6, 1, (n, 4))
    if binary:
        labels = (labels > 0.62).astype(float)
    scores[:, 3], labels[:, 3] = 0.1, 0.0
    names = np.tile(["a", "b", "c", "bad"], n)
    prompts = np.repeat([f"p{x:03d}" for x in range(n)], 4)
    columns = {"prompt_id": prompts, "candidate": names}
    return pd.DataFrame({**columns, "judge_score": scores.ravel(), "oracle_label": labels.ravel()})


def good_table(n, *, seed=2):
    """Return a table without an easy candidate that its judge ranks almost perfectly."""
    frame = cohort(n, seed)
    noise = np.random.default_rng(seed).standard_normal(len(frame))
    return frame.assign(judge_score=(frame["oracle_label"] + 0.05 * noise).clip(0, 1))


def only_gate(found, metric="recovery", value=0.2):
    """Check one gate of one judge."""
    (gate,) = found.check({metric: value}).gates
    return gate


@pytest.mark.parametrize("binary", [False, True])
def test_an_unnamed_easy_candidate_makes_no_judge_useful(binary):
    """The verdict and every gate stay open, and the sentence names the candidate, both figures and both flags."""
    frame = easy_table(binary=binary)
    found, left_out, kept = (bw.audit(frame, **named) for named in ({}, {"control": "bad"}, {"keep_easy": "bad"}))
    assert kept.verdict.level == "useful"
    assert found.verdict.level == "inconclusive"
    assert (left_out["recovery"].estimate or 0.0) < 0.5 < found["recovery"].low
    answer = found.verdict.sentences[0]
    for words in ("'bad'", "lowest label", "--control bad", "--keep-easy bad", "the gate is 50%"):
        assert words in answer
    (suspicion,) = found.suspicions
    assert (suspicion.kind, suspicion.candidate, suspicion.lowest) == ("easy candidate", "bad", 1.0)
    for record, expected in ((suspicion.with_candidate, found), (suspicion.without_candidate, left_out)):
        assert record.estimate == expected["recovery"].estimate
        assert (record.low, record.high) == (expected["recovery"].low, expected["recovery"].high)
    for metric in ("recovery", "within_r", "global_r", "gain"):
        value = found[metric].estimate / 4
        assert only_gate(kept, metric, value).state == "met"
        assert only_gate(found, metric, value).state == "inconclusive"
        assert "--control bad" in only_gate(found, metric, value).sentence


def test_figures_do_not_depend_on_what_is_suspected():
    """An easy candidate that is kept changes no figure, and the settings say that it was kept."""
    frame = easy_table()
    found, kept = bw.audit(frame).to_dict(), bw.audit(frame, keep_easy=["bad"]).to_dict()
    assert found["metrics"] == kept["metrics"]
    assert kept["settings"]["keep_easy"] == ["bad"]
    assert "suspicions" not in kept
    assert "keep_easy" not in found["settings"]


def test_no_check_passes_beside_an_open_verdict():
    """The table of the four levels agrees with the answer: nothing passes that an easy candidate carries."""
    found = bw.audit(easy_table())
    assert "pass" not in found.verdict.checks.values()
    assert bw.audit(easy_table(), keep_easy="bad").verdict.checks["decision"] == "pass"


def test_systems_are_compared_with_and_without_an_easy_one():
    """Of averages over prompts the answer shows the correlation with the easy candidate and without it."""
    frame = easy_table()
    assert bw.audit(frame, target="system", keep_easy="bad", thresholds={"level_bias": 1}).verdict.level == "useful"
    found = bw.audit(frame, target="system", thresholds={"level_bias": 1})
    assert found.verdict.level == "inconclusive"
    assert "The correlation over all cells is" in found.verdict.sentences[0]
    assert found.suspicions[0].metric == "global_r"


def test_a_weak_judge_stays_weak_and_a_gate_not_met_stays_so():
    """What an easy candidate raises and is still too low stays low; the candidate is named all the same."""
    frame = easy_table()
    found = bw.audit(frame, thresholds={"recovery_useful": 0.99})
    assert found.verdict.level == "weak"
    assert "'bad'" in found.verdict.opening[1]
    assert len(found.verdict.of_checks()) == 4
    assert found.verdict.sentences[found.verdict.deciding].startswith("The picks recover")
    assert only_gate(found, value=0.99).state == "not met"


def test_an_open_gate_asks_for_no_labels_that_would_not_settle_it():
    """Between the bounds the easy candidate is what keeps a gate open, so no number of labels is named."""
    found = bw.audit(easy_table())
    gate = only_gate(found, value=found["recovery"].estimate + 1e-4)
    assert (gate.state, gate.more_labels) == ("inconclusive", None)
    assert "'bad'" in gate.sentence


@pytest.mark.parametrize(
    ("labels", "easy"),
    [
        ([[0.9, 0.5, 0.1]] * 20, ["c"]),
        ([[0.9, 0.5, 0.1], [0.5, 0.9, 0.1]] * 9 + [[0.1, 0.5, 0.9]] * 2, ["c"]),  # alone in 90 %
        ([[0.9, 0.5, 0.1], [0.5, 0.9, 0.1]] * 8 + [[0.1, 0.5, 0.9]] * 4, []),
        ([[1, 1, 0], [1, 0, 0], [0, 1, 0]] * 10, ["c"]),  # tied at the bottom in two prompts of three
        ([[1, 0, 0], [0, 1, 0], [0, 0, 1]] * 10, []),
        ([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]] * 10, []),  # the others are as low in two prompts of three
        ([[1, 1, 0, 0], [1, 1, 0, 0], [1, 0, 0, 0]] * 10, ["c", "d"]),
        ([[0.9, 0.1]] * 20, []),
        ([[0.5, 0.5, 0.5]] * 20, []),
    ],
)
def test_an_easy_candidate_is_worst_almost_everywhere(labels, easy):
    """Of three or more, one is easy that is alone at the bottom in 90 %, or there where labels differ in 95 %."""
    rows = [(f"p{x}", "abcd"[i], 0.5, label) for x, pool in enumerate(labels) for i, label in enumerate(pool)]
    frame = pd.DataFrame(rows, columns=["prompt_id", "candidate", "judge_score", "oracle_label"])
    (panel,) = lay_out(ScoreTable.from_frame(frame.astype({"oracle_label": float})))
    assert [one.name for one in easy_of_panel(panel)] == easy


@pytest.mark.parametrize("seed", range(20))
def test_candidates_alike_are_not_suspected(seed):
    """Tables whose candidates are drawn alike, from ties everywhere to none, hold no easy candidate."""
    rng = np.random.default_rng(seed)
    labels = rng.random((40, 5))
    labels = labels if seed % 2 else (labels > rng.uniform(0.1, 0.9)).astype(float)
    rows = [(f"p{x}", "abcde"[i], 0.5, label) for x, pool in enumerate(labels) for i, label in enumerate(pool)]
    frame = pd.DataFrame(rows, columns=["prompt_id", "candidate", "judge_score", "oracle_label"])
    (panel,) = lay_out(ScoreTable.from_frame(frame))
    assert easy_of_panel(panel) == ()


@pytest.mark.parametrize(("pools", "level"), [(19, "inconclusive"), (60, "useful")])
def test_fewer_than_20_pools_settle_nothing(pools, level):
    """A judge that recovers nearly everything is useful once the pools are worth 20, and a gate can be met."""
    found = bw.audit(good_table(pools))
    assert parts(found).judges["judge"].metrics["recovery"].law.at(0.95)[0] > 0.5
    assert found.verdict.level == level
    assert only_gate(found).state == ("met" if level == "useful" else "inconclusive")
    assert ("only 19 prompts are labelled completely" in found.verdict.sentences[0]) == (pools == 19)


def test_missing_labels_without_a_design_settle_nothing():
    """The sentence says how many labels are missing and which flag states the design; stated, the judge is useful."""
    frame = good_table(100)
    frame.loc[frame.index[-4 * 40 :], "oracle_label"] = np.nan
    found = bw.audit(frame)
    assert found["recovery"].low > 0.5
    assert found.verdict.level == "inconclusive"
    answer = found.verdict.sentences[0]
    assert "160 of 400 labels are missing" in answer
    assert "--design uniform" in answer
    assert only_gate(found).state == "inconclusive"
    stated = bw.audit(frame, design="uniform")
    assert (stated.verdict.level, only_gate(stated).state) == ("useful", "met")


def test_metrics_without_labels_lack_none():
    """A gate on ties rests on every prompt, so missing labels leave it as it was; an easy candidate does not."""
    frame = cohort(100, unlabelled=40)
    found = bw.audit(frame)
    assert only_gate(found, "tie_rate", found["tie_rate"].estimate / 2).state == "met"
    ties = easy_table()
    ties["judge_score"] = ties["judge_score"].round(1)
    assert only_gate(bw.audit(ties), "tie_rate", 0.0001).state == "inconclusive"


def test_a_sample_of_prompts_shows_both_figures():
    """Where prompts were drawn for labelling, the figure without the candidate is the one that a control gives."""
    frame = easy_table(200)
    unlabelled = [f"p{x:03d}" for x in range(0, 200, 2)]
    frame.loc[frame["prompt_id"].isin(unlabelled), "oracle_label"] = np.nan
    (suspicion,) = bw.audit(frame, design="uniform").suspicions
    left_out = bw.audit(frame, design="uniform", control="bad")
    assert suspicion.without_candidate.estimate == left_out["recovery"].estimate


def test_labels_of_single_candidates_name_the_easy_one_by_its_scores(tmp_path):
    """No pool is labelled whole, so scores tell which candidate is easy, and the gate on gain stays open."""
    frame = easy_table(120)
    drawn = draw_labels(frame, labels=160, design="pair", seed=1)
    drawn.write(tmp_path / "todo.csv", sheet=tmp_path / "sheet.csv")
    asked = pd.read_csv(tmp_path / "sheet.csv")[["prompt_id", "candidate"]]
    truth = frame.set_index(["prompt_id", "candidate"])["oracle_label"]
    labels = asked.assign(oracle_label=[truth[tuple(pair)] for pair in asked.itertuples(index=False)])
    scores = frame.drop(columns="oracle_label")
    given = {"labels": labels, "design": tmp_path / "todo.csv"}
    found, kept = bw.audit(scores, **given), bw.audit(scores, **given, keep_easy="bad")
    assert only_gate(kept, "gain", 0.0).state == "met"
    assert only_gate(found, "gain", 0.0).state == "inconclusive"
    assert found.suspicions[0].sentence.startswith("Candidate 'bad' has the lowest score")


def test_logged_picks_name_the_easy_candidate_too(tmp_path):
    """Picks among all candidates are no better: the sentence says to pick again, because none can be left out."""
    frame = easy_table()
    path = logged(tmp_path / "picks.jsonl", greedy_lines(frame))
    found, kept = (bw.audit(path, labels=labels_of(frame), keep_easy=names) for names in ((), "bad"))
    assert (found.verdict.level, kept.verdict.level) == ("inconclusive", "useful")
    answer = found.verdict.sentences[0]
    assert "Pick again without it" in answer
    assert "--keep-easy bad" in answer
    assert "--control" not in answer


def test_each_of_several_judges_has_its_own_figures():
    """The easy candidate is the same for all judges, what it does to them is not."""
    frame = easy_table()
    other = frame.assign(judge="better", judge_score=0.9 * frame["oracle_label"])
    found = bw.audit(pd.concat([frame.assign(judge="first"), other], ignore_index=True))
    without = {name: judge.suspicions[0].without_candidate.estimate for name, judge in found.judges.items()}
    assert without["first"] < 0.5
    assert without["better"] == pytest.approx(1)
    assert {judge.verdict.level for judge in found.judges.values()} == {"inconclusive"}
    assert "0 of 2 judges are useful" in " ".join(str(found).split())
    assert not any(judge.suspicions for judge in bw.audit(two_judges(60)).judges.values())


def test_every_output_says_the_same(capsys, tmp_path):
    """Exit code, terminal, page, Markdown, JUnit and JSON of one audit say that nothing is settled, and why."""
    easy_table().to_csv(tmp_path / "scores.csv", index=False)
    asked = ("audit", tmp_path / "scores.csv", "--fail-under", "recovery=0.5")
    outputs = [tmp_path / name for name in ("page.html", "audit.md", "junit.xml", "audit.json")]
    flags = [
        word for pair in zip(("--html", "--markdown", "--junit", "--json"), outputs, strict=True) for word in pair
    ]
    done = typed(capsys, *asked, *flags)
    assert done.code == 3
    page, markdown, junit, document = (path.read_text("utf-8") for path in outputs)
    for text in (done.out, page, markdown.replace("\\", "")):
        joined = " ".join(text.split())
        assert "not settled whether" in joined
        assert "keep-easy bad" in joined
        assert "This judge is useful for" not in joined
    assert 'failures="0" errors="1"' in junit
    assert strict(document)["verdict"]["level"] == "inconclusive"
    assert [*strict(document)][-1] == "suspicions"
    assert bw.load(tmp_path / "audit.json").judges["judge"].suspicions[0].candidate == "bad"
    assert typed(capsys, *asked, "--keep-easy", "bad").code == 0
    assert typed(capsys, *asked, "--control", "bad").code == 1
    kept = typed(capsys, *asked, "--keep-easy", "bad").out
    assert "counted like any other: bad" in kept


def test_the_doctor_suspects_what_keeps_a_verdict_open(capsys, tmp_path):
    """Each of the three is named by the doctor in the words of the audit."""
    easy_table(15).to_csv(tmp_path / "scores.csv", index=False)
    said = strict(typed(capsys, "doctor", tmp_path / "scores.csv", "--json", "-").out)["suspicious"]
    assert any("--keep-easy bad" in sentence for sentence in said)
    assert "Only 15 prompts are labelled completely, and a verdict needs 20. Label more prompts." in said
    cohort(60, unlabelled=20).to_csv(tmp_path / "few.csv", index=False)
    (sentence,) = strict(typed(capsys, "doctor", tmp_path / "few.csv", "--json", "-").out)["suspicious"]
    assert "--design" in sentence


@pytest.mark.parametrize("named", [{"control": "bad"}, {"exclude": "bad"}])
def test_a_candidate_is_not_kept_and_left_out(named):
    """A name that is kept and left out is refused, and so is one that no candidate has."""
    with pytest.raises(UsageError, match="'bad' is left out and kept"):
        bw.audit(easy_table(), keep_easy="bad", **named)
    with pytest.raises(UsageError, match="no candidate named 'worse' to keep"):
        bw.audit(easy_table(), keep_easy="worse")


def test_the_arena_sample_is_not_carried_by_its_control(shared):
    """The real sample reads useful (66 %) with a deliberately bad candidate, and 21 % without it."""
    found = bw.audit(shared / "data" / "arena100" / "scores.csv")
    assert found.verdict.level == "inconclusive"
    (suspicion,) = found.suspicions
    assert suspicion.candidate == "unhelpful"
    assert suspicion.with_candidate.estimate == pytest.approx(0.6564, abs=1e-3)
    assert suspicion.without_candidate.estimate == pytest.approx(0.2126, abs=1e-4)
    assert json.loads(json.dumps(found.to_dict()))["suspicions"][0]["candidate"] == "unhelpful"


def test_a_monitor_settles_nothing_beside_an_easy_candidate(capsys, tmp_path):
    """What the rule says stays, but an unnamed easy candidate is named and the exit code is 3."""
    easy_table(220).to_csv(tmp_path / "labels.csv", index=False)
    asked = ("monitor", tmp_path / "labels.csv", "--significance")
    found = typed(capsys, *asked, "--json", tmp_path / "m.json")
    document = strict((tmp_path / "m.json").read_text("utf-8"))
    assert (found.code, document["verdict"], [*document][-1]) == (3, "stop: better", "suspicions")
    assert "--keep-easy bad" in " ".join(found.out.split())
    kept = typed(capsys, *asked, "--keep-easy", "bad", "--json", "-")
    assert kept.code == 0
    assert strict(kept.out)["looks"] == document["looks"]
    assert strict(kept.out)["settings"]["keep_easy"] == ["bad"]
    left_out = strict(typed(capsys, *asked, "--control", "bad", "--json", "-").out)
    assert left_out["looks"] == strict(typed(capsys, *asked, "--exclude", "bad", "--json", "-").out)["looks"]
    assert "suspicions" not in left_out
    easy_table(50).to_csv(tmp_path / "early.csv", index=False)
    early = strict(typed(capsys, "monitor", tmp_path / "early.csv", "--significance", "--json", "-").out)
    assert "suspicions" not in early
    assert typed(capsys, *asked, "--control", "bad", "--keep-easy", "bad").code == 2
    votes = ("--question", "preference", "--verdict-col", "judge_score", "--keep-easy", "bad")
    assert "means nothing for preference" in typed(capsys, "monitor", tmp_path / "labels.csv", *votes).err


# Outstanding candidates, at both ends.


def long_table(scores, labels, names):
    """Lay out scores and labels, (prompts, candidates), as a long table."""
    prompts = np.repeat([f"p{x:03d}" for x in range(len(labels))], len(names))
    columns = {"prompt_id": prompts, "candidate": np.tile(names, len(labels))}
    return pd.DataFrame({**columns, "judge_score": scores.ravel(), "oracle_label": labels.ravel()})


def alike(n, candidates, seed, skill=0.75):
    """Return a table of exchangeable candidates and a judge whose scores follow the labels."""
    labels, noise = np.random.default_rng(seed).standard_normal((2, n, candidates))
    return long_table(skill * labels + (1 - skill**2) ** 0.5 * noise, labels, [f"c{x}" for x in range(candidates)])


def with_humans(n, seed, *, humans=2, candidates=6, gap=2.5, skill=0.45, sign=1):
    """Return a table whose judge tells human answers, better by `gap`, from systems that it hardly tells apart."""
    rng = np.random.default_rng(seed)
    labels, noise = rng.standard_normal((2, n, candidates))
    labels[:, :humans] = gap + 0.6 * labels[:, :humans]
    scores = skill * labels + (1 - skill**2) ** 0.5 * noise
    scores[:, :humans] = labels[:, :humans] + 0.8 * noise[:, :humans] - 0.3
    names = [f"human {x}" for x in range(humans)] + [f"system {x}" for x in range(candidates - humans)]
    return long_table(sign * scores, sign * labels, names)


def opened(frame):
    """Return whether the judge is useful with all candidates, and whether outstanding ones open the verdict."""
    kept = bw.audit(frame, keep_easy=sorted(set(frame["candidate"])))
    suspicions = bw.audit(frame).suspicions or []
    return kept.verdict.level == "useful", any(one.kind == "outstanding candidates" for one in suspicions)


def groups_of(labels, names="abcdefgh"):
    """Return the outstanding groups of some pools of labels, None where a candidate is not there."""
    rows = [
        (f"p{x}", names[i], 0.5, label)
        for x, pool in enumerate(labels)
        for i, label in enumerate(pool)
        if label is not None
    ]
    frame = pd.DataFrame(rows, columns=["prompt_id", "candidate", "judge_score", "oracle_label"])
    (panel,) = lay_out(ScoreTable.from_frame(frame.astype({"oracle_label": float})), shape="ragged")
    return {("".join(one.names), one.end): one.held for one in outstanding_groups(panel)}


TURNS = [[9, 1, 2, 3], [9, 2, 3, 1], [9, 3, 1, 2]]
"""Pools in which a is the best, and the others change places."""


@pytest.mark.parametrize(
    ("labels", "groups"),
    [
        (TURNS, {("a", "best"): 1.0}),
        ([[-one for one in pool] for pool in TURNS], {("a", "lowest"): 1.0}),
        ([*TURNS, [0, 1, 3, 2], [0, 2, 1, 3]], {("a", "best"): 0.6}),
        ([*TURNS, [3, 9, 2, 1], [2, 1, 9, 3], [1, 2, 3, 9]], {}),  # half
        ([*TURNS, [9, 9, 1, 2], [9, 2, 9, 1], [9, 1, 2, 9]], {}),  # a tie belongs to nobody
        ([pool[:3] for pool in TURNS], {}),  # two candidates would remain
        ([[9, 8, 1, 2, 3], [8, 9, 2, 3, 1], [9, 8, 3, 1, 2], [8, 9, 1, 3, 2]], {("ab", "best"): 1.0}),
        ([[9, 9, 1, 2, 3], [9, 9, 2, 3, 1], [9, 9, 3, 1, 2]], {("ab", "best"): 1.0}),  # they tie each other alone
        (
            [[9, 8, 7, 1, 2, 3], [7, 9, 8, 3, 1, 2], [8, 7, 9, 2, 3, 1]],
            {("abc", "best"): 1.0, ("def", "lowest"): 1.0},
        ),
        # Of six, three hold the best label in two thirds of prompts: less than 1.5 times one half.
        ([[9, 8, 7, 1, 2, 3], [7, 9, 8, 3, 1, 2], [8, 7, 9, 2, 3, 1], [8, 7, 9, 2, 1, 3], [1, 2, 3, 9, 8, 7]] * 2
         + [[1, 3, 2, 8, 7, 9], [3, 2, 1, 7, 9, 8]], {}),
        # Two of five in three prompts of five: .6, which is 1.5 times chance.
        (
            [[9, 8, 1, 2, 3], [8, 9, 2, 3, 1], [9, 8, 3, 1, 2], [2, 1, 3, 9, 4], [1, 2, 9, 4, 3]],
            {("ab", "best"): 0.6},
        ),
        # Of two that hold it together one is second in half of the prompts alone.
        ([[9, 8, 1, 2, 3], [9, 1, 8, 3, 2], [9, 8, 3, 1, 2], [9, 2, 3, 1, 8]], {("a", "best"): 1.0}),
    ],
)  # fmt: skip
def test_a_group_is_outstanding_that_alone_holds_an_end(labels, groups):
    """In .6 of the prompts or 1.5 times chance, each member in .6 without the others; ties belong to nobody."""
    assert groups_of(labels) == pytest.approx(groups)


def test_names_in_few_prompts_are_not_searched():
    """A group counts where all its members stand, in half of the prompts or more, and three others with them."""
    here, gone = TURNS * 2, [[None, 3, 1, 2, 5], [None, 1, 3, 5, 2], [None, 5, 2, 1, 3]]
    assert groups_of(here + gone * 2)[("a", "best")] == 1.0
    assert ("a", "best") not in groups_of(here + gone * 3)
    pairs = [[9, 1, 2, None, None], [9, 2, 1, None, None]]
    assert groups_of([*TURNS, *pairs])[("a", "best")] == 1.0
    assert groups_of([*TURNS, *pairs * 2]) == {}


@pytest.mark.parametrize("seed", range(30))
def test_groups_are_those_of_plain_loops(seed):
    """Pools of every size, with ties and names that are not everywhere: each group of one to three by itself."""
    rng = np.random.default_rng(seed)
    pools, best = [], np.arange(6) < 1 + seed % 3
    for _ in range(20):
        pool = (rng.integers(0, 5, 6) + (2 + seed % 2) * best - 3 * (np.arange(6) > 4 - seed % 2)).tolist()
        pools.append([None if rng.random() < 0.1 else value for value in pool])
    pools = [pool for pool in pools if sum(value is not None for value in pool) > 1]
    expected = {}
    for end, sign in (("best", 1), ("lowest", -1)):
        for size in (1, 2, 3):
            for group in itertools.combinations(range(6), size):
                there = [
                    [None if value is None else sign * value for value in pool]
                    for pool in pools
                    if all(pool[i] is not None for i in group) and 6 - pool.count(None) - size >= 3
                ]
                if len(there) < len(pools) / 2:
                    continue
                rests = [max(v for i, v in enumerate(pool) if v is not None and i not in group) for pool in there]
                alone = [np.mean([pool[i] > rest for pool, rest in zip(there, rests, strict=True)]) for i in group]
                held = np.mean([max(pool[i] for i in group) > rest for pool, rest in zip(there, rests, strict=True)])
                chance = np.mean([size / (6 - pool.count(None)) for pool in there])
                if held >= max(0.6, 1.5 * chance - 1e-9) and min(alone) >= 0.6:
                    expected["".join("abcdef"[i] for i in group), end] = held
    assert groups_of(pools) == pytest.approx(expected)


def test_exchangeable_candidates_open_nothing():
    """Of 40 tables with 4 to 8 candidates that are alike none is opened, although the judge is useful in most."""
    found = [opened(alike(60, 4 + seed % 5, seed)) for seed in range(40)]
    assert sum(useful for useful, _ in found) >= 30
    assert not any(by_group for _, by_group in found)


@pytest.mark.parametrize("humans", [1, 2])
def test_human_answers_that_carry_the_approval_open_it(humans):
    """Of 12 tables whose judge tells systems hardly apart most approvals are opened."""
    found = [opened(with_humans(60, seed, humans=humans, candidates=4 + humans)) for seed in range(12)]
    useful = [by_group for useful, by_group in found if useful]
    assert len(useful) >= 10
    assert sum(useful) >= 0.9 * len(useful)


@pytest.mark.slow
@pytest.mark.parametrize("candidates", [4, 5, 6, 8])
def test_exchangeable_candidates_open_nothing_in_many_tables(candidates):
    """Over 300 tables of each size nothing is opened."""
    found = [opened(alike(60, candidates, seed)) for seed in range(300)]
    assert sum(useful for useful, _ in found) >= 200
    assert sum(by_group for _, by_group in found) == 0


@pytest.mark.slow
@pytest.mark.parametrize(("humans", "candidates"), [(1, 5), (2, 5), (2, 6)])
def test_human_answers_open_most_of_many_approvals(humans, candidates):
    """Over 100 tables nine approvals in ten are opened; a better model under a good judge seldom opens one."""
    found = [opened(with_humans(60, seed, humans=humans, candidates=candidates)) for seed in range(100)]
    useful = [by_group for useful, by_group in found if useful]
    assert sum(useful) >= 0.9 * len(useful) > 60
    good = [opened(with_humans(60, seed, humans=1, candidates=6, gap=1.5, skill=0.75)) for seed in range(100)]
    assert sum(by_group for _, by_group in good) <= 10


def test_a_verdict_that_humans_carry_is_open(capsys, tmp_path):
    """The answer names them, both figures and both flags; each flag settles it, once all members are named."""
    frame = with_humans(60, 3)
    frame.to_csv(tmp_path / "scores.csv", index=False)
    names = ["human 0", "human 1"]
    found, left_out, kept = (bw.audit(frame, **named) for named in ({}, {"control": names}, {"keep_easy": names}))
    assert (found.verdict.level, kept.verdict.level) == ("inconclusive", "useful")
    assert left_out.verdict.level != "useful"
    assert bw.audit(frame, keep_easy="human 0").verdict.level == "inconclusive"
    assert kept["recovery"] == found["recovery"]
    (one,) = found.suspicions
    assert (one.kind, one.candidates, one.end, one.candidate) == ("outstanding candidates", names, "best", None)
    assert one.without_candidate == left_out["recovery"]
    answer = found.verdict.sentences[0]
    assert "it is useful with 'human 0' and 'human 1', not settled without. Recovery is " in answer
    assert f"[{100 * found['recovery'].low:.0f}%, " in answer
    assert "--control 'human 0' --control 'human 1' leave them out" in answer
    assert "pass" not in found.verdict.checks.values()
    asked = (
        "audit",
        tmp_path / "scores.csv",
        "--fail-under",
        "recovery=0.5",
        "--html",
        tmp_path / "a.html",
        "--force",
    )
    done = typed(capsys, *asked)
    assert done.code == 3
    assert "bonwise audit" in done.out.splitlines()[-1]
    assert done.out.splitlines()[-1].endswith("--control 'human 0' --control 'human 1'")
    page = (tmp_path / "a.html").read_text("utf-8")
    assert "with human 0 and human 1" in page
    assert "without human 0 and human 1" in page
    flags = [word for name in names for word in ("--keep-easy", name)]
    assert typed(capsys, *asked, *flags).code == 0
    assert typed(capsys, *asked, *[word for name in names for word in ("--control", name)]).code in (1, 3)


def test_a_gate_asks_at_its_own_value():
    """A gate that passes with the humans and without them is met beside an open verdict, at whatever metric."""
    found = bw.audit(with_humans(60, 3))
    without = found.suspicions[0].without_candidate
    assert only_gate(found, value=0.5).state == "inconclusive"
    assert "and recovery is" in only_gate(found, value=0.5).sentence
    assert only_gate(found, value=without.low - 0.2).state == "met"
    assert only_gate(found, "within_r", 0.1).state == "met"
    assert only_gate(found, value=0.99).state == "not met"


def test_outstanding_candidates_that_carry_nothing_are_one_sentence():
    """A good judge stays useful, a weak one weak, and the second sentence says what holds an end."""
    frame = with_humans(60, 3, skill=0.95)
    found = bw.audit(frame)
    assert (found.verdict.level, found.suspicions) == ("useful", None)
    assert found.verdict.opening[1].startswith("Candidates 'human 0' and 'human 1' alone have the best label in ")
    assert only_gate(found).state == "met"
    worst = bw.audit(with_humans(60, 3, skill=0.95, humans=1, sign=-1, gap=1.6))
    assert worst.verdict.opening[1].startswith("Candidate 'human 0' alone has the lowest label in ")
    weak = bw.audit(frame, thresholds={"recovery_useful": 0.999})
    assert weak.verdict.level == "weak"
    assert len(weak.verdict.of_checks()) == 4
    assert "'human 0'" in weak.verdict.opening[1]
    assert weak.verdict.sentences[weak.verdict.deciding].startswith("The picks recover")


def test_outstanding_picks_and_systems(tmp_path):
    """Of picks nothing can be left out, so it is a sentence; whole systems rest on their own figure."""
    frame = with_humans(60, 3)
    path = logged(tmp_path / "picks.jsonl", greedy_lines(frame))
    found = bw.audit(path, labels=labels_of(frame))
    assert found.suspicions is None
    assert "alone have the best label" in found.verdict.opening[1]
    systems = bw.audit(frame, target="system", thresholds={"level_bias": 9, "global_r": 0.6})
    (one,) = systems.suspicions
    assert one.metric == "global_r"
    assert "The correlation over all cells is" in systems.verdict.sentences[0]


def test_the_shared_dialogues_name_the_human_answers(shared):
    """Five pools of UniEval on Topical-Chat, two human answers in each: names and recoveries are as expected."""
    rows = json.loads((shared / "data" / "shapes" / "nested_scores.json").read_text("utf-8"))
    expected = json.loads((shared / "data" / "shapes" / "expected.json").read_text("utf-8"))["nested_scores.json"]
    frame = pd.DataFrame(
        {
            "prompt_id": row["source"],
            "candidate": row["system_id"],
            "judge_score": row["predict_scores"]["overall"],
            "oracle_label": row["scores"]["overall"],
        }
        for row in rows
    )
    audit = bw.audit(frame)
    (few,) = audit.suspicions
    assert few.kind == "few pools"
    assert audit["recovery"].estimate == pytest.approx(expected["all"]["recovery"], abs=1e-6)
    sentence = next(text for text in audit.verdict.sentences if "have the best label" in text)
    assert all(name in sentence for name in expected["outstanding"])
    assert f"and {expected['without_outstanding']['recovery']:.0%} [" in sentence


def test_other_gates_on_the_page_ask_again():
    """The slider of gates leaves the verdict open only where the humans carry it, and that of labels says so."""
    audit = bw.audit(with_humans(60, 3))
    rests_on = parts(audit)
    found = what_if(rests_on.judges, rests_on.settings, source="this")
    levels = {round(step.gate, 2): step.level for step in found.gate.steps}
    assert (levels[0.0], levels[0.5], levels[1.0]) == ("useful", "inconclusive", "weak")
    now = found.labels.steps[found.labels.current]
    assert now.level == "inconclusive"
    assert "It stays open: candidates 'human 0' and 'human 1'" in now.sentence


def test_the_doctor_and_the_monitor_name_them(capsys, tmp_path):
    """The doctor shows both recoveries; a stop that holds only with the humans exits with code 3."""
    frame = with_humans(260, 5, skill=0.2)
    frame.to_csv(tmp_path / "labels.csv", index=False)
    (said,) = strict(typed(capsys, "doctor", tmp_path / "labels.csv", "--json", "-").out)["suspicious"]
    assert said.startswith("Candidates 'human 0' and 'human 1' alone have the best label in ")
    assert "% without them, " in said
    asked = ("monitor", tmp_path / "labels.csv", "--significance", "--than", "0.5")
    found = typed(capsys, *asked)
    assert found.code == 3
    assert "better with 'human 0' and 'human 1', not without (recovery " in " ".join(found.out.split())
    kept = typed(capsys, *asked, "--keep-easy", "human 0", "--keep-easy", "human 1")
    assert kept.code == 0
    assert "not without" not in kept.out
    lower = typed(capsys, *asked[:-1], "0.01")
    assert lower.code == 0
    assert "'human 1' alone have the best label" in " ".join(lower.out.split())


@pytest.mark.parametrize(
    ("high", "answer"),
    [(-0.001, "harmful"), (0.0, "weak"), (0.499, "weak"), (0.5, "not settled"), (0.7, "not settled")],
)
def test_what_a_judge_is_without_the_outstanding_by_its_upper_bound(high, answer):
    """Below 0 it is harmful, from 0 to below the gate weak; at the gate and above it is not settled."""
    group = OutstandingGroup(("human",), "best", 0.8, 0.25)
    with_it, without_it = (Estimate(end - 0.2, end - 0.4, end, 0.1, 99, "fieller") for end in (0.9, high))
    suspected = of_outstanding(group, "recovery", 0.5, with_it=with_it, without_it=without_it)
    assert suspected.answer == f"it is useful with 'human', {answer} without"
