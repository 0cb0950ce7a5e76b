"""The options that open a table: each is declared here once, with its keyword, default, description and flags.

Functions take ``**reading: Unpack[ReadingKeywords]`` or a shorter list, commands ``reading`` of such a type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from inspect import Parameter, signature
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

from bonwise.asked import remembers
from bonwise.errors import UsageError
from bonwise.flags import field_texts, show_keywords, takes_numbers, unexpected
from bonwise.printable import quoted, shell_flag, shell_path
from bonwise.table import checks
from bonwise.table.checks import AnnotatorRule, SecondOrder, Shape, Unpicked
from bonwise.table.roles import COLUMN_FLAGS, OF_LABELS

if TYPE_CHECKING:
    from bonwise.table.reading import RowSource
    from bonwise.table.scales import Scale

Function = TypeVar("Function", bound=Callable[..., Any])

_OF_LABEL_FILE = ("oracle_label", "annotator")
"""Roles that a table of scores has no column for where the labels come from elsewhere."""


class ColumnKeywords(TypedDict, total=False):
    """How any file is read; of repeated judgments nothing else matters."""

    columns: Mapping[str, str | Sequence[str]] | None
    prompt_col: str | None
    candidate_col: str | None
    score_col: str | Sequence[str] | None
    label_col: str | Sequence[str] | None
    annotator_col: str | None
    judge_col: str | None
    propensity_col: str | None
    cluster_col: str | None
    length_col: str | None
    family_col: str | None
    position_col: str | None


class RowKeywords(ColumnKeywords, total=False):
    """How rows are read as they stand, without scales."""

    label_map: Mapping[str, float] | None


class LabelKeywords(RowKeywords, total=False):
    """How a file of labels is read."""

    label_scale: Scale | None
    annotator_rule: AnnotatorRule | None


class _Directions(TypedDict, total=False):
    lower_is_better: str | Sequence[str] | bool


class _Values(_Directions, total=False):
    missing: str | float | Sequence[str | float]


class TableKeywords(LabelKeywords, _Values, total=False):
    """How a table of scores and labels is read."""

    judge_scale: Scale | Mapping[str, Scale] | None
    second_order: SecondOrder | None


class _Unpicked(TypedDict, total=False):
    unpicked: Unpicked


class _Candidates(TypedDict, total=False):
    exclude: str | Sequence[str]


class _ShapeKeyword(_Candidates, total=False):
    shape: Shape | None


class _Retrieved(TypedDict, total=False):
    unlabelled_is: float | None
    depth: int | None


class LabelledKeywords(TableKeywords, total=False):
    """How a table is read with labels from elsewhere; confidence is stated of single candidates, or of pairs."""

    labels: RowSource | None


class _Joining(TypedDict, total=False):
    join_col: str | Sequence[str]
    by_line: bool


class LookedOverKeywords(LabelledKeywords, _Retrieved, _Joining, total=False):
    """How a table is read that is looked over before an audit."""


class PoolKeywords(TableKeywords, _ShapeKeyword, _Unpicked, total=False):
    """How a table is read and laid out; where ``labels`` are a count, a file of labels is a ``label_file``."""


class ReadingKeywords(PoolKeywords, LookedOverKeywords, total=False):
    """How a table is read, laid out, and what its scores are compared with."""

    oracle: str | None


class LabelledInOrderKeywords(LabelKeywords, _ShapeKeyword, _Values, total=False):
    """How labels are read in the order in which they came; of the scores, only the order within a prompt matters."""


class PickKeywords(LabelKeywords, _Directions, _Unpicked, total=False):
    """How the labels of picks are read; picks were made among all candidates."""

    shape: Shape | None


class PilotKeywords(ColumnKeywords, _Candidates, _Values, total=False):
    """How a pilot is read; it has labels of its own, and a plan depends neither on scales nor on the shape."""


@dataclass(frozen=True, slots=True)
class ReadingFlag:
    """A flag of an option."""

    name: str
    """Such as ``--exclude``."""
    help: str
    kind: type = str
    """Of its value; a flag of kind `bool` takes none."""
    repeatable: bool = False

    @property
    def parameter(self) -> str:
        """What the value is called in Python, such as ``exclude``."""
        return self.name.removeprefix("--").replace("-", "_")


def _by(*flags: ReadingFlag) -> Mapping[str, Any]:
    return {"flags": flags}


@dataclass(frozen=True, kw_only=True, eq=False)
class ReadingOptions:
    """What a user says about opening a table; an option that was not given has its default."""

    labels: RowSource | None = field(
        default=None, metadata=_by(ReadingFlag("--labels", "Oracle labels, joined on prompt and candidate.", Path))
    )
    """Labels from elsewhere, joined on prompt and candidate."""
    oracle: str | None = field(
        default=None, metadata=_by(ReadingFlag("--oracle", "judge:NAME takes a judge as the reference."))
    )
    """``judge:NAME`` takes one judge of the table as the reference."""
    exclude: tuple[str, ...] = field(
        default=(),
        metadata=_by(ReadingFlag("--exclude", "Leave a candidate name out (repeatable).", repeatable=True)),
    )
    """Candidate names to leave out."""
    shape: Shape | None = field(
        default=None,
        metadata=_by(
            ReadingFlag("--rectangular", "Every prompt must carry all names.", bool),
            ReadingFlag("--ragged", "A shorter pool is a pool.", bool),
        ),
    )
    """Forced; see `docs/tables.md`."""
    unpicked: Unpicked = field(
        default="random",
        metadata=_by(
            ReadingFlag("--unpicked", "A prompt without any score: random (a random pick), first, or drop.")
        ),
    )
    """What a prompt is worth of which no candidate has a score: a random pick, its first candidate, or, with
    ``drop``, nothing: it is left out, named and counted.
    """
    columns: Mapping[str, str | Sequence[str]] | None = field(
        default=None,
        metadata=_by(
            *(
                ReadingFlag(flag.name, flag.help, repeatable=role in ("judge_score", "oracle_label"))
                for role, flag in COLUMN_FLAGS.items()
            )
        ),
    )
    """Role to column name, for roles without an argument of their own, such as ``low``; those with one may stand here
    too. Several columns of ``judge_score`` are those of judges or candidates, several of ``oracle_label`` those of
    annotators.
    """
    judge_scale: Scale | Mapping[str, Scale] | None = field(
        default=None,
        metadata=_by(
            ReadingFlag(
                "--judge-scale", "Scale of the scores, LOW:HIGH or JUDGE=LOW:HIGH (repeatable).", repeatable=True
            )
        ),
    )
    """Declared scale of the scores; values are mapped to [0, 1]. A mapping declares the scale of each judge by
    name.
    """
    label_scale: Scale | None = field(
        default=None, metadata=_by(ReadingFlag("--label-scale", "Scale of the labels, LOW:HIGH."))
    )
    """Declared scale of the labels; values are mapped to [0, 1]."""
    label_map: Mapping[str, float] | None = field(
        default=None,
        metadata=_by(ReadingFlag("--label-map", "What words of labels and scores are worth: poor=1,fair=2,good=3.")),
    )
    """What words among labels and scores are worth, such as ``{"poor": 1, "fair": 2, "good": 3}``."""
    annotator_rule: AnnotatorRule | None = field(
        default=None,
        metadata=_by(
            ReadingFlag("--annotator-rule", "What labels of several annotators become: mean, median or majority.")
        ),
    )
    """How the labels that several annotators gave a candidate become one; by default the mean of numbers, the median
    of ordered categories and the majority of yes and no. See `docs/annotators.md`.
    """
    lower_is_better: tuple[str, ...] = field(
        default=(),
        metadata=_by(
            ReadingFlag(
                "--lower-is-better",
                "Judge or column of which lower is better (repeatable); without a name, every score.",
                repeatable=True,
            )
        ),
    )
    """Judges, or columns of scores or labels, whose lower values are better, such as a rank: they are negated.
    ``True`` means every score.
    """
    missing: tuple[str, ...] = field(
        default=(),
        metadata=_by(ReadingFlag("--missing", "Score that means none, such as -1 (repeatable).", repeatable=True)),
    )
    """Numbers or words among the scores that mean that there is no score; labels are read as they are."""

    unlabelled_is: float | None = field(
        default=None,
        metadata=_by(
            ReadingFlag("--unlabelled-is", "Label of unlabelled candidates beside labelled ones, such as 0.", float)
        ),
    )
    """The label of a candidate that has none, where another one of its prompt has one: 0 by the convention of
    retrieval, where what was not judged is not relevant. A prompt without any label stays unlabelled. It is in the
    unit of the labels as they are written, and never assumed.
    """

    depth: int | None = field(
        default=None,
        metadata=_by(ReadingFlag("--depth", "Keep the first K candidates per prompt, by the run's ranks.", int)),
    )
    """How many candidates of a prompt are its pool: the first by the column ``rank`` of a run, or by the score where
    a run is JSON. Equal ranks stay together, and what is cut is counted.
    """
    second_order: SecondOrder | None = field(
        default=None,
        metadata=_by(ReadingFlag("--second-order", "A second order names places: turned, else as-named.")),
    )
    """Where a judge compared answers in two orders, a column each: whether the second one names places, which
    are those of the first turned round, or answers. See `docs/tables.md`.
    """
    join_col: tuple[str, ...] = field(
        default=(),
        metadata=_by(
            ReadingFlag("--join-col", "Column of both files that joins labels (repeatable).", repeatable=True)
        ),
    )
    """Columns of both files, such as an id or the text of a response, by which labels from elsewhere find their rows,
    in the place of prompt and candidate.
    """
    by_line: bool = field(
        default=False, metadata=_by(ReadingFlag("--by-line", "Row n of the labels is of row n of the scores.", bool))
    )
    """Whether labels from elsewhere stand in the order of the rows of scores. Both must have as many."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "join_col", checks.names_of("join_col", self.join_col))
        checks.check_second_order(self.second_order)
        if (self.join_col or self.by_line) and self.labels is None:
            raise UsageError("--join-col and --by-line join labels, and none are given", hint="add --labels FILE")
        if self.join_col and self.by_line:
            raise UsageError("labels join by columns or by line", hint="give --join-col or --by-line, not both")
        object.__setattr__(self, "exclude", checks.names_of("exclude", self.exclude))
        # Other types than those of the field may be given, as by keyword.
        every = self.lower_is_better is True  # type: ignore[comparison-overlap]
        names = ("judge_score",) if every else self.lower_is_better or ()
        object.__setattr__(self, "lower_is_better", checks.names_of("lower_is_better", names))
        object.__setattr__(self, "missing", checks.values_of("missing", self.missing))
        checks.check_shape(self.shape)
        checks.check_unpicked(self.unpicked)
        checks.check_annotator_rule(self.annotator_rule)
        checks.check_unlabelled_is(self.unlabelled_is)
        if self.depth is not None:
            checks.check_whole("depth", self.depth, least=1)
        if self.columns is not None and not isinstance(self.columns, Mapping):
            raise UsageError(
                f"columns is {quoted(self.columns)}", hint="columns maps a role to the name of its column"
            )
        if self.label_map is not None and not isinstance(self.label_map, Mapping):
            raise UsageError(f"label_map is {quoted(self.label_map)}", hint="label_map maps a word to its number")
        for name, scale in (
            ("label_scale", self.label_scale),
            *(("judge_scale", judge_scale) for judge_scale in self.judge_scales.values()),
        ):
            if scale is not None and not hasattr(scale, "low"):
                raise UsageError(f"{name} is {quoted(scale)}", hint="give a Scale, LOW:HIGH on the command line")

    @classmethod
    def of(cls, function: Callable[..., Any], reading: Mapping[str, Any], **own: Any) -> ReadingOptions:
        """Take the keywords of a decorated function, and its `own` by other names; an unknown one is a TypeError."""
        taken = keywords_of(function).__annotations__
        for name in reading:
            if name not in taken:
                raise unexpected(function.__name__, name, taken)
        named = {role: columns for name, role in _ROLES.items() if (columns := reading.get(name)) is not None}
        options = cls(**{name: value for name, value in reading.items() if name not in _ROLES}, **own)
        twice = sorted(named.keys() & options.named_columns.keys())
        if twice:
            raise UsageError(
                f"the column of {twice[0]} is named twice", hint="name it in columns, or by its argument"
            )
        return replace(options, columns={**options.named_columns, **named}) if named else options

    @property
    def named_columns(self) -> Mapping[str, str]:
        """Role to column, or to several with commas between; empty where none was named."""
        named = self.columns or {}
        return {role: ",".join(held) if isinstance(held, list | tuple) else held for role, held in named.items()}  # type: ignore[misc]

    @property
    def word_values(self) -> Mapping[str, float]:
        """What words are worth, in lower case; empty where nothing was said."""
        return {word.strip().lower(): float(value) for word, value in (self.label_map or {}).items()}

    @property
    def judge_scales(self) -> Mapping[str, Scale]:
        """Scale by judge; ``""`` holds the scale of every judge not named."""
        if isinstance(self.judge_scale, Mapping):
            return self.judge_scale
        return {"": self.judge_scale} if self.judge_scale else {}

    def named_among(self, columns: Iterable[str]) -> Mapping[str, str]:
        """Return named columns that scores must have; the label file may have clusters and annotators."""
        named = self.named_columns
        elsewhere = () if self.labels is None else ("cluster", "annotator")
        here = set(columns)
        return {role: column for role, column in named.items() if role not in elsewhere or column in here}

    def without_label_column(self) -> ReadingOptions:
        """Leave out which columns hold the labels and who gave them."""
        columns = {role: column for role, column in self.named_columns.items() if role not in _OF_LABEL_FILE}
        return replace(self, columns=columns)

    def of_scores(self) -> ReadingOptions:
        """Return how the scores are read: what is said of labels is said of those in a file of their own, if any."""
        return self if self.labels is None else replace(self.without_label_column(), label_scale=None)

    def also(self, other: ReadingOptions) -> ReadingOptions:
        """Return these options with what another one says of directions, of values that mean none, and of scales."""
        return replace(
            self,
            lower_is_better=tuple(dict.fromkeys((*self.lower_is_better, *other.lower_is_better))),
            missing=tuple(dict.fromkeys((*self.missing, *other.missing))),
            judge_scale={**self.judge_scales, **other.judge_scales} or None,
            label_scale=other.label_scale or self.label_scale,
        )

    def as_flags(self) -> list[str]:
        """Return quoted flags that read a table alike, but for what the scores are compared with."""
        named = self.named_columns.items()
        flags = [shell_flag(str(COLUMN_FLAGS[role]), column) for role, column in named if role in COLUMN_FLAGS]
        flags += [f"--second-order {self.second_order}"] if self.second_order else []
        flags += [shell_flag("--join-col", name) for name in self.join_col] + ["--by-line"] * self.by_line
        for judge, scale in self.judge_scales.items():
            flags.append(shell_flag("--judge-scale", f"{judge}={scale}" if judge else str(scale)))
        if self.label_scale is not None:
            flags.append(f"--label-scale {self.label_scale}")
        if self.label_map:
            worth = ",".join(f"{word}={value:g}" for word, value in self.label_map.items())
            flags.append(shell_flag("--label-map", worth))
        if self.annotator_rule is not None:
            flags.append(f"--annotator-rule {self.annotator_rule}")
        flags += [shell_flag("--lower-is-better", name) for name in self.lower_is_better]
        flags += [shell_flag("--missing", value) for value in self.missing]
        flags += [shell_flag("--exclude", name) for name in self.exclude]
        flags += [f"--{self.shape}"] if self.shape else []
        flags += [] if self.unlabelled_is is None else [f"--unlabelled-is {self.unlabelled_is:g}"]
        flags += [] if self.depth is None else [f"--depth {self.depth}"]
        return [*flags, *([] if self.unpicked == "random" else [f"--unpicked {self.unpicked}"])]

    def flags_by_option(self) -> dict[str, Sequence[str] | None]:
        """Return the flags of each option that was given; None of one that no flag can state."""
        stated: dict[str, Sequence[str] | None] = {}
        for name, value in {option.name: getattr(self, option.name) for option in fields(self)}.items():
            if name in ("labels", "oracle"):
                if value is not None:
                    stated[name] = [f"--{name} {shell_path(value)}"] if isinstance(value, str | Path) else None
            elif value != getattr(AS_IT_STANDS, name):
                alone = replace(AS_IT_STANDS, **{"labels": self.labels, name: value}).as_flags()
                stated |= {name: alone} if alone else {}
        if not self.named_columns.keys() <= COLUMN_FLAGS.keys():
            stated["columns"] = None
        return stated


AS_IT_STANDS = ReadingOptions()
"""Where nothing was said."""

NO_PROPENSITY: Mapping[str, str] = MappingProxyType({"--propensity-col": "no figure is weighted by propensities"})
"""Flags without which a command does, and why."""

NOT_OF_LABELS: Mapping[str, str] = MappingProxyType(
    {flag.name: "a file of labels has no such column" for role, flag in COLUMN_FLAGS.items() if role not in OF_LABELS}
)
"""Those of columns that a file of labels lacks."""


def values_read(of: Any) -> dict[str, Any]:
    """Return what options, or a table, hold of directions, and of what has no score."""
    values = {name: list(stated) for name in ("lower_is_better", "missing") if (stated := getattr(of, name))}
    return values if of.unpicked == "random" else {**values, "unpicked": of.unpicked}


def keywords_of(function: Callable[..., Any]) -> type:
    """Return the list of keywords that a function decorated with `opens_a_table` takes."""
    taken: type = function.__reading__  # type: ignore[attr-defined]
    return taken


_ROLES = {flag.name.removeprefix("--").replace("-", "_"): role for role, flag in COLUMN_FLAGS.items()}
"""By the argument that names the column of a role, such as ``score_col``."""

_IN_WORDS = {"RowSource": "str, pathlib.Path, pandas.DataFrame or rows as mappings"}
"""Types that are names for type checkers alone."""


def opens_a_table(function: Function) -> Function:
    """Show the keywords of ``**reading`` in a function's signature and documentation, for `help` and notebooks."""
    kind = signature(function).parameters["reading"].annotation
    taken: type = globals()[str(kind).removeprefix("Unpack[").removesuffix("]")]
    kinds = taken.__annotations__
    defaults = {**{option.name: option.default for option in fields(ReadingOptions)}, **dict.fromkeys(_ROLES)}
    parameters = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=kinds[name].__forward_arg__)
        for name, default in defaults.items()
        if name in kinds
    ]
    columns = {name: COLUMN_FLAGS[role].help.replace("repeatable", "or several") for name, role in _ROLES.items()}
    show_keywords(function, "reading", parameters, {**field_texts(ReadingOptions), **columns}, globals() | _IN_WORDS)
    function.__reading__ = taken  # type: ignore[attr-defined]

    def flags(named: Mapping[str, Any]) -> Mapping[str, Sequence[str] | None]:
        return ReadingOptions.of(function, {name: named[name] for name in kinds if name in named}).flags_by_option()

    return takes_numbers(remembers(function, flags))
