"""Audits in passes: figures are those of the table in memory, and nothing is left behind."""

import os
import signal
import subprocess
import sys
import time
from unittest.mock import patch

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bonwise as bw
from auditing.tables import table
from bonwise.errors import BonwiseError, InputError, UsageError
from bonwise.stats import swept
from bonwise.table import batches
from bonwise.table.scales import Scale

NOT_IN_PASSES = ("level_bias", "unscored_cost")


def pools(seed, *, judges=1, clusters=False, lost=0.0, unlabelled=0.0, prompts=40, tails=0.0):
    """Return a random table with ties, values of 0.0 and -0.0, pools of different sizes, and labels with tails."""
    rng, rows = np.random.default_rng(seed), []
    for at in range(prompts):
        size, bare = int(rng.integers(2, 5)) if seed % 2 else 3, rng.random() < unlabelled
        labels = rng.integers(0, 3, size) / 2
        if tails:
            labels = np.round(rng.standard_t(3, size) * tails, 2)
        for judge in range(judges):
            scores = np.round((labels + rng.random(size)) / 2, 1)
            scores[scores < 0.1] *= rng.choice([-1.0, 1.0])
            scores[rng.random(size) < lost] = np.nan
            rows += [
                {"prompt_id": f"p{at}", "candidate": f"c{place}", "judge": f"j{judge}", "judge_score": score}
                | {"oracle_label": np.nan if bare else label}
                | ({"cluster": f"k{at % 9}"} if clusters else {})
                for place, (score, label) in enumerate(zip(scores, labels, strict=True))
            ]
    return pd.DataFrame(rows)


def close(first, second, where):
    """Assert that two records hold the same, numbers but for rounding."""
    assert first.keys() == second.keys(), where
    for key, value in first.items():
        if isinstance(value, float):
            # Effective prompts of global_r rest on roots of squares that are 0 but for rounding.
            rel = 1e-7 if key == "effective_n" else 1e-9
            assert second[key] == pytest.approx(value, rel=rel, abs=1e-9), (where, key)
        else:
            assert value == second[key], (where, key)


def alike(whole, passed):
    """Assert that an audit in passes holds the figures of the table in memory."""
    assert whole.judges.keys() == passed.judges.keys()
    for name, judge in whole.judges.items():
        other = passed.judges[name]
        for metric, figure in judge.metrics.items():
            if metric not in NOT_IN_PASSES:
                close(figure.to_dict(), other.metrics[metric].to_dict(), (name, metric))
        assert judge.verdict.level == other.verdict.level
        for key in ("prompts", "candidates", "rows", "labelled_prompts", "clusters"):
            assert getattr(judge.data, key) == getattr(other.data, key), key
        if len(whole.judges) == 1:
            assert len(judge.data.dropped) == sum((other.data.dropped_by_reason or {}).values())
    for pair, other in zip(whole.comparisons, passed.comparisons, strict=True):
        for metric, figure in pair.differences.items():
            if metric not in NOT_IN_PASSES:
                close(figure.to_dict(), other.differences[metric].to_dict(), (pair.first, metric))
    for metric, choice in whole.choice.items():
        # Of 20,000 draws: of influences that nothing moves the draws are others.
        drawn = passed.choice[metric].confidences.to_dict()
        assert drawn == pytest.approx(choice.confidences.to_dict(), abs=0.01)


CASES = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 999),
        "judges": st.integers(1, 3),
        "clusters": st.booleans(),
        "lost": st.sampled_from([0.0, 0.1]),
        "unlabelled": st.sampled_from([0.0, 0.04, 0.4]),
        "tails": st.sampled_from([0.0, 7.0]),
    }
)


@given(case=CASES, rows=st.sampled_from([7, 64, 1 << 17]), held=st.sampled_from([5, 100_000]))
@settings(max_examples=25, deadline=None)
def test_figures_are_those_of_the_table_in_memory(case, rows, held):
    """Whether sums of prompts are held or swept, in batches of any size."""
    frame = pools(**case)
    with patch.object(swept, "HELD", held), patch.object(batches, "_ROWS", rows):
        try:
            whole = bw.audit(frame)
        except InputError:
            with pytest.raises(InputError):
                bw.audit(frame, in_passes=True)
            return
        alike(whole, bw.audit(frame, in_passes=True))


@pytest.mark.parametrize("held", [1, 100_000])
def test_golden_table_by_hand(held):
    """Of 30 prompts 20 picks gain all of 1/2, 5 half of it by a tie, 5 lose it: recovery is (10 - 2.5) / 15."""
    right, tied, wrong = ([0.9, 0.1], [1, 0]), ([0.5, 0.5], [1, 0]), ([0.1, 0.9], [1, 0])
    frame = table([right] * 20 + [tied] * 5 + [wrong] * 5)
    with patch.object(swept, "HELD", held):
        found = bw.audit(frame, in_passes=True)
    assert found["recovery"].estimate == pytest.approx(0.5)
    assert found["tie_rate"].estimate == pytest.approx(5 / 30)
    assert found["top1_accuracy"].estimate == pytest.approx(22.5 / 30)
    assert found["sign_agreement"].estimate == pytest.approx(0.8)
    assert found["value_judge"].estimate == pytest.approx(22.5 / 30)
    assert found["level_bias"].reason.startswith("in passes level_bias is not computed")


@pytest.mark.parametrize("held", [1, 100_000])
def test_differences_reach_to_prompts_on_which_the_two_differ_as_never_here(held):
    """Two judges differ by .5 or .4 on pools that allow 2, but for one that allows 50 and on which they agree."""
    rows = [([1.0, 0.5, 0.0], [1.5, 1.0, -0.5]), ([1.0, 0.5, 0.0], [1.4, 1.0, -0.6])] * 15
    frame = table([*rows, ([1.0, 1.0, 0.0], [1.0, 1.0, -49.0])])
    own = frame["judge_score"]
    other = own.replace({1.0: 0.5, 0.5: 1.0}).where(frame["prompt_id"] != "p030", own)
    both = pd.concat([frame.assign(judge="a"), frame.assign(judge="b", judge_score=other)]).sort_values("prompt_id")
    whole = bw.audit(both, keep_easy=["c0", "c1", "c2"])
    with patch.object(swept, "HELD", held):
        alike(whole, bw.audit(both, in_passes=True, keep_easy=["c0", "c1", "c2"]))
    (pair,) = whole.comparisons
    assert "3 prompts on which the two differ as much as a pool allows" in pair.differences["gain"].moved


def test_declared_scales_are_those_of_the_table_in_memory():
    """Scores and labels are brought to [0, 1] once."""
    frame = pools(3, judges=2).assign(judge_score=lambda rows: rows["judge_score"] * 4 + 1)
    scales = {"judge_scale": Scale(1, 5), "label_scale": Scale(0, 2)}
    whole, passed = bw.audit(frame, **scales), bw.audit(frame, in_passes=True, **scales)
    alike(whole, passed)
    assert (whole.settings.judge_scale, whole.settings.label_scale) == (
        passed.settings.judge_scale,
        passed.settings.label_scale,
    )
    with pytest.raises(InputError, match="off the declared scale"):
        bw.audit(frame, in_passes=True, judge_scale=Scale(1, 2), label_scale=Scale(0, 2))


def test_gates_are_decided_as_in_memory():
    """Gates at 0 ask labels that are dealt at random, also of sums that are swept."""
    frame = pools(3, judges=2, prompts=120)
    gates = {"gain": 0, "recovery": 0.3, "within_r": 0.2, "top1_accuracy": 0.9}
    whole = bw.audit(frame).check(gates)
    for held in (1, 100_000):
        with patch.object(swept, "HELD", held):
            passed = bw.audit(frame, in_passes=True).check(gates)
        assert [gate.sentence for gate in passed.gates] == [gate.sentence for gate in whole.gates]


def test_an_easy_candidate_is_found():
    """A verdict is left open in passes for the reasons for which it is in memory."""
    frame = table([([0.9, 0.8, 0.1], [1.0, 0.6, 0.0]), ([0.7, 0.9, 0.2], [0.6, 1.0, 0.0])] * 40)
    found = bw.audit(frame, in_passes=True)
    assert [one.kind for one in found.suspicions] == [one.kind for one in bw.audit(frame).suspicions]
    assert bw.audit(frame, in_passes=True, exclude=["c2"])["recovery"].estimate == pytest.approx(
        bw.audit(frame, exclude=["c2"])["recovery"].estimate
    )


def test_a_name_to_leave_out_has_to_be_there():
    """As in memory; the names that were left out stand in the settings."""
    frame = pools(2)
    assert bw.audit(frame, in_passes=True, exclude=["c2"]).settings.exclude == ["c2"]
    with pytest.raises(UsageError, match="no candidate named 'c9' to leave out"):
        bw.audit(frame, in_passes=True, exclude=["c9"])


def test_what_is_dropped_is_counted():
    """Prompts without other candidates, or without labels, are counted by reason."""
    frame = pools(2, prompts=60)
    frame = frame[~((frame["prompt_id"] == "p7") & (frame["candidate"] != "c0"))]
    frame.loc[frame["prompt_id"] == "p9", "oracle_label"] = np.nan
    found = bw.audit(frame, in_passes=True)
    assert found.data.dropped_by_reason == {"one candidate": 1, "unlabelled": 1}
    assert "dropped 2 prompts: " in str(found)


def test_the_code_of_passes_is_loaded_only_when_it_is_used(tmp_path):
    """A small file does not wait for it."""
    pools(2).to_csv(tmp_path / "t.csv", index=False)
    loaded = "print({'bonwise.auditing.passes', 'bonwise.table.batches', 'bonwise.stats.swept'} & {*sys.modules})"
    program = f"import sys, bonwise; bonwise.audit({str(tmp_path / 't.csv')!r}); {loaded}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


@pytest.fixture
def frame():
    """Return a table of two judges."""
    return pools(5, judges=2)


def test_files_folders_patterns_and_csv_are_one_table(tmp_path, frame):
    """A prompt may run over the end of a file."""
    whole, half = bw.audit(frame), len(frame) // 2
    frame[:half].to_parquet(tmp_path / "a.parquet", index=False)
    frame[half:].to_parquet(tmp_path / "b.parquet", index=False)
    alike(whole, bw.audit(tmp_path))
    alike(whole, bw.audit(str(tmp_path / "*.parquet")))
    frame.to_csv(tmp_path / "all.csv", index=False)
    alike(whole, bw.audit(tmp_path / "all.csv", in_passes=True))
    alike(whole, bw.audit(pa.Table.from_pandas(frame), in_passes=True))


def test_a_file_of_many_rows_is_passed_over_unasked(tmp_path, frame, monkeypatch):
    """The rule is the number of rows that are read at once."""
    frame.to_parquet(tmp_path / "big.parquet", index=False)
    monkeypatch.setenv("BONWISE_MOST_ROWS", str(len(frame) - 1))
    assert bw.audit(tmp_path / "big.parquet").settings.not_in_passes
    monkeypatch.setenv("BONWISE_MOST_ROWS", str(len(frame)))
    assert bw.audit(tmp_path / "big.parquet").settings.not_in_passes is None


def test_rows_that_stand_apart_are_sorted(frame):
    """Sorting on disk gives the same figures, and leaves nothing."""
    pytest.importorskip("duckdb")
    shuffled = frame.sample(frac=1.0, random_state=1)
    alike(bw.audit(frame), bw.audit(shuffled, in_passes=True))


def test_without_duckdb_rows_that_stand_apart_are_refused(frame):
    """The message says what to install."""
    shuffled = frame.sample(frac=1.0, random_state=1)
    with patch("bonwise.extras.find_spec", lambda name: None if name == "duckdb" else object()):  # noqa: SIM117
        with pytest.raises(BonwiseError, match=r"bonwise\[scale\]"):
            bw.audit(shuffled, in_passes=True)


SPILLING = """
import time
from bonwise.table.batches import spill_folder
with spill_folder() as folder:
    (folder / "rows").write_text("x")
    print(folder, flush=True)
    time.sleep(60)
"""


def gone(folder):
    """Tell whether a folder is gone within ten seconds."""
    deadline = time.monotonic() + 10
    while folder.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    return not folder.exists()


def test_nothing_is_left_of_a_process_that_is_killed(tmp_path):
    """Another process waits for the end of the one that spills, whatever it is."""
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, "-c", SPILLING], stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        line = process.stdout.readline()
        assert list(tmp_path.iterdir())
        process.send_signal(signal.SIGKILL)
    assert gone(tmp_path / os.path.basename(line.strip()))  # noqa: PTH119 - a name alone
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_left_of_a_run_that_ends():
    """The folder is there inside, and gone after."""
    with batches.spill_folder() as folder:
        assert folder.is_dir()
    assert gone(folder)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"judge_score": "many"}, "not a plain number"),
        ({"judge_score": "inf"}, "infinite"),
        ({"candidate": " "}, "no candidate"),
        ({"prompt_id": None}, "no prompt_id"),
        ({"candidate": "c1"}, "two scores of one judge"),
    ],
)
def test_rows_that_mean_nothing_are_refused(change, said):
    """In one line, as in memory."""
    frame = pools(2).astype(object).drop(columns="judge").astype({"judge_score": str})
    frame.loc[3, list(change)] = list(change.values())
    with pytest.raises(InputError, match=said):
        bw.audit(frame, in_passes=True)


def test_two_labels_and_two_clusters_are_refused(frame):
    """A candidate has one label, a prompt one cluster."""
    other = frame.copy()
    other.loc[0, "oracle_label"] = 7.0
    with pytest.raises(InputError, match="two different oracle labels"):
        bw.audit(other, in_passes=True)
    with pytest.raises(InputError, match="in two clusters"):
        bw.audit(frame.assign(cluster=["a", "b"] * (len(frame) // 2) + ["a"] * (len(frame) % 2)), in_passes=True)


@pytest.mark.parametrize(("others", "shape", "dropped"), [(6, "rectangular", 6), (7, "ragged", 0)])
def test_nine_tenths_with_the_same_candidates_make_a_rectangle(others, shape, dropped):
    """Of 60 prompts 54 are enough: the others are dropped; of 53 all are kept, as they are."""
    frame = pools(2, prompts=60)
    theirs = frame["prompt_id"].isin([f"p{at}" for at in range(others)]) & (frame["candidate"] == "c0")
    frame.loc[theirs, "candidate"] = "another"
    passed = bw.audit(frame, in_passes=True)
    assert passed.settings.shape == bw.audit(frame).settings.shape == shape
    reasons = passed.data.dropped_by_reason or {}
    assert reasons.get("other candidates than most prompts", 0) == sum(reasons.values()) == dropped


@pytest.mark.parametrize("role", ["draw", "propensity"])
def test_draws_and_propensities_are_not_possible_in_passes(frame, role):
    """A column that says so is refused by its name."""
    with pytest.raises(UsageError, match=f"{role} is not possible in passes"):
        bw.audit(frame.assign(**{role: 0.5 if role == "propensity" else 1}), in_passes=True)


@pytest.mark.parametrize(
    "asked", [{"control": ["c0"]}, {"interval": "bootstrap"}, {"unpicked": "drop"}, {"missing": [-1]}]
)
def test_what_is_not_possible_in_passes_is_refused(frame, asked):
    """Before anything is read."""
    with pytest.raises(UsageError, match="not possible in passes"):
        bw.audit(frame, in_passes=True, **asked)


def test_rows_of_prompts_need_the_table_in_memory(frame, tmp_path):
    """The page is that of the document."""
    found = bw.audit(frame, in_passes=True)
    with pytest.raises(UsageError, match="made in passes"):
        found.per_prompt()
    found.to_html(tmp_path / "page.html")
    assert "audited in passes" in (tmp_path / "page.html").read_text("utf-8")


def test_hashes_are_the_same_in_every_run():
    """Of texts of any length, and of parts of arrays."""
    words = ["", "a", "ab", "ba", "é" * 400, "x" * 256, "x" * 257]
    every = batches.hashes(words)
    assert len(set(every.tolist())) == len(words)
    assert batches.hashes(pa.array(words).slice(2)).tolist() == every[2:].tolist()
    assert batches.hashes(["p1"]).tolist() == [HASH_OF_P1]


HASH_OF_P1 = 9996473541565233661
