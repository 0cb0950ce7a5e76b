from __future__ import annotations

import json

import pytest

from bonwise.auditing.logged_picks import holds_picks, read_picks
from bonwise.errors import FileError, RowError

LINE = {"prompt_id": "p", "ids": ["a", "b", "c"], "best": "b"}


def written(path, *lines):
    """Write lines as they stand, a mapping as JSON."""
    path.write_text("\n".join(one if isinstance(one, str) else json.dumps(one) for one in lines) + "\n", "utf-8")
    return path


def read(tmp_path, *lines, **reading):
    """Write lines and read them as picks."""
    return read_picks(written(tmp_path / "picks.jsonl", *lines), **reading)


def scores(picks):
    """Return the scores of the only prompt's candidates."""
    return picks.rows()["judge_score"].tolist()


def test_a_pick_is_a_judge_that_scores_what_it_kept(tmp_path):
    """What was kept scores 1, the rest 0; three fields are all that a line needs."""
    picks = read(tmp_path, LINE)
    assert scores(picks) == [0.0, 1.0, 0.0]
    assert picks.name == "picks"


def test_what_a_seed_decided_is_taken_in_expectation_unless_asked(tmp_path):
    """A pick among equals is each of them, and the drawn one alone where that is asked for."""
    line = LINE | {"level": ["b", "c"], "decided_by": "tie-break"}
    assert scores(read(tmp_path, line)) == [0.0, 1.0, 1.0]
    assert scores(read(tmp_path, line, as_picked=True)) == [0.0, 1.0, 0.0]


def test_nothing_picked_has_no_score_and_a_reason(tmp_path):
    """Without a pick there is no score; that and a pool of one are reasons to drop a prompt."""
    picks = read(tmp_path, LINE | {"best": None, "decided_by": "owed"}, {"prompt_id": "q", "ids": ["a"], "best": "a"})
    assert picks.rows()["judge_score"].isna().tolist() == [True, True, True, False]
    assert picks.reasons == {"p": "nothing picked: owed", "q": "one candidate"}


@pytest.mark.parametrize(
    ("counts", "answers", "tokens"),
    [
        ({}, None, None),
        ({"answers": 4, "from_ledger": 0, "input_tokens": 300, "output_tokens": 20}, 4, 320),
        ({"answers": 4, "from_ledger": 3, "input_tokens": 90, "output_tokens": 5}, 4, None),
        ({"answers": 4, "from_ledger": 3, "input_tokens": 90, "output_tokens": 5, "reused_tokens": 225}, 4, 320),
        ({"answers": 0, "from_ledger": 0, "input_tokens": 0, "output_tokens": 0, "reused_tokens": 0}, 0, 0),
    ],
    ids=["none", "sent", "unknown", "reused", "free"],
)
def test_tokens_are_those_of_all_answers_or_unknown(tmp_path, counts, answers, tokens):
    """Tokens of answers from a ledger count where the line says them; where it does not, the sum is unknown."""
    (pick,) = read(tmp_path, LINE | counts).picks
    assert (pick.answers, pick.tokens) == (answers, tokens)


def test_numbers_and_texts_name_one_prompt_and_one_candidate(tmp_path):
    """A number is the text that it is written as."""
    picks = read(tmp_path, {"prompt_id": 7, "ids": [0, 1], "best": 1})
    assert picks.picks[0].prompt_id == "7"
    assert scores(picks) == [0.0, 1.0]


STRATEGY = {"settings": {"strategy": "greedy", "judge": "j", "seed": 1, "version": "1", "parameters": []}}

BAD = {
    "no json": ((LINE, "{"), "row 2: not JSON"),
    "no prompt": ((LINE, LINE | {"prompt_id": None}), "row 2: prompt_id should be a text or a number, not null"),
    "prompt twice": ((LINE, LINE), r"row 2: 'p' is picked again \(first in row 1\)"),
    "unknown pick": ((LINE | {"best": "z"},), "row 1: the line has a best, 'z', that is none of its ids"),
    "unknown level": (
        (LINE | {"level": ["b", "z"]},),
        "row 1: the line has a level with a name that is none of its ids",
    ),
    "pick off its level": (
        (LINE | {"level": ["a", "c"]},),
        "row 1: the line has a level that its best is not one of",
    ),
    "candidate twice": ((LINE | {"ids": ["b", "b"]},), "row 1: ids names 'b' twice"),
    "no list": ((LINE | {"ids": "abc"},), "row 1: ids should be a list, not .abc."),
    "no candidates": ((LINE | {"ids": []},), "row 1: ids should not be empty"),
    "no count": ((LINE | {"answers": 1.5},), "row 1: answers should be a whole number, not 1.5"),
    "negative": ((LINE | {"input_tokens": -1},), "row 1: input_tokens should be at least 0, not -1"),
    "two policies": (
        (LINE | STRATEGY, LINE | {"prompt_id": "q", "settings": STRATEGY["settings"] | {"strategy": "adaptive"}}),
        "row 2: picked with another strategy than row 1",
    ),
}


@pytest.mark.parametrize(("lines", "words"), BAD.values(), ids=BAD)
def test_a_line_that_is_no_pick_is_refused_with_its_row(tmp_path, lines, words):
    """Each kind of broken line is refused, the row named."""
    with pytest.raises(RowError, match=words) as caught:
        read(tmp_path, *lines)
    assert caught.value.hint


def test_seeds_versions_and_parameters_may_differ(tmp_path):
    """What may change between runs of one policy does not split a file; the policy names the picks."""
    other = STRATEGY["settings"] | {"seed": 2, "version": "2", "parameters": [{"temperature": 1}]}
    picks = read(tmp_path, LINE | STRATEGY, LINE | {"prompt_id": "q", "settings": other})
    assert picks.name == "greedy of j"


def test_a_router_may_be_unnamed_in_earlier_lines_but_not_another(tmp_path):
    """Lines of 0.1.0 do not name the router's signal and share; where two lines do, they are the same."""
    named = STRATEGY["settings"] | {"strong": "s", "router": "margin at a share of 25%"}
    unnamed = STRATEGY["settings"] | {"strong": "s"}
    lines = [LINE | {"settings": unnamed}, LINE | {"prompt_id": "q", "settings": named}]
    assert len(read(tmp_path, *lines).picks) == 2
    other = named | {"router": "margin at a share of 50%"}
    with pytest.raises(RowError, match="picked with another router than row 1"):
        read(tmp_path, LINE | {"settings": named}, LINE | {"prompt_id": "q", "settings": other})


def test_an_empty_file_holds_no_picks(tmp_path):
    """No line is an error, and no sign of picks."""
    path = written(tmp_path / "picks.jsonl", "")
    assert not holds_picks(path)
    with pytest.raises(FileError, match="no picks"):
        read_picks(path)


def test_picks_are_told_from_scores_by_their_first_line(tmp_path):
    """Only JSON Lines that name the best of some ids hold picks."""
    assert holds_picks(written(tmp_path / "a.jsonl", LINE))
    assert not holds_picks(written(tmp_path / "b.jsonl", {"prompt_id": "p", "candidate": "a", "judge_score": 1}))
    assert not holds_picks(written(tmp_path / "a.csv", LINE))
    assert not holds_picks(tmp_path / "absent.jsonl")
