"""Documents damaged at random, of every kind there is: refused in one sentence, or shown in every form, soon."""

from __future__ import annotations

import copy
import json
import pickle
import random
import re
import signal
from collections import Counter
from contextlib import contextmanager
from functools import cache

import pandas as pd
import pytest

import bonwise as bw
from bonwise.declared import words
from bonwise.errors import BonwiseError, FileError
from bonwise.loading import json_schema
from bonwise.report.page import view
from bonwise.report.show import is_described
from results.mutations import RAW, text_of
from results.samples import samples_of, shapes_of

EVERY = 4000
"""Mutations of each kind of document in the full run."""

SOME = 3
"""Of them by default."""

SECONDS = 4.0
"""Of CPU, for each form in which a document is shown; a page has more for each of its drawings."""

DRAWING = 0.5
"""Of CPU, for a drawing."""

DRAWN = 100
"""Drawings of a page: more are left out."""

WORDS = words()

NUMBERS = (
    *(0, 1, -1, 2, 3, 7, 1000, 2**31, 2**53, 2**53 + 1, 10**30, 10**400, -(10**30)),
    *(0.5, 1.5, -0.5, 1e-300, 5e-324, 1e300, -1e300, 1.7e308, -0.0, 0.1 + 0.2),
    *RAW,
)
HOSTILE = (
    *("\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "\x9b2J", "a\rb", "a\nb\n\nc", "\0", "\u202eabc", "\u2028", "\ufeff"),
    *(
        "<script>alert(1)</script>",
        "[red]x[/red]",
        "[/]",
        "{{ 7 * 7 }}",
        "{0}",
        "%s",
        "| a | b |\n| - | - |",
        "`",
        "$x_",
    ),
    *("", " ", "\t", "a" * 100_000, "a b " * 25_000, "\N{GRINNING FACE}" * 5000, "[" * 5000, "$" * 999, "\\frac{"),
)


@cache
def names():
    """Return the words that any document has for a choice between several."""
    found = set()

    def walk(schema):
        if isinstance(schema, dict):
            found.update(one for one in (*schema.get("enum", ()), schema.get("const")) if isinstance(one, str))
        for inner in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
            walk(inner)

    for word in WORDS:
        walk(json_schema(word))
    return sorted(found)


def places(value, path=()):
    """Yield the path of every value inside a value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, held in inner:
        yield (*path, key)
        yield from places(held, (*path, key))


@cache
def shapes(word):
    """Return the documents of a schema, one of every kind."""
    return shapes_of({word})


@cache
def patterns(word, at):
    """Return the paths of a document by their pattern, in which every position of a list is the same."""
    found = {}
    for path in places(shapes(word)[at].document):
        found.setdefault(tuple("*" if isinstance(key, int) else key for key in path), []).append(path)
    return list(found.values())


def at(document, path):
    """Return the value at a path."""
    for key in path:
        if isinstance(document, str):
            raise TypeError("a letter of a text is no place")
        document = document[key]
    return document


class Damage:
    """Changes of one copy of a document; each way is a method without arguments that returns what it did."""

    def __init__(self, word, chance):
        self.chance = chance
        number = chance.randrange(len(shapes(word)))
        self.sample, self.patterns = shapes(word)[number], patterns(word, number)
        self.document = copy.deepcopy(self.sample.document)
        self.twice = None

    def done(self):
        """Change something, and say what: the way and the place."""
        ways = [name for name in vars(Damage) if name.startswith("by_")]
        for _ in range(50):
            path = self.chance.choice(self.chance.choice(self.patterns))
            try:
                holder, value = at(self.document, path[:-1]), at(self.document, path)
            except (KeyError, IndexError, TypeError):
                continue  # an earlier change took it away
            way = self.chance.choice(ways)
            if getattr(self, way)(holder, path[-1], value):
                return f"{way.removeprefix('by_')} at {'.'.join(map(str, path))[:200]}"
        return "nothing"

    def text(self):
        """Return the JSON, one of its keys twice where that is the damage."""
        text = text_of(self.document)
        return text if self.twice is None else text.replace(*self.twice, 1)

    def by_dropping(self, holder, key, _):
        """A key or an entry is not there."""
        del holder[key]
        return True

    def by_null(self, holder, key, _):
        """Nothing stands there."""
        holder[key] = None
        return True

    def by_type(self, holder, key, _):
        """A value of another type."""
        holder[key] = self.chance.choice([True, False, "text", "3", [], {}, [None], {"a": 1}, 3, 1.5, [[1, 2], [3]]])
        return True

    def by_number(self, holder, key, value):
        """A number beyond what is usual, or none at all."""
        if not isinstance(value, int | float):
            return False
        holder[key] = self.chance.choice(NUMBERS)
        return True

    def by_near_number(self, holder, key, value):
        """A number that is a little or much off."""
        if not isinstance(value, int | float) or isinstance(value, bool):
            return False
        holder[key] = self.chance.choice([-value, value * 2, value + 1, value - 1, 1 - value, value / 2, value * 1e6])
        return True

    def by_count(self, holder, key, value):
        """A whole number that stands elsewhere in the document, or one more or less."""
        if not isinstance(value, int) or isinstance(value, bool):
            return False
        others = [held for path in places(self.document) if type(held := at(self.document, path)) is int]
        holder[key] = self.chance.choice([value + 1, value - 1, value * 10, 0, 1, *others])
        return True

    def by_length(self, holder, key, value):
        """A list longer or shorter than what belongs to it."""
        if not isinstance(value, list):
            return False
        some = self.chance.randrange(len(value) + 1)
        holder[key] = self.chance.choice(
            [value[:some], value[1:], value[:-1], [], [*value, *value[-1:]], value * 2, value[:1] * 5, [*value, None]]
        )
        return True

    def by_many(self, holder, key, value):
        """A thousand times the entries."""
        if not isinstance(value, list | dict) or not value or len(text_of(value)) > 5000:
            return False
        if isinstance(value, list):
            holder[key] = value * 1000
        else:
            holder[key] = {**value, **{f"more {at}": next(iter(value.values())) for at in range(1000)}}
        return True

    def by_order(self, holder, key, value):
        """The same entries in another order."""
        if not isinstance(value, list | dict) or len(value) < 2:
            return False
        order = list(value.items() if isinstance(value, dict) else value)
        self.chance.shuffle(order)
        holder[key] = dict(order) if isinstance(value, dict) else order
        return True

    def by_key(self, holder, key, value):
        """A key that is unknown, hostile, or of another entry, in place of the right one or beside it."""
        if not isinstance(holder, dict):
            return False
        other = self.chance.choice([f"{key}_", "unknown", *HOSTILE, *names(), *holder])
        if other == key or self.chance.random() < 0.3:
            holder[other] = copy.deepcopy(value)
        else:
            order = [(other if name == key else name, held) for name, held in holder.items()]
            holder.clear()
            holder.update(order)
        return True

    def by_key_twice(self, holder, key, _):
        """One key twice in the JSON."""
        if not isinstance(holder, dict):
            return False
        self.twice = (f"{json.dumps(key)}: ", f"{json.dumps(key)}: null, {json.dumps(key)}: ")
        return True

    def by_text(self, holder, key, value):
        """A text that terminals, pages or figures might take for more."""
        if not isinstance(value, str):
            return False
        holder[key] = self.chance.choice(HOSTILE)
        return True

    def by_name(self, holder, key, value):
        """A word that another field may have, or a text that stands elsewhere in the document."""
        if not isinstance(value, str):
            return False
        texts = [held for path in places(self.document) if isinstance(held := at(self.document, path), str)]
        holder[key] = self.chance.choice(self.chance.choice([names(), texts or names(), ["unknown"]]))
        return True

    def by_doubling(self, _holder, _key, value):
        """The same entry for two of a list, or under two keys."""
        if not isinstance(value, list | dict) or len(value) < 2:
            return False
        keys = list(value) if isinstance(value, dict) else range(len(value))
        value[self.chance.choice(keys)] = copy.deepcopy(value[self.chance.choice(keys)])
        return True

    def by_swap(self, holder, key, value):
        """What stands at another place with a value of the same type stands here, and the other way round."""
        others = [path for path in places(self.document) if type(at(self.document, path)) is type(value)]
        path = self.chance.choice(others)
        if at(self.document, path) == value:
            return False
        other = at(self.document, path[:-1])
        holder[key], other[path[-1]] = copy.deepcopy([other[path[-1]], value])
        return True

    def by_graft(self, holder, key, _):
        """What another document of the schema holds under the same key."""
        other = self.chance.choice(samples_of({self.sample.word})).document
        fitting = [path for path in places(other) if path[-1] == key and isinstance(key, str)]
        if not fitting:
            return False
        holder[key] = copy.deepcopy(at(other, self.chance.choice(fitting)))
        return True


def damaged(word, at):
    """Return the JSON of a mutation of a document, and what was done: the same for the same number."""
    chance = random.Random(f"{word} {at}")  # noqa: S311 - repeated, not secret
    damage = Damage(word, chance)
    done = [damage.done() for _ in range(chance.choice([1, 1, 1, 2]))]
    return damage.text(), f"{word} {at}, {damage.sample.name}: {'; '.join(done)}"


UNFIT = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""What no terminal should be sent."""


@contextmanager
def soon(name, seconds=SECONDS):
    """Stop what takes too long."""

    def stop(*_):
        raise TimeoutError(f"{name} takes more than {seconds} s")

    former = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, former)


def shown(document, folder):
    """Show a document in every form; what is for programs alone has few."""
    forms = {"text": document.__str__, "full text": lambda: document.to_text(full=True), "frame": document.to_frame}
    if is_described(document):
        forms |= {
            "Markdown": document.to_markdown,
            "page": lambda: document.to_html(folder / "page.html"),
            "drawings": lambda: [drawing.to_frame() for drawing in document.drawings],
        }
    for name, form in forms.items():
        # What is drawn first takes longer.
        drawings = 1 + min(len(document.drawings), DRAWN) if name in {"page", "drawings"} else 0
        with soon(name, SECONDS + DRAWING * drawings):
            result = form()
        yield name, result


class Faults(list):
    """What went wrong, with what was done to the document before; it may go on after each."""

    def __enter__(self):
        return self

    def __exit__(self, _kind, error, _trace):
        """Note what went wrong, and go on."""
        if isinstance(error, Exception):
            self.append(f"{self.done}: {error!r:.500}")
        return isinstance(error, Exception)

    def look(self, word, at, folder):
        """Load a damaged document and show it; return whether it was loaded."""
        text, self.done = damaged(word, at)
        document = None
        with self:
            document = loaded(text, folder)
            if document is not None:
                self.done += ", loaded"
                looked_at(document, folder)
        return document is not None


def loaded(text, folder):
    """Return the document, None where it is refused in one sentence."""
    path = folder / "document.json"
    path.write_text(text, encoding="utf-8")
    try:
        with soon("load"):
            return bw.load(path)
    except BonwiseError as error:
        message = error.message
    assert message.isprintable()
    assert len(message) < 700
    return None


def looked_at(document, folder):
    """Show a document; it sends a terminal nothing but text, and a browser no script of its own."""
    for name, result in shown(document, folder):
        if name in {"text", "full text", "Markdown"} and is_described(document):
            assert UNFIT.search(result) is None, name
        if name == "frame":
            assert isinstance(result, pd.DataFrame)
        if name == "page":
            assert "<script>alert(" not in (folder / "page.html").read_text("utf-8")


@contextmanager
def drawn_once():
    """Draw what is drawn of the same data once: most of the time goes there, and most damage is elsewhere."""
    draw, drawn = view._figure, {}

    def figure_of(drawing, addresses):
        try:
            data = pickle.dumps(
                (drawing.painter, drawing.data, drawing.title, drawing.says, drawing.key, drawing.size)
            )
        except (pickle.PicklingError, AttributeError, TypeError):
            return draw(drawing, addresses)
        same = (data, addresses.prefix, addresses.taken[drawing.key])
        if same in drawn:
            addresses.of(drawing.key)
        else:
            drawn[same] = draw(drawing, addresses)
        return drawn[same]

    view._figure = figure_of
    try:
        yield
    finally:
        view._figure = draw


def outcomes(word, numbers, folder):
    """Return how many mutations were loaded and refused, and what went wrong."""
    whole = bw.load(shapes(word)[0].write(folder))
    assert str(whole)  # whatever is imported to print it is imported at first
    faults = Faults()
    with drawn_once():
        counted = Counter(faults.look(word, at, folder) for at in numbers)
    return counted, list(faults)


@pytest.mark.parametrize("count", [SOME, pytest.param(EVERY, marks=pytest.mark.slow)])
@pytest.mark.parametrize("word", WORDS)
def test_a_damaged_document_is_refused_or_shown(word, count, tmp_path, record_property):
    """Nothing but a sentence stops a document, and none that is loaded fails to be shown."""
    record_property("attacks", count)
    counted, faults = outcomes(word, range(count), tmp_path)
    assert faults == []
    assert counted.total() == count
    assert count == SOME or min(counted[True], counted[False]) >= count / 10


UNKNOWN = {"estimate": None, "low": None, "high": None, "se": None, "n": 0, "interval": None, "method": "complete"}

CONTRADICTING = {
    "no verdict": ("audit", "golden/audit/audit.json", ("verdict",), None, "verdict is missing"),
    "no metrics": ("audit", "golden/audit/audit.json", ("metrics",), None, "metrics is missing"),
    "a check that lacks": (
        *("audit", "golden/audit/audit.json", ("verdict", "checks", "decision"), ...),
        "verdict.checks lacks decision",
    ),
    "infinite in percent": (
        *("audit", "golden/audit/audit.json", ("metrics", "recovery", "low"), -1.7e308),
        "metrics.recovery.low should be a finite number",
    ),
    "infinitely wide": (
        *(
            "confidence",
            "golden/confidence/intervals.json",
            ("judges", "judge", "metrics", "coverage", "high"),
            1e307,
        ),
        "coverage.high should be a finite number, not one beyond 1e300",
    ),
    "a baseline of one share": (
        *("factor_study", "golden/factor_study/study.json.gz", ("by_labels", 1, "baselines", "constant"), ...),
        "by_labels should have the same baselines in every entry",
    ),
    "no baseline": (
        *("factor_study", "golden/factor_study/study.json.gz", ("by_labels", 0, "baselines"), {}),
        "by_labels[0].baselines should not be empty",
    ),
    "a stack without recovery": (
        *("stack", "golden/stack/printed.json.gz", ("metrics", "recovery"), ...),
        "metrics lacks recovery",
    ),
    "what a judge outside the stack is worth": (
        *(
            "stack",
            "golden/stack/printed.json.gz",
            ("worth", "another"),
            {"loss": UNKNOWN, "recovery": None, "calls": 0.0},
        ),
        "has a worth of a judge whose scores are not among model.features",
    ),
    "a baseline without gain": (
        *("stack", "golden/stack/printed.json.gz", ("baselines", "mean of z-scores", "metrics", "gain"), ...),
        "metrics lacks gain",
    ),
}
"""What was loaded and could not be shown: a value, or `...` for none, at a place of a document; and the refusal."""


@pytest.mark.parametrize("name", CONTRADICTING)
def test_what_could_not_be_shown_is_refused(name, tmp_path):
    """A field that a page needs is checked when the document is loaded, and named."""
    word, sample, path, value, words_of_refusal = CONTRADICTING[name]
    document = copy.deepcopy(next(one for one in samples_of({word}) if one.name == sample).document)
    holder = at(document, path[:-1])
    if value is ...:
        del holder[path[-1]]
    else:
        holder[path[-1]] = value
    file = tmp_path / "document.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(FileError, match=re.escape(words_of_refusal)):
        bw.load(file)


def test_more_wanted_recoveries_than_fit_are_counted(tmp_path):
    """Of a thousand a hundred are drawn, soon."""
    name = "golden/study_requirements/study.json"
    (document,) = (copy.deepcopy(sample.document) for sample in samples_of({"study"}) if sample.name == name)
    judge = document["judges"]["judge"]
    judge["targets"] = judge["targets"][:1] * 1000
    study = loaded(json.dumps(document), tmp_path)
    looked_at(study, tmp_path)
    assert any("The first 100 of 1,000 wanted recoveries are drawn." in drawing.says for drawing in study.drawings)


def test_more_baselines_than_a_drawing_has_rows_are_drawn(tmp_path):
    """The page draws the first ones, each in its colour, and says how many there are."""
    (document,) = (
        sample.document for sample in samples_of({"stack"}) if sample.name == "golden/stack/printed.json.gz"
    )
    usual = next(iter(document["baselines"].values()))
    document = {**document, "baselines": {f"baseline {number}": usual for number in range(200)}}
    stack = loaded(json.dumps(document), tmp_path)
    looked_at(stack, tmp_path)
    assert any("rows are drawn" in drawing.says for drawing in stack.drawings)


SHOWN = {
    "a name of markup": ("factor_comparison", "golden/factor/comparison.json", ("model",), "[/]"),
    "an end beyond whole numbers": (
        *("confidence", "golden/confidence/statements.json", ("judges", "judge", "bins", 0, "observed", "high")),
        10**30,
    ),
    "an end that no line has room for": (
        *("audit", "golden/audit_drawn_labels/pairs.json", ("metrics", "hit_rate", "high"), 1e300),
    ),
    "an end that is told apart from one half": (
        *("votes", "golden/preferences/half.json.gz", ("pairs", 1, "win_rate", "high")),
        -1e300,
    ),
    "a scale whose square is beyond doubles": ("draw_model", "kept/model.json", ("high",), 1e300),
}
"""What is odd and sound: a value at a place of a document."""


@pytest.mark.parametrize("name", SHOWN)
def test_what_is_odd_and_sound_is_shown(name, tmp_path):
    """It is loaded and shown in every form."""
    word, sample, path, value = SHOWN[name]
    document = copy.deepcopy(next(one for one in samples_of({word}) if one.name == sample).document)
    at(document, path[:-1])[path[-1]] = value
    shown_document = loaded(json.dumps(document), tmp_path)
    assert shown_document is not None
    looked_at(shown_document, tmp_path)


LONG = {
    "tables": ("confidence", "golden/confidence/intervals.json", ("judges",), 1000),
    "rows": ("factor_leaderboard", "golden/factor/leaderboard.json", ("models",), 1000),
    "columns of words": ("factor_comparison", "golden/factor/comparison.json", ("gaps",), 1000),
}


@pytest.mark.parametrize("name", LONG)
def test_a_long_document_is_printed_in_part(name, tmp_path):
    """Its text ends soon, and says where more is: in the full text, and of a long one of these in the JSON."""
    word, sample, path, times = LONG[name]
    document = copy.deepcopy(next(one for one in samples_of({word}) if one.name == sample).document)
    entries = at(document, path)
    many = entries * times if isinstance(entries, list) else dict.fromkeys(map(str, range(times)), entries["judge"])
    at(document, path[:-1])[path[-1]] = many
    file = tmp_path / "document.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    read = bw.load(file)
    for full in (False, True):
        with soon("text", 4 * SECONDS if full else 2 * SECONDS):  # whatever it takes to print is imported too
            text = read.to_text(full=full)
        more = "\nMore is on the page and in the JSON document." if full else ": add --full, or to_text(full=True)"
        assert text.endswith(more) if full else more in text
        assert len(text) < (500_000 if full else 5_000)


def test_a_page_draws_so_many_figures(tmp_path, monkeypatch):
    """Beyond the limit it says how many it leaves out, and how to draw them."""
    sample = next(one for one in samples_of({"confidence"}) if one.name == "golden/confidence/pairs.json")
    document = copy.deepcopy(sample.document)
    document["judges"] = dict.fromkeys("abc", next(iter(document["judges"].values())))
    file = tmp_path / "document.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    read = bw.load(file)
    assert view._MOST_DRAWINGS == DRAWN
    monkeypatch.setattr(view, "_MOST_DRAWINGS", 2)
    read.to_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    assert len(read.drawings) == 3
    assert page.count("<figure") == 2
    assert "1 figure left out: a page draws the first 2; plot() draws any." in page
