"""Images: what is taken for one, that no byte leaves a folder that was not named, and texts that carry them."""

from __future__ import annotations

import base64
import copy
import hashlib
import json
import os
import pickle
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonwise.errors import FileError, RowError, UsageError
from bonwise.table import images
from bonwise.table.images import Image, ImageReader, TextWithImages
from bonwise.table.pools import read_pools
from pictures import gif, jpeg, part, png, webp, words

SECRET = b"the secret of another folder"


def images_of(text):
    """Return the images of a text; most texts have none."""
    return getattr(text, "images", ())


@pytest.fixture
def folder(tmp_path):
    """Return a folder of images, beside which lie a secret and an image that nobody named."""
    inside = tmp_path / "pictures"
    (inside / "deep").mkdir(parents=True)
    (inside / "a.png").write_bytes(png(3, 2))
    (inside / "deep" / "b.gif").write_bytes(gif(7, 5))
    (tmp_path / "secret.txt").write_bytes(SECRET)
    (tmp_path / "other.png").write_bytes(png(9, 9))
    (tmp_path / "pictures-2").mkdir()
    (tmp_path / "pictures-2" / "c.png").write_bytes(png())
    return inside


def read(folder, url):
    """Read one image."""
    return ImageReader(folder).image(part(url))


def data_url(data, kind="image/png"):
    """Return the data URL of bytes."""
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"


@pytest.mark.parametrize("url", ["a.png", "./a.png", "deep/../a.png"])
def test_a_file_below_the_folder_is_read(folder, url):
    """Its type, size and pixels are known, and its digest is that of its bytes."""
    image = read(folder, url)
    data = (folder / "a.png").read_bytes()
    assert (image.name, image.media_type, image.pixels, image.size) == ("a.png", "image/png", (3, 2), len(data))
    assert image.reference == f"sha256:{hashlib.sha256(data).hexdigest()}"
    assert base64.b64decode(image.base64()) == data
    assert not image.address


@pytest.mark.parametrize(
    "url",
    [
        "../other.png",
        "../secret.txt",
        "deep/../../other.png",
        "../pictures-2/c.png",
        "../nothing.png",
        "/etc/passwd",
        "{folder}/a.png",
        "//etc/passwd",
        "..",
        "..\\other.png",
    ],
)
def test_what_is_outside_is_refused_whether_or_not_it_is_there(folder, url):
    """By dots, an absolute path, a folder whose name begins alike: one error, which says nothing of the file."""
    with pytest.raises(UsageError, match="is outside the folder of images") as caught:
        read(folder, url.replace("{folder}", str(folder)))
    assert "secret" not in str(caught.value).replace("secret.txt", "")


@pytest.mark.parametrize("target", ["../other.png", "../secret.txt", "/etc/passwd"])
def test_a_link_that_leaves_the_folder_is_refused(folder, target):
    """Also by way of a folder that is a link, and by a link to a link."""
    (folder / "link.png").symlink_to(target)
    (folder / "again.png").symlink_to("link.png")
    (folder / "up").symlink_to("..")
    for url in ("link.png", "again.png", "up/other.png", "up/pictures-2/c.png"):
        with pytest.raises(UsageError, match="is outside the folder of images"):
            read(folder, url)


def test_a_link_that_stays_is_followed(folder):
    """Links are resolved, the folder's own among them."""
    (folder / "link.png").symlink_to("deep/b.gif")
    named = folder.parent / "named"
    named.symlink_to(folder)
    assert read(named, "link.png").pixels == (7, 5)


def test_what_is_no_file_is_refused_and_nobody_waits(folder):
    """A pipe, a socket, a folder, a circle of links, and names that no system takes."""
    os.mkfifo(folder / "pipe.png")
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(folder / "s.png"))
    (folder / "circle.png").symlink_to("circle.png")
    for url in ("pipe.png", "s.png", "deep", "circle.png", "nothing.png", "a\0.png", "x" * 5000, ""):
        with pytest.raises(UsageError, match="cannot be read"):
            read(folder, url)


@pytest.mark.parametrize(
    "data", [b"", SECRET, b"<svg/>", b"%PDF-1.7", png()[:20], b"\xff\xd8\xff\xd9", gif(0, 3), b"RIFF0000WEBPVP9 "]
)
def test_what_is_no_image_is_refused_whatever_its_name(folder, data):
    """The first bytes decide: nothing else in the folder can be sent as an image."""
    (folder / "x.png").write_bytes(data)
    with pytest.raises(UsageError, match="is not a png, jpeg, gif or webp image"):
        read(folder, "x.png")


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (png(640, 480), "image/png"),
        (gif(640, 480), "image/gif"),
        (jpeg(640, 480), "image/jpeg"),
        (jpeg(640, 480, frame=0xC2), "image/jpeg"),
        *((webp(640, 480, kind), "image/webp") for kind in ("VP8 ", "VP8L", "VP8X")),
    ],
    ids=["png", "gif", "jpeg", "progressive", "lossy", "lossless", "extended"],
)
def test_type_and_pixels_are_read_from_the_first_bytes(folder, data, kind):
    """The name says nothing."""
    (folder / "x.txt").write_bytes(data)
    image = read(folder, "x.txt")
    assert (image.media_type, image.pixels) == (kind, (640, 480))


@given(
    st.binary(max_size=60),
    st.sampled_from([b"", b"\xff\xd8\xff", b"GIF89a", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", b"RIFF\0\0\0\0WEBP"]),
)
def test_no_bytes_break_the_reader(rest, head):
    """Whatever follows, there are pixels or there is no image."""
    kind, pixels = images._kind(head + rest)
    assert kind in ("", "image/png", "image/jpeg", "image/gif", "image/webp")
    assert pixels is None or (len(pixels) == 2 and min(pixels) >= 0)


def test_a_size_is_a_hard_bound(folder, monkeypatch):
    """A byte too many is refused, and no further one is read; so is a data URL, before it is unpacked."""
    monkeypatch.setattr(images, "LARGEST", 100)
    (folder / "x.png").write_bytes(png() + b"\0" * (100 - len(png())))
    assert read(folder, "x.png").size == 100
    (folder / "x.png").write_bytes(png() + b"\0" * 10_000)
    with pytest.raises(UsageError, match="it is larger than"):
        read(folder, "x.png")
    with pytest.raises(UsageError, match=r"the data URL .* cannot be read"):
        read(folder, data_url(png() + b"\0" * 200))


def test_one_text_has_a_bound_of_images_and_of_their_bytes(folder, monkeypatch):
    """Number and bytes of all images of a prompt or a candidate."""
    many = [part("a.png")] * images.MOST
    assert len(images_of(ImageReader(folder).prompt(many))) == images.MOST
    with pytest.raises(UsageError, match="too many or too large"):
        ImageReader(folder).prompt([*many, part("a.png")])
    monkeypatch.setattr(images, "MOST_BYTES", 2 * len(png(3, 2)) - 1)
    with pytest.raises(UsageError, match="too many or too large"):
        ImageReader(folder).answer([part("a.png"), part("a.png")])


def test_a_data_url_is_checked(folder):
    """Its bytes are an image of the type that it states."""
    image = read(folder, data_url(png(4, 4)))
    assert (image.name, image.media_type, image.pixels) == ("data", "image/png", (4, 4))
    assert base64.b64decode(image.base64()) == png(4, 4)
    assert read(folder, data_url(jpeg(2, 2), "image/jpg")).media_type == "image/jpeg"
    with pytest.raises(UsageError, match="says image/gif and holds image/png"):
        read(folder, data_url(png(), "image/gif"))
    with pytest.raises(UsageError, match="is not a png"):
        read(folder, data_url(SECRET))
    for url in ("data:image/png,abc", "data:text/html;base64,PGI+", "data:image/png;base64,%%%%", "data:"):
        with pytest.raises(UsageError, match=r"the data URL .* cannot be read"):
            read(folder, url)


def test_an_address_is_passed_on_and_never_fetched(folder):
    """Its digest is that of the address; its name has no query, which may be a signature."""
    url = "https://images.example.com/a/b.png?signature=hush"
    image = read(folder, url)
    assert (image.address, image.name, image.pixels) == (url, "images.example.com_b.png", None)
    assert image.reference == f"sha256:{hashlib.sha256(url.encode()).hexdigest()}"
    assert "hush" not in repr(image)


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com/a.png",
        "file:///etc/passwd",
        "ftp://example.com/a.png",
        "https://user:hush@example.com/a.png",
        "https:///a.png",
        "https://[::1/a.png",
        "https://example.com/a b.png",
        "https://example.com/\u202egnp.a",
        "https://example.com/\na.png",
        "https://example.com/" + "a" * 2000,
        "c:\\windows\\a.png",
    ],
)
def test_other_addresses_are_refused(folder, url):
    """Only https without a login, in plain ASCII, of a usual length."""
    with pytest.raises(UsageError, match=r"the image address .* is not taken") as caught:
        read(folder, url)
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize("given", [["pictures"], 0, True, b"pictures"])
def test_what_is_no_folder_is_refused(given):
    """In words, and not with an error of Python."""
    with pytest.raises(UsageError, match="not a folder"):
        ImageReader(given)


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"type": "input_image", "image_url": "a.png"}, "is not an image that can be read"),
        ({"type": "image", "source": {}}, "is not an image that can be read"),
        ({"type": "image_url"}, "is not an image that can be read"),
        ({"type": "image_url", "image_url": {"url": 3}}, "is not an image that can be read"),
        ({"type": "image_url", "image_url": {"url": "a.png", "colour": 1}}, "is not an image that can be read"),
        ({"type": "image_url", "image_url": {"url": "a.png", "detail": "low"}}, "detail is 'low'"),
    ],
)
def test_a_part_of_another_shape_is_refused(folder, given, what):
    """With the shape that is taken; nothing is left out without a word."""
    with pytest.raises(UsageError, match=what) as caught:
        ImageReader(folder).answer([given])
    assert caught.value.hint


def test_an_image_is_a_reference_in_the_words_at_its_place(folder):
    """Digest and plain name stand in the text; hostile names lose what a page or a terminal could read."""
    name = 'x"><script>\x1b[31m\n=cmd|.png'
    (folder / name).write_bytes(png())
    text = ImageReader(folder).answer([words("before"), part("a.png"), words("between"), part(name)])
    digest, other = (hashlib.sha256(data).hexdigest()[:12] for data in (png(3, 2), png()))
    assert text == TextWithImages(
        f"before\n[image 1: a.png, sha256 {digest}]\nbetween\n[image 2: x_script_31m_cmd_.png, sha256 {other}]",
        images_of(text),
    )
    assert [image.pixels for image in images_of(text)] == [(3, 2), (2, 1)]


def test_whoever_writes_a_reference_has_not_written_the_same_text(folder):
    """Neither is equal, has the other's hash in a dictionary, or stands for the other among distinct texts."""
    text = ImageReader(folder).answer([part("a.png")])
    forged = str(text)
    assert type(forged) is str
    assert text != forged
    assert forged != text
    assert len({text, forged}) == 2
    assert {text: 1}.get(forged) is None
    (folder / "a.png").write_bytes(png(3, 2, color=9))
    other = ImageReader(folder).answer([part("a.png")])
    assert text != other
    assert TextWithImages(forged, images_of(other)) != text
    crossed = pickle.loads(pickle.dumps(text))  # noqa: S301 - made here
    assert text == copy.copy(text) == copy.deepcopy(text) == crossed
    assert images_of(crossed) == images_of(text)


def test_a_file_that_changes_or_goes_is_not_sent(folder):
    """What is sent is what was read: other bytes, a link in its place, or nothing there are refused by name."""
    image = read(folder, "a.png")
    (folder / "a.png").write_bytes(png(3, 2, color=7))
    with pytest.raises(FileError, match=r"a\.png: the image has changed since it was first read"):
        image.base64()
    (folder / "a.png").unlink()
    with pytest.raises(FileError, match=r"a\.png: "):
        image.base64()
    (folder / "a.png").symlink_to("../other.png")
    with pytest.raises(FileError, match=r"a\.png: "):
        image.base64()


def test_a_folder_on_the_way_that_becomes_a_link_is_noticed(folder):
    """Between reading and sending the folder of the file is exchanged for another one."""
    (folder / "deep" / "c.png").write_bytes(png())
    image = read(folder, "deep/c.png")
    (folder / "deep").rename(folder / "old")
    (folder / "deep").symlink_to("../pictures-2")
    with pytest.raises(FileError, match=r"c\.png: it was replaced while it was read"):
        image.base64()


@pytest.mark.parametrize("name", ["nowhere", "a.png"])
def test_the_folder_is_one(folder, name):
    """A path that is none is refused at once."""
    with pytest.raises(FileError):
        ImageReader(folder / name)


def test_pools_carry_images(folder, tmp_path):
    """In messages, in a list of parts as the prompt, and as the text or the content of a candidate."""
    pools = [
        {"prompt_id": "p1", "prompt": [words("Which?"), part("a.png")], "candidates": ["one", "two"]},
        {
            "prompt_id": "p2",
            "prompt": [{"role": "system", "content": "Draw."}, {"role": "user", "content": [part("deep/b.gif")]}],
            "candidates": [{"id": "x", "text": [part("a.png")]}, {"content": [words("so"), part("a.png")]}, "no"],
        },
    ]
    path = tmp_path / "pools.jsonl"
    path.write_text("".join(json.dumps(pool) + "\n" for pool in pools))
    first, second = read_pools(path, images=ImageReader(folder))
    assert [image.name for image in images_of(first.prompt)] == ["a.png"]
    assert second.prompt.startswith("system: Draw.\n\nuser: [image 1: b.gif, sha256 ")
    assert [(each.id, len(images_of(each.text))) for each in second.candidates] == [("x", 1), ("c1", 1), ("c2", 0)]
    without = next(read_pools(path))
    assert without.prompt == "Which?\n[image]"
    assert not images_of(without.prompt)


@pytest.mark.parametrize(
    ("pool", "what"),
    [
        ({"prompt": [part("../other.png")], "candidates": ["a"]}, r"row 1: the image '\.\./other\.png' is outside"),
        (
            {"prompt": "p", "candidates": ["a", {"text": [part("no.png")]}]},
            r"row 1: candidate 1: the image 'no\.png'",
        ),
        ({"prompt": "p", "candidates": [{"content": [{"type": "image"}]}]}, "row 1: candidate 0: .* is not an image"),
    ],
)
def test_an_error_names_the_row(folder, tmp_path, pool, what):
    """And the candidate, where it is in one."""
    path = tmp_path / "pools.jsonl"
    path.write_text(json.dumps({"prompt_id": "p1", **pool}) + "\n")
    with pytest.raises(RowError, match=what):
        list(read_pools(path, images=ImageReader(folder)))


def test_an_image_equals_one_of_the_same_bytes():
    """Whatever it is called and wherever it lies: the digest is its identity."""
    made = [Image(name, "0" * 64, source, "image/png") for name, source in (("a", b"x"), ("b", b"y"))]
    assert made[0] == made[1]
    assert len(set(made)) == 1
