"""Stats files: parts of a table say together what the whole says; damaged and hostile ones are refused."""

import io
import json
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bonwise as bw
from auditing.test_passes import NOT_IN_PASSES, alike, pools
from bonwise.errors import FileError, InputError
from bonwise.stats import swept
from cli.commands import typed


def shards(folder, frame, owner, held=100_000):
    """Write the stats files of the parts of a table, the first of which fixes the scales."""
    files = []
    with patch.object(swept, "HELD", held):
        for part in sorted(set(owner.values())):
            target = folder / f"{part}.stats"
            rows = frame[frame["prompt_id"].map(owner) == part]
            bw.audit(rows, stats_out=target, like=files[0] if files else None)
            files.append(target)
        return files, bw.audit(files)


def owners(frame, seed, parts):
    """Give each prompt to a part; the first part has the ends of all values."""
    rng, prompts = np.random.default_rng(seed), frame["prompt_id"].unique()
    owner = dict(zip(prompts, rng.integers(0, parts, len(prompts)).tolist(), strict=True))
    for column in ("judge_score", "oracle_label"):
        for _, of_judge in frame.groupby("judge"):
            owner |= {
                of_judge.loc[at, "prompt_id"]: 0 for at in (of_judge[column].idxmin(), of_judge[column].idxmax())
            }
    return owner


@given(seed=st.integers(0, 999), judges=st.integers(1, 2), clusters=st.booleans(), parts=st.integers(2, 4))
@settings(max_examples=12, deadline=None)
def test_parts_say_what_the_whole_says(tmp_path_factory, seed, judges, clusters, parts):
    """However prompts and clusters are given to parts."""
    frame = pools(seed, judges=judges, clusters=clusters, lost=0.05)
    try:
        whole = bw.audit(frame)
        _, together = shards(tmp_path_factory.mktemp("parts"), frame, owners(frame, seed, parts))
    except InputError:
        return  # a part alone has other kinds of pools than the whole
    alike(whole, together)


def test_totals_and_products_say_what_the_whole_says(tmp_path):
    """Estimates agree to rounding; standard errors differ by less than the share that a prompt is of all."""
    frame = pools(4, judges=2, prompts=1500)
    whole = bw.audit(frame)
    files, together = shards(tmp_path, frame, owners(frame, 1, 3), held=10)
    for name, judge in whole.judges.items():
        for metric, figure in judge.metrics.items():
            if metric in NOT_IN_PASSES:
                continue
            other = together.judges[name].metrics[metric]
            assert other.estimate == pytest.approx(figure.estimate, abs=1e-9)
            assert other.n == figure.n
            if figure.se:
                assert other.se == pytest.approx(figure.se, rel=2e-3), metric
    for pair, other in zip(whole.comparisons, together.comparisons, strict=True):
        for metric, figure in pair.differences.items():
            if figure.se and metric not in NOT_IN_PASSES:
                assert other.differences[metric].se == pytest.approx(figure.se, rel=2e-3), metric
    assert whole.choice["gain"].best == together.choice["gain"].best
    assert "as there are prompts less 1" in str(together)
    assert max(file.stat().st_size for file in files) < 600_000


def test_a_prompt_in_two_files_is_refused(tmp_path):
    """They are counted, and the files named."""
    frame = pools(2, prompts=60)
    first, second = tmp_path / "a.stats", tmp_path / "b.stats"
    bw.audit(frame, stats_out=first)
    bw.audit(
        frame[frame["prompt_id"].isin(["p1", "p2", "p3"] + [f"p{at}" for at in range(20, 60)])],
        stats_out=second,
        like=first,
    )
    with pytest.raises(InputError, match=r"43 prompts are in two files: .*a\.stats and .*b\.stats"):
        bw.audit([first, second])


def test_files_that_fixed_different_things_are_refused(tmp_path):
    """Each is named, with how to make it again."""
    frame, other = pools(2), pools(4).assign(prompt_id=lambda rows: "q" + rows["prompt_id"])
    first, second = tmp_path / "a.stats", tmp_path / "b.stats"
    bw.audit(frame, stats_out=first)
    bw.audit(other, stats_out=second)
    with pytest.raises(InputError, match=r"b\.stats and .*a\.stats were made with different .*--like .*a\.stats"):
        bw.audit([first, second])


def test_the_command_line(tmp_path, monkeypatch, capsys):
    """One part after the other, then all of them."""
    monkeypatch.chdir(tmp_path)
    frame = pools(2, prompts=80)
    owner = owners(frame, 3, 2)
    for part, name in enumerate("ab"):
        frame[frame["prompt_id"].map(owner) == part].to_csv(f"{name}.csv", index=False)
    assert typed(capsys, "audit", "a.csv", "--in-passes", "--stats-out", "a.stats").code == 0
    assert typed(capsys, "audit", "b.csv", "--stats-out", "b.stats", "--like", "a.stats").code == 0
    together = typed(capsys, "audit", "a.stats", "b.stats", "--json", "all.json", "--html", "all.html")
    assert together.code == 0, together.err
    assert "2 stats files" in together.out
    written = json.loads((tmp_path / "all.json").read_text("utf-8"))
    assert written["metrics"]["recovery"]["estimate"] == pytest.approx(bw.audit(frame)["recovery"].estimate)


@pytest.fixture
def content(tmp_path):
    """Return what a stats file holds, by name."""
    bw.audit(pools(2), stats_out=tmp_path / "a.stats")
    with np.load(tmp_path / "a.stats") as archive:
        return dict(archive)


def changed(content, **changes):
    """Return a stats file with some arrays replaced, or left out where None."""
    stream = io.BytesIO()
    np.savez(stream, **{name: value for name, value in {**content, **changes}.items() if value is not None})
    return stream.getvalue()


def head_with(content, **changes):
    """Return the words of a stats file with some changed."""
    head = json.loads(content["head"].tobytes()) | changes
    return np.frombuffer(json.dumps(head).encode(), dtype=np.uint8)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda _: b"",
        lambda _: b"PK\x03\x04 nothing",
        lambda held: changed(held)[:-200],
        lambda held: changed(held, head=None),
        lambda held: changed(held, head=np.frombuffer(b"{}", dtype=np.uint8)),
        lambda held: changed(held, head=head_with(held, schema="stats of bonwise, 2")),
        lambda held: changed(held, head=head_with(held, dropped={"why": -1})),
        lambda held: changed(held, head=head_with(held, sample=[{"prompt_id": ["p"]}])),
        lambda held: changed(held, sums=held["sums"][:-1]),
        lambda held: changed(held, sums=held["sums"] * np.nan),
        lambda held: changed(held, sums=held["sums"].astype(np.float32)),
        lambda held: changed(held, hashes=held["hashes"].astype(float)),
        lambda held: changed(held, added=np.array([object()])),
        lambda held: changed(held, more=np.zeros(3)),
    ],
)
def test_hostile_stats_files_are_refused(tmp_path, content, spoil):
    """In one line that names the file; nothing in it is run."""
    place = tmp_path / "bad.stats"
    place.write_bytes(spoil(content))
    with pytest.raises(FileError, match=r"bad\.stats: not a stats file that bonwise can read"):
        bw.audit(place)
