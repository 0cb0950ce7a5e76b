import pytest
from jinja2 import UndefinedError
from markupsafe import Markup

from bonwise.report.page.environment import environment, page_bytes, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\nb\tc", "a\nb\tc"),
        ("a\r\nb\rc", "a\nb\\rc"),
        ("\u202eabc\u2066", "\\u202eabc\\u2066"),
        ("\x00\x07\x1b\x7f\x85", "\\x00\\x07\\x1b\\x7f\\x85"),
        ("\ud800", "\\ud800"),
        ("\u0645\u06cc\u200c\u062e\u0648 \U0001f469\u200d\U0001f52c a\xa0b\u3000c",) * 2,
        ("\u2028\u2029\ufeff\U000e0041", "\\u2028\\u2029\\ufeff\\U000e0041"),
    ],
)
def test_what_cannot_be_seen_is_written_out(text, shown):
    """Lines, tabs, wide spaces and joiners stay; controls, bidi marks and lone surrogates are written out."""
    assert visible(text) == shown
    visible(text).encode("utf-8")


@pytest.mark.parametrize(
    "text", ["plain", "a\r\nb\tc", "\u4e2d\u6587", "<a href=\"'&'\">", "\u202e\x1b\ud800\U000e0041"]
)
def test_bytes_are_those_that_a_template_writes(text):
    """What a text takes is what the page holds of it."""
    shown = environment().from_string("{{ text }}").render(text=text)
    assert page_bytes(text) == len(shown.encode())


def test_every_value_is_escaped_and_made_visible():
    """A template cannot show a value as it came, whatever is in it."""
    made = environment().from_string("{{ given }}|{{ given | line }}|{{ markup }}")
    shown = made.render(given="<b>\n\u202e{{ 7 * 7 }}", markup=Markup("<i>x</i>"))
    assert shown == "&lt;b&gt;\n\\u202e{{ 7 * 7 }}|&lt;b&gt;\\n\\u202e{{ 7 * 7 }}|<i>x</i>"


def test_an_unknown_name_is_an_error():
    """A misspelt name does not become an empty place on the page."""
    with pytest.raises(UndefinedError):
        environment().from_string("{{ nobody }}").render()


@pytest.mark.parametrize(
    ("name", "address"),
    [("a b.csv", "./a%20b.csv"), ("javascript:alert(1)", "./javascript%3Aalert%281%29"), ('"x', "./%22x")],
)
def test_the_name_of_a_file_is_no_scheme(name, address):
    """Whatever a file is called, its link is relative."""
    assert environment().from_string("{{ name | address }}").render(name=name) == address


def test_a_drawing_takes_no_more_room_than_it_was_made_for():
    """A small drawing is not blown up, and one that says no width may fill its column."""
    made = environment().from_string("{{ svg | room }}")
    assert made.render(svg='<svg viewBox="0 0 331.2 216">') == "32.1"
    assert made.render(svg="<svg>") == "36"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("effective_agreement_decided", "effective_|agreement_|decided"),
        ("tie_rate within_r top1_accuracy", "tie_|rate within_r top1_accuracy"),
        ("openai/gpt-4o-mini-2024-07-18", "openai/|gpt-|4o-|mini-|2024-|07-|18"),
        ("a-b/c_d", "a-b/c_d"),
        ("x" * 60, f"{'x' * 24}|{'x' * 24}|{'x' * 12}"),
        ("word " * 20, "word " * 20),
        ("<b>" * 9, "|".join(["&lt;b&gt;" * 8, "&lt;b&gt;"])),
        ("x" * 23 + "e\u0301y", "x" * 23 + "e\u0301|y"),
    ],
)
def test_long_names_break_at_their_joints(text, shown):
    """A cell may break after underscores, and long words after hyphens and slashes or where nothing else helps."""
    assert environment().from_string("{{ text | cell }}").render(text=text) == shown.replace("|", "<wbr>")


def test_half_a_surrogate_pair_is_no_address():
    """A name that no file can have still makes a relative address."""
    assert environment().from_string("{{ name | address }}").render(name="a\ud800:b").startswith("./a%5Cud800%3A")
