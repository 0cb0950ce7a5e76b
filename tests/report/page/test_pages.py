import base64
import hashlib
import re
from functools import cache
from html.parser import HTMLParser
from itertools import pairwise

import pytest

from bonwise.auditing.page import audit_page
from bonwise.auditing.result_exhibits import Note
from bonwise.errors import UsageError
from bonwise.report.blocks import Column, Part, Table
from bonwise.report.page.environment import environment
from bonwise.report.page.rendered import whole_page
from bonwise.report.show import notebook, page
from report.described.audits import audited, changed, exhibits, several

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
    """In a notebook all styles are below one class, nothing runs, and two outputs have no id in common."""
    first, second = notebook(audited()), notebook(audited(confidence=0.9))
    reader = read(first)
    assert not reader.of("script")
    style = re.search(r"<style>(.*?)</style>", first, re.DOTALL).group(1)
    selectors = re.findall(r"(?:^|[{}])\s*([^{}@;]+)\{", re.sub(r"@media[^{]*", "", style))
    assert selectors
    assert all(
        ".bonwise" in one for chosen in filter(str.strip, selectors) for one in re.split(r",(?![^(]*\))", chosen)
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
