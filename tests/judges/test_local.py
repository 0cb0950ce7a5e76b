from __future__ import annotations

import ast
import math
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bonwise.judges
from bonwise.calls.ask import Answer, Answers
from bonwise.errors import UsageError
from bonwise.judges.asking import MISSING
from bonwise.judges.calling import FunctionJudge
from bonwise.judges.local import NAMES, Consensus, Format, Length, Lexical, from_name
from bonwise.judges.protocol import Judge
from bonwise.judges.registry import judge_from_spec
from bonwise.judges.wrappers import WeightedMajority
from bonwise.table.verdicts import Score, Unscored
from hanging import ended_if_hanging
from judges.replies import answered, said

MEGABYTE = 1_000_000
TEXTS = st.lists(st.text(), max_size=6)
VOCABULARY = ["moon", "tide", "water", "bread", "oven", "48", "and", "the"]
WORDS = st.lists(st.sampled_from(VOCABULARY), max_size=12).map(" ".join)
every_judge = pytest.mark.parametrize("name", NAMES)


def values(judge, prompt, candidates):
    """Return the scores as plain numbers."""
    return [verdict.value for verdict in judge.judge(prompt, candidates)]


@every_judge
def test_a_local_judge_keeps_the_protocol(name):
    """Every local judge is a `Judge` that says its name and version."""
    judge = from_name(name)
    assert isinstance(judge, Judge)
    assert (judge.name, judge.version) == (f"local:{name}", "1")


@every_judge
@given(prompt=st.text(), candidates=TEXTS)
def test_any_text_gets_a_verdict(name, prompt, candidates):
    """Whatever the texts, each candidate gets a score in [0, 1] or a reason, in order."""
    verdicts = from_name(name).judge(prompt, candidates)
    assert len(verdicts) == len(candidates)
    for verdict in verdicts:
        assert isinstance(verdict, Unscored) or 0 <= verdict.value <= 1


@every_judge
@pytest.mark.parametrize("blank", ["", "   ", "\n\t\n", "\x00", "\u200b\u00a0"])
def test_an_empty_answer_is_unscored(name, blank):
    """An answer in which nothing can be read has no score, and the others keep theirs."""
    first, second, third = from_name(name).judge("Where is the moon?", ["Up there, the moon.", blank, "The moon?"])
    assert second == Unscored("empty answer")
    assert isinstance(first, Score)
    assert isinstance(third, Score)


@every_judge
@given(prompt=WORDS, candidates=st.lists(WORDS, min_size=1, max_size=6), data=st.data())
def test_the_order_of_the_candidates_does_not_matter(name, prompt, candidates, data):
    """Permuting the candidates permutes the verdicts, to the last bit."""
    order = data.draw(st.permutations(range(len(candidates))))
    judge = from_name(name)
    verdicts = judge.judge(prompt, candidates)
    assert judge.judge(prompt, [candidates[place] for place in order]) == [verdicts[place] for place in order]


@every_judge
@given(prompt=WORDS, answer=WORDS, other=WORDS)
def test_equal_answers_tie(name, prompt, answer, other):
    """Two candidates with the same text get the same verdict."""
    first, _, second = from_name(name).judge(prompt, [answer, other, answer])
    assert first == second


@every_judge
def test_another_process_gives_the_same_scores(name):
    """Scores do not depend on the hash seed of the process."""
    code = (
        "from bonwise.judges.local import from_name;"
        f"print(from_name({name!r}).judge('moon tide', ['moon and tide', 'moon oven', 'tide 48']))"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(printed) == 1
    assert "Score" in printed.pop()


@every_judge
@pytest.mark.parametrize(
    "unit",
    ["(", ")]}", ". ", '."', "a", "1,111", "\n", " ", "\t\n", "\x00", "- ", "`", "ab cd ef ", "\u6f22", "\u00df"],
)
def test_a_megabyte_of_anything_is_judged(name, unit):
    """Hostile text of a million characters comes to an end, whatever it repeats: nothing grows with its square."""
    hostile = (unit * MEGABYTE)[:MEGABYTE]
    with ended_if_hanging():
        assert len(from_name(name).judge(hostile, [hostile, "A moon."])) == 2


def test_an_unknown_name_lists_the_known_ones():
    """A name that is not known is a usage error whose hint lists the names."""
    with pytest.raises(UsageError, match="no local judge named 'x'") as caught:
        from_name("x")
    assert caught.value.hint == "choose one of length, lexical, format, consensus, majority"


BOXED = [r"\boxed{\frac{1}{2}}", r"6 \boxed{ \frac{1}{2} }.", r"\boxed{3} \boxed{4}", "4"]


@pytest.mark.parametrize(
    ("extract", "texts", "scores"),
    [
        ("number", ["so 4.0", "8/2", "it is 5", "none", ""], [2 / 3, 2 / 3, 1 / 3, None, None]),
        ("number", ["3", "4"], [0.5, 0.5]),
        ("boxed", BOXED, [2 / 3, 2 / 3, 1 / 3, None]),
        ("answer: *(.*)", ["answer: Yes", "answer: yes", "answer: no"], [2 / 3, 2 / 3, 1 / 3]),
    ],
)
def test_the_majority_of_final_answers(extract, texts, scores):
    """The share of the votes for the same answer; equal votes are a tie, and no answer is no vote."""
    judge = from_name("majority", extract)
    verdicts = judge.judge("q", texts)
    assert [verdict.value if isinstance(verdict, Score) else None for verdict in verdicts] == scores
    assert [isinstance(verdict, Unscored) for verdict in judge.judge("q", ["1,234," * 100_000, "x" * 100_000])]
    assert judge_from_spec(judge.name) == judge


VOTED = ["It is 4.", "4.0", "5", "5, so 5", "none", ""]


def weighted(weights, texts=VOTED):
    """Return scores, or reasons, of texts whose votes weigh these."""
    by_text = dict(zip(texts, weights, strict=True))
    judge = WeightedMajority(FunctionJudge(lambda _, text: by_text[text]))
    return [verdict.value if isinstance(verdict, Score) else verdict.reason for verdict in judge.judge("q", texts)]


@pytest.mark.parametrize(
    ("weights", "scores"),
    [
        # 4 has 0.5 + 0.4 of 1.2; 5 has 0.3 and a vote that is not counted.
        ((0.5, 0.4, 0.3, None, 1, 1), [0.75, 0.75, 0.25, "no vote: the function returned nothing"]),
        ((0, 0, 0, 0.25, 9, 9), [0, 0, 1, 1]),
        ((0, 0, 0, 0, 1, 1), [0] * 4),
        ((1, 1, 1, -0.5, 1, 1), ["the score -0.5 cannot weigh a vote: take a judge whose scores are 0 or more"] * 4),
        ((1e300, 1e300, 1e300, 1e300, -1, -1), [0.5] * 4),
        ((None,) * 6, ["no vote: the function returned nothing"] * 4),
    ],
)
def test_votes_weigh_a_judge_s_scores(weights, scores):
    """Shares of the weight by hand; who has no score or no final answer has no vote, and no weight is below 0."""
    assert weighted(weights) == [*scores, "no final answer", "empty answer"]


WEIGHTS = st.none() | st.floats(0, 100)


@given(st.lists(st.tuples(st.sampled_from(["1", "2", "3.0", "3", "no"]), WEIGHTS), min_size=1, max_size=9))
def test_weighted_votes_are_those_of_plain_loops(pool):
    """Each candidate has the weight of its answer over that of all; equal weights are `local:majority`."""
    texts = [f"{at} x {answer}" for at, (answer, _) in enumerate(pool)]
    answers = [str(float(answer)) if answer != "no" else str(float(at)) for at, (answer, _) in enumerate(pool)]
    total, by_answer = 0.0, {}
    for answer, (_, weight) in zip(answers, pool, strict=True):
        if weight is not None:
            total += weight
            by_answer[answer] = by_answer.get(answer, 0.0) + weight
    for answer, (_, weight), value in zip(
        answers, pool, weighted([weight for _, weight in pool], texts), strict=True
    ):
        if weight is None:
            assert isinstance(value, str)
        else:
            assert value == pytest.approx(by_answer[answer] / total if total else 0, abs=1e-12)
    plain = [verdict.value for verdict in from_name("majority").judge("q", texts)]
    assert weighted([2.0] * len(texts), texts) == pytest.approx(plain, abs=1e-12)


def test_weights_of_a_model_that_is_asked():
    """The inner judge's questions are asked as they are; while an answer is pending no vote is counted."""
    judge = judge_from_spec("weighted_majority,extract=boxed,of=pointwise:openai/m")
    assert judge.name == "weighted_majority,extract=boxed,of=pointwise:openai/m"
    assert judge.calls(3) == len(judge.asks("q", BOXED[:3])) == 3
    replies = [[f'{{"score": {score}}}'] for score in (60, 20, 20)]
    verdicts = answered(judge, "q", BOXED[:3], replies).verdicts
    assert [verdict.value for verdict in verdicts] == pytest.approx([0.8, 0.8, 0.2])
    asks = judge.asks("q", BOXED[:3])
    pending = [
        Answers((Answer(MISSING),)),
        *(said(ask, *reply) for ask, reply in zip(asks, replies[1:], strict=False)),
    ]
    assert all(verdict.owed for verdict in judge.conclude("q", BOXED[:3], pending).verdicts)
    with pytest.raises(UsageError, match="extract"):
        WeightedMajority(judge, extract="(")


def test_only_the_majority_extracts():
    """An option that does nothing is refused."""
    with pytest.raises(UsageError, match="local:length extracts nothing"):
        from_name("length", "boxed")


def test_no_judge_knows_the_demo():
    """No module of the judges imports the demo, whose checkers make the labels."""
    for path in Path(bonwise.judges.__file__).parent.rglob("*.py"):
        assert not [module for module in imported(path) if module.startswith("bonwise.demo")], path


def test_local_judges_need_the_standard_library_only():
    """The module imports nothing from outside the standard library and bonwise."""
    path = Path(bonwise.judges.__file__).with_name("local.py")
    assert {module.split(".")[0] for module in imported(path)} <= {*sys.stdlib_module_names, "bonwise"}


def imported(path):
    """Yield the dotted name of everything a module imports."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@given(short=st.integers(1, 5000), more=st.integers(1, 5000))
def test_length_grows_and_saturates(short, more):
    """More characters score higher, and the gain shrinks."""
    one, two, three = values(Length(), "", ["x" * short, "x" * (short + more), "x" * (short + 2 * more)])
    assert 0 < one < two < three < 1
    assert two - one > three - two


def test_length_does_not_count_padding():
    """Spaces and blank lines at will do not make an answer longer."""
    assert len(set(values(Length(), "", ["two words", "  two \n\n\n  words  "]))) == 1


def test_lexical_is_bm25_over_what_is_attainable():
    """The score equals BM25 worked by hand, divided by its upper bound."""
    # Query: moon, tide. Answers of 2, 4 and 3 content words, so 3 on average; "the" is no content word.
    candidates = ["the moon, water", "tide and moon: tide, bread", "bread, oven, salt"]
    moon, tide = math.log(1 + 1.5 / 2.5), math.log(1 + 2.5 / 1.5)
    shorter, longer = 1.2 * (0.25 + 0.75 * 2 / 3), 1.2 * (0.25 + 0.75 * 4 / 3)
    expected = [
        moon * (1 / (1 + shorter)) / (moon + tide),
        (moon * (1 / (1 + longer)) + tide * (2 / (2 + longer))) / (moon + tide),
        0,
    ]
    assert values(Lexical(), "Tides and the moon", candidates) == pytest.approx(expected, abs=1e-15)


def test_lexical_reads_scripts_without_spaces():
    """In Chinese each character is a word, so an answer on the topic beats one off it."""
    on_topic, off_topic = values(
        Lexical(), "\u6708\u4eae\u662f\u4ec0\u4e48", ["\u6708\u4eae\u5f88\u4eae", "\u9762\u5305"]
    )
    assert on_topic > off_topic == 0


def test_lexical_without_a_question_has_no_score():
    """A prompt of function words alone leaves nothing to compare, which is said."""
    assert Lexical().judge("What is it?", ["A moon.", ""]) == [
        Unscored("the prompt has no content words"),
        Unscored("empty answer"),
    ]


@pytest.mark.parametrize(
    ("tidy", "flawed"),
    [
        ("Run this:\n\n```\nls\n```", "Run this:\n\n```\nls"),
        ("It is red (or blue).", "It is red (or blue."),
        ("It is red.", "It is red, and the"),
        ("- Red.\n- Blue.", "Red. Blue."),
        ("word " * 50 + "\n" + "word " * 50, "word " * 101),
        ("One thing leads to the next one.", "One thing leads, one thing leads, one thing leads."),
        ("It is red. So is that.", "it is red. so is that."),
        ("It is red.", "It is\x07 red."),
    ],
    ids=["fence", "brackets", "cut off", "structure", "long line", "repetition", "capitals", "control"],
)
def test_format_sees_each_flaw(tidy, flawed):
    """Each sign of careless layout alone lowers the score."""
    better, worse = values(Format(), "", [tidy, flawed])
    assert better > worse


@pytest.mark.parametrize(
    "ending", ["Done.", "Is it?", 'He said "yes."', "- red", "```\nx\n```", '{"a": 1}', "Fini\u2026"]
)
def test_format_knows_a_finished_answer(ending):
    """Sentences, lists, fences and JSON all count as finished, a cut-off word does not."""
    finished, cut_off = values(Format(), "", [ending, ending + "\nand then we"])
    assert finished > cut_off


def test_consensus_prefers_the_majority():
    """Of three answers the two that agree beat the one that does not."""
    # Unit vectors over {it makes} + number: agreement 1 within the pair, 1/2 across.
    assert values(Consensus(), "", ["makes 42", "makes 48", "makes 42"]) == pytest.approx([0.75, 0.5, 0.75])


def test_consensus_needs_company():
    """One answer that can be read has nobody to agree with."""
    assert Consensus().judge("", ["only me here", " "]) == [
        Unscored("no other answer to compare with"),
        Unscored("empty answer"),
    ]
