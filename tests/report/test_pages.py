"""Pages: what they hold, what they find, what is never run in them, where the documentation is."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import pickle
import re
from dataclasses import replace
from email.message import Message
from functools import cache
from html.parser import HTMLParser
from itertools import pairwise

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from jinja2 import UndefinedError
from markupsafe import Markup

import bonwise as bw
from bonwise.auditing.page import audit_page
from bonwise.auditing.result_exhibits import Note
from bonwise.errors import InputError, UsageError
from bonwise.report.blocks import Card, CardMark, Cards, Column, Part, Row, Said, Table, decisive_first
from bonwise.report.page import docs_site as module
from bonwise.report.page.canvas import drawn
from bonwise.report.page.docs_site import docs_site
from bonwise.report.page.environment import environment, page_bytes, visible
from bonwise.report.page.rendered import fragment, whole_page
from bonwise.report.show import notebook, page
from report.audits import audited, changed, exhibits, several

HOSTILE = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "</style></script></title><svg onload=alert(1)>",
    '" autofocus onfocus="alert(1)',
    "{{ 7 * 7 }}{% raw %}{# x #}",
    "javascript:alert(1)",
    "=HYPERLINK(1)",
    "\u202eabc\u2066\x00\x1b[31m",
    "]]><!--",
    "x" * 5000,
)


VOID = frozenset({"meta", "link", "input", "br", "img"})

DRAWN = frozenset({"g", "path", "text", "tspan", "use", "defs", "clippath", "rect", "image", "circle", "title"})
"""What a drawing is made of."""


class Reader(HTMLParser):
    """Collects the tags outside of drawings with their attributes, and checks that all tags close."""

    def __init__(self):
        super().__init__()
        self.tags, self.inside, self.ids = [], [], []

    def handle_starttag(self, tag, attrs):
        """Note a tag; in a drawing nothing but drawing is allowed."""
        self.ids += [value for name, value in attrs if name == "id"]
        if tag == "wbr":  # a place to break, not a part
            return
        if "svg" in self.inside:
            assert tag in DRAWN
            assert not [name for name, _ in attrs if name.startswith("on")]
        else:
            self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.inside.append(tag)

    def handle_startendtag(self, tag, attrs):
        """Note a tag that is its own end."""
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag):
        """Compare the end of a tag with its start."""
        if tag not in VOID:
            assert self.inside.pop() == tag

    def of(self, tag):
        """Return the attributes of all tags of one name."""
        return [attrs for name, attrs in self.tags if name == tag]

    @property
    def outline(self):
        """Tags and the names of their attributes, in no order."""
        return sorted((tag, sorted(attrs)) for tag, attrs in self.tags)


def read(text):
    """Read a page to its end."""
    reader = Reader()
    reader.feed(text)
    assert reader.inside == []
    return reader


@pytest.fixture(scope="module")
def whole():
    """Return the page of one judge with prompts."""
    return audit_page(audited({"recovery": 0.1}), exhibits(["judge"]), more="rest of it.csv")


def test_the_policy_allows_the_one_script_and_nothing_from_elsewhere(whole):
    """The hash in the policy is that of the script on the page; nothing else may run or load."""
    scripts = re.findall(r"<script>(.*?)</script>", whole, re.DOTALL)
    assert len(scripts) == 1
    digest = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
    policy = next(meta["content"] for meta in read(whole).of("meta") if "http-equiv" in meta)
    assert f"script-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")


def test_nothing_on_the_page_points_elsewhere(whole):
    """No address of the page leads to another host; the names of the SVG standard are no addresses."""
    for tag, attrs in read(whole).tags:
        for name in ("src", "href", "xlink:href", "action", "srcset"):
            target = attrs.get(name)
            assert target is None or re.match(r"#|data:|\./", target), (tag, name, target)
    assert "@import" not in whole
    assert not re.search(r"url\((?!#)", whole)


def test_addresses_on_the_page_mean_one_thing_and_lead_somewhere(whole):
    """Every id is there once, and every link on the page has its target."""
    tags, ids = read(whole).tags, read(whole).ids
    assert len(ids) == len(set(ids))
    links = {attrs["href"][1:] for tag, attrs in tags if tag == "a" and attrs["href"].startswith("#")}
    assert links <= set(ids)


def test_headings_go_down_one_level_at_a_time(whole):
    """One first-level heading, and no level left out."""
    levels = [int(tag[1]) for tag, _ in read(whole).tags if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_the_page_works_without_its_script(whole):
    """Controls that need the script are off until it turns them on, and what opens is open."""
    reader = read(whole)
    assert all("disabled" in button for button in reader.of("button"))
    assert all("hidden" not in attrs for _, attrs in reader.tags)
    assert ":root:not(.script) .finder { display: none; }" in whole
    assert ".script .prompts tr.inside:not(.open) { display: none; }" in whole


@cache
def _page_about(name):
    """Return a page that says a name wherever a file could have said it."""
    document = changed(
        several([name, "other"]),
        settings={"source": name, "exclude": [name]},
        not_audited={name: name},
        covariates={name: name},
    )
    note = Note.on(name, name)
    return audit_page(document, exhibits(list(document.judges), text=name), [note], more=name)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_stays_text(text):
    """Whatever is in names and texts adds no element, no attribute and no script to the page."""
    shown = _page_about(text)
    # A name too long for its row stands inside once more.
    assert read(shown).outline == read(_page_about("plain" if len(text) < 60 else "z" * len(text))).outline
    assert not {"\u202e", "\u2066", "\x00", "\x1b"} & set(shown)
    assert ("{{ 7 * 7 }}" in text) == ("{{ 7 * 7 }}" in shown)


def test_a_fragment_is_scoped_and_shares_no_address():
    """In a notebook all styles are below one address, nothing runs, and two outputs have no id in common."""
    first, second = notebook(audited()), notebook(audited(confidence=0.9))
    reader = read(first)
    assert not reader.of("script")
    style = re.search(r"<style>(.*?)</style>", first, re.DOTALL).group(1)
    selectors = re.findall(r"(?:^|[{}])\s*([^{}@;]+)\{", re.sub(r"@media[^{]*", "", style))
    assert selectors
    [address] = re.findall(r'<div class="bonwise" id="([^"]+)">', first)
    assert "rem" not in style
    assert all(
        f"#{address}" in one for chosen in filter(str.strip, selectors) for one in re.split(r",(?![^(]*\))", chosen)
    )
    ids = [set(read(one).ids) for one in (first, second)]
    assert ids[0]
    assert not ids[0] & ids[1]
    assert len(reader.of("svg")) <= 2
    assert not [tag for tag, _ in reader.tags if re.fullmatch(r"h[1-6]", tag)]


def test_commands_stand_as_code():
    """A column of commands is code that keeps to its line, escaped like anything else."""
    columns = (Column("step", "words"), Column("type", "command"))
    shown = whole_page(Part("All", [Table.of(columns, [("one", "bonwise <x> --y 'a b'")], "Steps")]))
    assert '<td class="words code"><code>bonwise &lt;x&gt; --y &#39;a b&#39;</code>' in shown
    assert '<th scope="row"><bdi>one</bdi>' in shown


def test_a_document_without_a_page_is_refused():
    """The error names the schema of a document that programs alone read."""
    with pytest.raises(UsageError, match=r"bonwise\.exhibits/1"):
        page(exhibits(["judge"]))


def _luminance(colour):
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_words_can_be_read_on_their_ground(mode):
    """Contrast of everything written is 4.5 and more on the paper and on what is raised from it (WCAG AA)."""
    colours = dict(re.findall(r"--(\w+): (#[0-9a-f]{6});", environment().get_template(f"{mode}.css").render()))
    for ground in ("paper", "raised"):
        for word in ("ink", "muted", "judge", "oracle", "other", "good", "bad", "open"):
            light, dark = sorted((_luminance(colours[word]), _luminance(colours[ground])), reverse=True)
            assert (light + 0.05) / (dark + 0.05) >= 4.5, (word, ground)
        light, dark = sorted((_luminance(colours["random"]), _luminance(colours[ground])), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 3


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


def test_in_a_verdict_headlines_stand_before_other_tables():
    """Figures to read first come first, whatever else a verdict holds."""
    plain = Table.of([Column("name", "words")], [["a"]])
    verdict = Part("Useful", [plain, replace(plain, role="headlines"), replace(plain, role="facts")], "verdict")
    first = decisive_first(verdict).blocks
    assert [block.role for block in first] == ["headlines", "table", "facts"]


def test_what_a_notebook_shows_in_full_is_not_folded_below_it():
    """Of a verdict what is not read first is folded; outcomes stand in full, and once."""
    cells, behind = (Table.of([Column("name", "words")], [[words]]) for words in ("of the outcomes", "behind it"))
    verdict = Part("Useful", [Said("lead", "It is."), behind], "verdict")
    written = fragment(Part("A judge", [verdict, Part("", [cells], "outcomes")]))
    assert written.count("of the outcomes") == written.count("behind it") == 1
    assert written.index("of the outcomes") < written.index("behind it")


# Where the documentation is: named, stated by the package, or unknown.


@pytest.fixture
def stated(monkeypatch):
    """Let the installed package state addresses."""

    def state(*lines):
        found = Message()
        for line in lines:
            found["Project-URL"] = line
        monkeypatch.setattr(module, "metadata", lambda _: found)

    monkeypatch.delenv("BONWISE_DOCS", raising=False)
    return state


@pytest.mark.parametrize("said", ["https://a.b/docs", "http://localhost:8000", "file:///srv/docs"])
def test_an_address_ends_with_one_slash(said):
    """Pages are named below it."""
    assert docs_site(said) == docs_site(f"{said}/") == f"{said}/"


def test_the_environment_names_it(monkeypatch, stated):
    """What a user says comes before what the package states."""
    stated("Documentation, https://stated.example/")
    monkeypatch.setenv("BONWISE_DOCS", "https://named.example/")
    assert docs_site() == "https://named.example/"


def test_a_folder_is_one_of_a_built_site(tmp_path):
    """A folder without a first page is none."""
    site = tmp_path / "built here 中"
    site.mkdir()
    (site / "index.html").write_text("", encoding="utf-8")
    assert docs_site(str(site)) == f"{site.as_uri()}/"
    (site / "index.html").unlink()
    with pytest.raises(UsageError, match="neither an address nor a folder of a built site"):
        docs_site(str(site))


@pytest.mark.parametrize(
    "said",
    [
        "javascript:alert(1)",
        "data:text/html,x",
        "docs.example.org",
        "https://a b/",
        "https://a\x1b[2J",
        "a\0b",
        "x" * 9000,
    ],
)
def test_anything_else_is_refused_in_one_line(said):
    """A script, a bare name and hostile text are no address."""
    with pytest.raises(UsageError, match="BONWISE_DOCS is neither") as refused:
        docs_site(said)
    assert str(refused.value).isprintable()
    assert len(str(refused.value)) < 500


def test_the_package_states_it(stated):
    """The label is compared as packaging tools compare it."""
    stated("Source, https://code.example", "documentation , https://docs.example/bonwise")
    assert docs_site() == "https://docs.example/bonwise/"


def test_nobody_says_it(stated):
    """Pages have no such links then."""
    stated("Source, https://code.example")
    assert docs_site() is None
    stated()
    assert docs_site("") is None


BAD = "<script>alert(1)</script>|\x1b[31m"


def described(*inside, title="Search pools", name="p0"):
    """Return a description with a finder of one row."""
    columns = (Column("prompt", "name"), Column("calls"))
    finder = Table(columns, [Row((name, "1,200"), values=(None, 1200), inside=inside)], title, "finder")
    return Part("All", [Said("finding", "found"), Part("Pools", [finder])])


def body(markup):
    """Return the markup without styles and scripts, and blanks made one."""
    return " ".join(re.sub(r"<(style|script)[^>]*>.*?</\1>", "", markup, flags=re.DOTALL).split())


def seen(markup):
    """Return the text of some markup."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", body(markup.replace("<wbr>", "")))).split())


def test_a_row_opens_to_its_cards():
    """A card shows its marks, its figures, what is said beside them and its text; its class is that of its marks."""
    card = Card(
        "c1",
        (CardMark("picked", "picked, one of 2 tied"), CardMark("best", "best")),
        (("score", "0.5"), ("draws", "3")),
        "not scored: late",
        (Said("quoted", "the text"), Said("note", "7 more characters are not shown here.")),
    )
    markup = whole_page(described(Said("finding", "why"), Cards((card, Card("c2")), "Candidates")))
    shown = (
        "Candidates c1 picked, one of 2 tied best score 0.5 , draws 3 ; not scored: late the text 7 more characters"
    )
    assert shown in seen(markup)
    assert '<li class="picked best">' in markup
    assert '<p class="held"></p>' not in body(markup)
    assert "Search pools" in seen(markup)
    assert 'data-v="1200"' in markup


def test_a_long_name_stands_whole_in_the_opened_row():
    """A name that is cut in the table is whole below it; a short one is not said again."""
    markup = whole_page(described(name="n" * 100))
    assert f'<p class="who"><bdi>{"n" * 100}</bdi></p>' in markup
    assert '<p class="who">' not in whole_page(described())


def test_a_finder_is_for_pages_alone():
    """A notebook runs no script, so it shows the other parts."""
    assert "Pools" not in fragment(described())
    assert "found" in fragment(described())


def test_whatever_a_card_holds_stays_text():
    """Names, marks, figures, notes and texts are escaped, and what cannot be seen is written out."""
    card = Card(
        BAD, (CardMark("picked", BAD),), ((BAD, BAD),), BAD, (Said("quoted", BAD), Part(BAD, [Said("note", BAD)]))
    )
    markup = body(whole_page(described(Cards((card,), BAD), title=BAD, name=BAD)))
    assert "alert(1)" in markup
    assert "<script>alert" not in markup
    assert "\x1b" not in markup


def test_the_readers_own_settings_change_no_drawing():
    """Fonts, colours, grids and TeX that matplotlib is set to are for other pictures: the bytes are the same."""
    plain = drawn(lambda axes: axes.plot([0, 1], [0, 1], label="a"), key="line")
    hostile = {
        "text.usetex": True, "axes.grid": True, "font.size": 30, "lines.linewidth": 9, "axes.facecolor": "red",
        "svg.fonttype": "path", "savefig.dpi": 10, "axes.prop_cycle": mpl.cycler(color=["pink"]),
    }  # fmt: skip
    with mpl.rc_context(hostile):
        assert drawn(lambda axes: axes.plot([0, 1], [0, 1], label="a"), key="line") == plain
        assert mpl.rcParams["font.size"] == 30


# Prompts with their answers, on the pages of comparisons, routes and logs.


NAMES_OF_POOL = ("a", "b", "c")


def picks_at(path, move, **more):
    """Write picks of 30 prompts: of a pool of three the best, or the one so many places after it."""
    lines = [
        {"prompt_id": f"p{at}", "ids": [*NAMES_OF_POOL], "best": NAMES_OF_POOL[(at + move(at)) % 3], **more}
        for at in range(30)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def labelled_pools(folder, text):
    """Return labels by which each prompt has another best candidate, and a file of pools with a text."""
    labels = [
        {"prompt_id": f"p{at}", "candidate": name, "oracle_label": 1 - (place - at) % 3 / 2 * (1 + at / 100) / 2}
        for at in range(30)
        for place, name in enumerate(NAMES_OF_POOL)
    ]
    pools = [
        {
            "prompt_id": f"p{at}",
            "prompt": f"ask {at} {text}",
            "candidates": [{"id": name, "text": f"{name} of {at} {text}"} for name in NAMES_OF_POOL],
        }
        for at in range(30)
    ]
    path = folder / "pools.jsonl"
    path.write_text("".join(json.dumps(pool) + "\n" for pool in pools), encoding="utf-8")
    return pd.DataFrame(labels), path


def compared(folder, labels, **texts):
    """Compare the best picks with others that are worse from the tenth prompt on."""
    paths = [picks_at(folder / "first.jsonl", lambda _: 0), picks_at(folder / "b.jsonl", lambda at: 2 * (at > 9))]
    return bw.compare(*paths, labels=labels, **texts)


def routed(folder, labels, **texts):
    """Study a judge that errs, mostly where its margin is small, beside a stronger one that never does."""
    del folder
    place = labels["prompt_id"].str[1:].astype(int)
    right = labels["oracle_label"].groupby(labels["prompt_id"]).transform("max") == labels["oracle_label"]
    errs = place % 3 == 0
    worst = labels["oracle_label"].groupby(labels["prompt_id"]).transform("min") == labels["oracle_label"]
    cheap = np.where(errs, 0.5 - 0.1 * right, 0.2 + 0.6 * np.where(place % 7 == 1, worst, right))
    cheap += 0.001 * (labels["candidate"] == "a")
    both = [labels.assign(judge="cheap", judge_score=cheap), labels.assign(judge="strong", judge_score=1.0 * right)]
    return bw.route(pd.concat(both), strong="strong", **texts)


def watched(folder, labels, **texts):
    """Watch three files of picks, the last of which alone has other labels than the best."""
    days = folder / "picks"
    days.mkdir()
    log = picks_at(days / "all", lambda at: at > 19).read_text(encoding="utf-8").splitlines(keepends=True)
    (days / "all").unlink()
    for day in range(3):
        (days / f"day{day}.jsonl").write_text("".join(log[10 * day : 10 * day + 10]), encoding="utf-8")
    return bw.watch(f"{days}/*.jsonl", labels=labels, first=1, **texts)


def figure(row, at):
    """Return one of the figures of a prompt, from 1."""
    return row.values[at]  # noqa: PD011 - of a row of a page


MADE = {"compare": compared, "route": routed, "watch": watched}


@pytest.mark.parametrize("kind", MADE)
def test_prompts_are_shown_where_texts_are_at_hand(tmp_path, kind):
    """At most eight prompts, the largest difference first, open to picks and the best with texts; none without."""
    labels, pools = labelled_pools(tmp_path, "said")
    made = MADE[kind](tmp_path, labels, pools=pools)
    shown = made.samples
    assert 1 < len(shown) <= 8
    first = {
        "compare": lambda row: figure(row, 1),
        "route": lambda row: (figure(row, 4) > 0, abs(figure(row, 1))),
        "watch": lambda row: -figure(row, 1),
    }[kind]
    assert [first(row) for row in shown] == sorted(map(first, shown), reverse=True)
    if kind == "watch":
        assert {int(row.cells[0][1:]) // 10 for row in shown} == {2}
    best = labels.sort_values("oracle_label").drop_duplicates("prompt_id", keep="last").set_index("prompt_id")
    for row in shown:
        name, asked, cards = row.cells[0], row.inside[0].blocks[0].text, row.inside[-1].cards
        assert asked == f"ask {name[1:]} said"
        assert [card.blocks[0].text for card in cards] == [f"{card.title} of {name[1:]} said" for card in cards]
        marked = [card.title for card in cards if any(mark.kind == "best" for mark in card.marks)]
        assert marked == [best.loc[name, "candidate"]]
        assert len(cards) == 2
    text = page(made)
    assert text.count('<table id="prompt-table"') == 1
    assert f"For example, {shown[0].cells[0]}" in text
    assert '<table id="prompt-table"' not in page(made.with_samples(()))
    (tmp_path / "again").mkdir()
    assert page(pickle.loads(pickle.dumps(made))) == text  # noqa: S301 - a result of this test
    assert not MADE[kind](tmp_path / "again", labels).samples


@pytest.mark.parametrize("kind", MADE)
@pytest.mark.parametrize("text", [*HOSTILE, "\u4e2d" * 9000])
def test_texts_of_prompts_are_text_on_every_page(tmp_path, kind, text):
    """Nothing of a prompt or of an answer becomes a tag, what is cut is counted, and the page stays below 2 MB."""
    labels, pools = labelled_pools(tmp_path, text)
    (tmp_path / "plain").mkdir()
    plain, words = labelled_pools(tmp_path / "plain", "said")
    hostile, harmless = (
        page(MADE[kind](folder, own, pools=file))
        for folder, own, file in ((tmp_path, labels, pools), (tmp_path / "plain", plain, words))
    )
    tags = [sorted(tag for tag, _ in read(text).tags if tag not in {"p", "div"}) for text in (hostile, harmless)]
    assert tags[0] == tags[1]
    assert len(hostile.encode()) < 2_000_000
    assert ("more characters are not shown here" in hostile) == (len(text) > 4000)


def test_texts_of_a_log_and_of_a_table_need_no_pools(tmp_path):
    """The text of a pick in its line, and a column of texts, are shown without a file of pools."""
    labels, _ = labelled_pools(tmp_path, "said")
    paths = [
        picks_at(tmp_path / f"{move}.jsonl", lambda _, move=move: move, text=f"text {move}") for move in range(2)
    ]
    row = bw.compare(*paths, labels=labels).samples[0]
    assert [card.blocks[0].text for card in row.inside[0].cards] == ["text 0", "text 1"]
    marks = [[mark.text for mark in card.marks] for card in row.inside[0].cards]
    assert marks == [["picked by the first", "best"], ["picked by the second"]]
    row = routed(tmp_path, labels.assign(text="of a column")).samples[0]
    assert {card.blocks[0].text for card in row.inside[0].cards} == {"of a column"}


def test_unlabelled_picks_are_shown_by_their_scores(tmp_path):
    """Of a log without labels the lowest scores of the last period come first."""
    lines = [
        {"prompt_id": f"p{at}", "ids": ["a", "b"], "best": "a", "scores": [at % 7 / 10 + 0.1, 0.0], "text": f"t{at}"}
        for at in range(20)
    ]
    path = tmp_path / "picks.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    shown = bw.watch(path, by=10, first=1).samples
    assert [row.cells[0] for row in shown[:2]] == ["p14", "p15"]
    assert [figure(row, 3) for row in shown] == sorted(figure(row, 3) for row in shown)
    assert {len(row.inside[0].cards) for row in shown} == {1}


@pytest.mark.parametrize("kind", MADE)
def test_pools_of_other_prompts_are_one_error(tmp_path, kind):
    """A file of pools that fits nothing is refused, and says of what."""
    labels, pools = labelled_pools(tmp_path, "said")
    pools.write_text('{"prompt_id": "elsewhere", "prompt": "x", "candidates": ["a"]}\n', encoding="utf-8")
    with pytest.raises(InputError, match=r"no prompt of .* is in it"):
        MADE[kind](tmp_path, labels, pools=pools)


def test_a_study_beside_an_audit_brings_no_prompts_of_its_own(tmp_path):
    """A route on the page of an audit leaves the prompts to it: a page has one table of them."""
    labels, _ = labelled_pools(tmp_path, "said")
    scores = labels.assign(judge_score=1 - labels["oracle_label"].round(1), text="of a column")
    study = bw.route(scores)
    assert study.samples
    bw.audit(scores).to_html(tmp_path / "audit.html", also=[study])
    assert (tmp_path / "audit.html").read_text(encoding="utf-8").count('<table id="prompt-table"') == 1
