"""The roles of columns in a table of scores, and the names they go by, without case, blanks and punctuation."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

ROLES = (
    "prompt_id",
    "candidate",
    "judge",
    "judge_score",
    "oracle_label",
    "annotator",
    "draw",
    "low",
    "high",
    "ci_width",
    "propensity",
    "cluster",
    "length",
    "family",
    "position",
    "judge_family",
)
"""In the order in which columns are looked for."""

CANDIDATE_ROLES = ("length", "family", "position")
"""What is known of a candidate beside its score; strata too where a prompt has one value.

A column that has such a name and does not fit stays a stratum.
"""


@dataclass(frozen=True, slots=True)
class ColumnFlag:
    """The flag that names the column of a role."""

    name: str
    """Such as ``--score-col``."""
    help: str

    def __str__(self) -> str:
        return self.name


COLUMN_FLAGS: Mapping[str, ColumnFlag] = MappingProxyType(
    {
        "prompt_id": ColumnFlag("--prompt-col", "Column of the prompt id."),
        "candidate": ColumnFlag("--candidate-col", "Column of the candidate's name."),
        "judge_score": ColumnFlag(
            "--score-col", "Column of the judge's score (repeatable: one per judge or candidate)."
        ),
        "oracle_label": ColumnFlag("--label-col", "Column of the oracle label (repeatable: one per annotator)."),
        "annotator": ColumnFlag("--annotator-col", "Column of the annotator who gave a label."),
        "judge": ColumnFlag("--judge-col", "Column of the judge's name."),
        "propensity": ColumnFlag("--propensity-col", "Column of the probability of being labelled."),
        "cluster": ColumnFlag("--cluster-col", "Column of the cluster of prompts that a prompt belongs to."),
        "length": ColumnFlag("--length-col", "Column of the length of a candidate's text."),
        "family": ColumnFlag("--family-col", "Column of the model family that a candidate comes from."),
        "position": ColumnFlag("--position-col", "Column of the place in which a candidate was shown to the judge."),
    }
)
"""By role, in the order of the help."""

LABEL_ROLES = ("prompt_id", "candidate", "oracle_label")
"""What a file of labels holds."""

OF_LABELS = (*LABEL_ROLES, "annotator")
"""Roles whose columns a file of labels may have named for it."""

NUMERIC = frozenset({"judge_score", "oracle_label", "low", "high", "ci_width", "propensity", "length", "position"})

# `judge` is always the judge's name, so it is no alias of the score although some tools write it so.
ALIASES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "prompt_id": ("item_id", "id", "case_id", "question_id", "original_id"),
        "candidate": ("policy", "target_policy", "model", "provider_id", "policy_id", "policy_name", "variant"),
        "judge_score": ("score", "verdict", "judge_label"),
        "oracle_label": ("gold", "human", "label", "human_label", "human_rating"),
        "annotator": (
            "annotator_id",
            "annotator_name",
            "rater",
            "rater_id",
            "labeler",
            "labeller",
            "worker",
            "worker_id",
        ),
        "draw": ("run", "sample_index"),
        "propensity": ("label_propensity",),
    }
)

FURTHER_ALIASES: Mapping[str, tuple[tuple[str, ...], ...]] = MappingProxyType(
    {
        "prompt_id": (
            (
                *("task_id", "sample_id", "example_id", "query_id", "instance_id", "problem_id", "doc_id", "test_id"),
                *("conversation_id", "datapoint_id", "input_id", "qid", "uid", "uuid", "prompt_index", "prompt_no"),
                *("prompt_number", "question_no", "question_number", "item", "task", "case", "example"),
            ),
            ("prompt", "question", "input", "instruction", "query", "prompt_text", "user_prompt", "user_input"),
        ),
        "candidate": (
            (
                *("model_name", "model_id", "system", "system_name", "system_id", "method", "arm", "agent", "llm"),
                *("candidate_id", "candidate_name", "response_id", "answer_id", "completion_id", "output_id"),
                *("response_model", "generator", "engine", "checkpoint", "provider", "candidate_no"),
            ),
            (
                *("candidate_index", "response_index", "answer_index", "completion_index", "sample_index", "epoch"),
                *("sample", "sample_no", "attempt", "rollout", "trial", "generation_index"),
            ),
            (
                *("response", "answer", "completion", "output", "text", "generation", "candidate_text"),
                *("response_text", "output_text", "model_response", "model_output"),
            ),
        ),
        "judge": (
            ("judge_name", "judge_model", "judge_id", "grader", "grader_model", "evaluator", "autorater", "scorer"),
        ),
        "judge_score": (
            (
                *("rating", "reward", "grade", "judge_rating", "judge_grade", "judge_value", "llm_score"),
                *("llm_judge_score", "model_score", "auto_score", "autorater_score", "evaluator_score", "eval_score"),
                *("judge_verdict", "overall_score", "quality_score", "score_value", "reward_score", "points"),
            ),
        ),
        "oracle_label": (
            (
                *("human_score", "human_grade", "human_verdict", "human_annotation", "human_eval", "gold_label"),
                *("gold_score", "gold_rating", "ground_truth", "expert_label", "expert_score", "expert_rating"),
                *("oracle", "oracle_score", "true_label", "true_score", "truth", "target", "reference_score"),
                *("annotation", "annotator_score", "label_human", "user_rating", "correct", "is_correct", "passed"),
            ),
            ("rating",),
        ),
        "annotator": (
            (
                *("labeler_id", "labeller_id", "labeled_by", "labelled_by", "annotated_by", "rated_by", "rater_name"),
                *("annotator_email", "annotator_index", "crowdworker", "turker", "assessor", "assessor_id", "coder"),
                *("reviewer", "reviewer_id", "expert", "expert_id", "participant", "participant_id"),
            ),
            ("user", "user_id", "user_name", "person", "email"),
        ),
        "draw": (("repeat", "replicate", "draw_id", "iteration", "trial", "attempt", "epoch"),),
    }
)
"""Further names by role, in order: a later group is looked at only where no column has an earlier name.

Names of judges, annotators and draws are taken only where rows cannot be told apart without them.
"""

SPOKEN = ("prompt", "text", "response", "raw")
"""Columns with the words of prompts, candidates and judges."""

SPENT = ("tokens", "input_tokens", "output_tokens")
"""Columns that say what a score took, never strata."""

IDENTIFIERS = frozenset({"prompt_id", "candidate", "judge", "annotator", "cluster", "family", "judge_family"})
"""Roles of names, of which a word such as NA is one like any other."""

WORDS = frozenset({*SPOKEN, "unscored"})
"""Columns of words: shown where they help, never strata."""


PLAIN = 2
"""Groups of `claims` with the canonical name and the names of `ALIASES`; those after them hold further names."""

_NOT_IN_KEYS = re.compile(r"[\W_]+")
_IN_BRACKETS = re.compile(r"(?<=\S)\s*[(\[][^()\[\]]*[)\]]\s*$")

_LABEL_WORDS = frozenset({"human", "gold", "golden", "oracle", "expert", "annotator", "annotators", "groundtruth"})
_SCORE_WORDS = frozenset({"score", "rating", "grade", "reward", "verdict"})
_LONGEST = 200


def key_of(name: object) -> str:
    """Return what is left of a name without case, blanks, punctuation and a remark in brackets at its end."""
    text = str(name)[:_LONGEST]
    plain = _IN_BRACKETS.sub("", text)
    return _NOT_IN_KEYS.sub("", unicodedata.normalize("NFKC", plain).casefold())


def by_key(columns: Iterable[object]) -> Mapping[str, Sequence[str]]:
    """Return the columns by the key of their name."""
    by_word: dict[str, list[str]] = {}
    for column in columns:
        by_word.setdefault(key_of(column), []).append(column)  # type: ignore[arg-type]
    return by_word


def claims(role: str, columns: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Return columns (given `by_key`) whose name fits a role, likeliest first: canonical, then plain `ALIASES`."""
    groups = [[column for key in keys for column in columns.get(key, ())] for keys in _keys(role)]
    if role in ("judge_score", "oracle_label"):
        wanted = role == "oracle_label"
        every = [column for known in columns.values() for column in known]
        groups.append([column for column in every if _is_score(column) and names_a_label(column) is wanted])
    return groups


def all_claims(roles: Iterable[str], columns: Iterable[object]) -> Mapping[str, list[list[str]]]:
    """Return what `claims` does, by role."""
    names = by_key(columns)
    return {role: claims(role, names) for role in roles}


@cache
def _keys(role: str) -> tuple[tuple[str, ...], ...]:
    groups = ((role,), ALIASES.get(role, ()), *FURTHER_ALIASES.get(role, ()))
    return tuple(tuple(map(key_of, group)) for group in groups)


def name_tokens(name: object) -> list[str]:
    """Return the words of a name in lower case, without a remark in brackets at its end."""
    plain = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", _IN_BRACKETS.sub("", str(name)[:_LONGEST]))
    return re.sub(r"[\W_]+", " ", plain).casefold().split()


def _is_score(name: object) -> bool:
    """Tell whether a name ends in a word for a score, such as ``gpt4_score`` or ``Human Overall Rating``."""
    tokens = name_tokens(name)
    return len(tokens) > 1 and (tokens[-1] in _SCORE_WORDS or (tokens[-1] == "label" and names_a_label(name)))


def score_of(name: object) -> tuple[str, str] | None:
    """Return whose value a column holds and what it is: ``score`` or ``label``; None where its name does not say."""
    plain = _IN_BRACKETS.sub("", str(name)[:_LONGEST]).strip()
    match = re.fullmatch(r"(?s)(.*[^\W_])(?:[\W_]+|(?<=[a-z0-9])(?=[A-Z]))(\w+)", plain)
    if match is None or match[2].casefold() not in {*_SCORE_WORDS, "label"}:
        return None
    return match[1], "label" if match[2].casefold() == "label" else "score"


def names_a_label(name: object) -> bool:
    """Tell whether a name is that of a value which a person gave, such as ``human_label`` or ``Gold Score``."""
    return bool(_LABEL_WORDS & {*name_tokens(name)})
