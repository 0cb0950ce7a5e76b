"""Images in prompts and candidates: where they may come from, what they are, and the texts that carry them."""

from __future__ import annotations

import base64
import hashlib
import os
import re
import stat
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self, TypeVar
from urllib.parse import urlsplit

from bonwise.errors import FileError, UsageError
from bonwise.printable import quoted
from bonwise.table import chat, text_files

LARGEST = 5 * 2**20
"""Bytes of one image."""
MOST = 20
"""Images of one text."""
MOST_BYTES = 8 * 2**20
"""Bytes of all images of one text: three texts of a question then fit into a request of 32 MiB."""
_DATA = re.compile(r"data:(image/[a-z]+);base64,(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Image:
    """One image: equal to another one of the same bytes, or of the same address."""

    name: str = field(compare=False)
    """Letters, digits, ``.``, ``-`` and ``_`` of the file's name or of the end of the address."""
    digest: str
    """SHA-256, hexadecimal, of the bytes; of an address that of the address."""
    source: Path | bytes | str = field(repr=False, compare=False)
    """A file with all links resolved, the bytes of a data URL, or an address, which bonwise does not fetch."""
    media_type: str = ""
    """Such as ``image/png``, by the first bytes; this and what follows only of bytes."""
    size: int = 0
    pixels: tuple[int, int] | None = None
    """Width and height."""

    @property
    def reference(self) -> str:
        """What stands for the image in the ledger and its keys."""
        return f"sha256:{self.digest}"

    @property
    def address(self) -> str:
        """The address that a service fetches; empty for bytes."""
        return self.source if isinstance(self.source, str) else ""

    def base64(self) -> str:
        """Return the bytes as they are sent; a file that is no longer the same raises `FileError`."""
        try:
            data = self.source if isinstance(self.source, bytes) else _file_bytes(Path(self.source))
        except _CANNOT_READ as error:
            raise FileError(f"{self.name}: {_why(error)}", hint="put the image back") from None
        if hashlib.sha256(data).hexdigest() != self.digest:
            raise FileError(f"{self.name}: the image has changed since it was first read", hint="start the run again")
        return base64.b64encode(data).decode()


class TextWithImages(str):
    """Words with the images to which they refer as ``[image 1: ...]``; equal only to a text with the same images."""

    __slots__ = ("images",)

    images: tuple[Image, ...]

    def __new__(cls, text: str, images: tuple[Image, ...]) -> Self:
        """Return the text with its images."""
        made = super().__new__(cls, text)
        made.images = images
        return made

    def __getnewargs__(self) -> tuple[str, tuple[Image, ...]]:  # type: ignore[override]
        """Return what a copy is made from."""
        return str(self), self.images

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TextWithImages) and str.__eq__(self, other) and self.images == other.images

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((str(self), self.images))


R = TypeVar("R", str, str | None)


class ImageReader:
    """Reads images of prompts and candidates: files below one folder, links resolved, data URLs and addresses."""

    def __init__(self, folder: str | Path) -> None:
        if not isinstance(folder, (str, Path)):
            raise UsageError(f"images is {quoted(folder)}, not a folder", hint="name one: images='pictures'")
        with text_files.file_errors(Path(folder)):
            self.folder = Path(folder).resolve(strict=True)
            if not self.folder.is_dir():
                raise NotADirectoryError(20, "is not a folder, and images lie in one")

    def prompt(self, prompt: Any) -> str:
        """Return a prompt as `bonwise.table.chat.prompt_text` does, with its images."""
        return self._text(chat.prompt_text, prompt)

    def answer(self, answer: Any) -> str | None:
        """Return an answer as `bonwise.table.chat.answer_text` does, with its images; it may be a list of parts."""
        return self._text(chat.answer_text, {"content": answer} if isinstance(answer, list) else answer)

    def __call__(self, candidate: Any) -> Any:
        """Return the text of a candidate of a caller, empty where it has none; None for what is no candidate."""
        text = getattr(candidate, "text", None)
        with suppress(chat.NotAnAnswerError):
            return text if isinstance(text, TextWithImages) else self.answer(candidate) or ""

    def _text(self, read: Callable[[Any, Callable[[Any], str]], R], given: Any) -> R:
        images: list[Image] = []

        def reference(part: Any) -> str:
            image = self.image(part)
            images.append(image)
            if len(images) > MOST or sum(each.size for each in images) > MOST_BYTES:
                limit = f"{MOST} images and {MOST_BYTES >> 20} MiB of them"
                raise UsageError("too many or too large images in one text", hint=f"give it at most {limit}")
            return f"[image {len(images)}: {image.name}, sha256 {image.digest[:12]}]"

        text = read(given, reference)
        return TextWithImages(text, tuple(images)) if images and text is not None else text

    def image(self, part: Any) -> Image:
        """Return the image of a content part ``{"type": "image_url", "image_url": {"url": ...}}``."""
        given = part.get("image_url") if isinstance(part, Mapping) and part.get("type") == "image_url" else None
        stated = {"url": given} if isinstance(given, str) else given
        address = stated.get("url") if isinstance(stated, Mapping) else None
        if not isinstance(stated, Mapping) or not isinstance(address, str) or stated.keys() - {"url", "detail"}:
            hint = 'write {"type": "image_url", "image_url": {"url": "a.png"}}'
            raise UsageError(f"{quoted(part)} is not an image that can be read", hint=hint)
        if stated.get("detail") not in (None, "auto"):
            raise UsageError(f"detail is {quoted(stated['detail'])}: bonwise sends none", hint="leave it out")
        if address.startswith("data:"):
            return _of_data(address)
        return _of_address(address) if re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", address) else self._of_file(address)

    def _of_file(self, name: str) -> Image:
        """Read a file: what the name leads to, all links resolved, lies in the folder, is a file, and is an image."""
        hint = f"write the path of a png, jpeg, gif or webp file below {self.folder}"
        try:
            # What is outside is refused alike whether or not it is there.
            path = (self.folder / name).resolve()
            if Path(name).is_absolute() or "\\" in name or not path.is_relative_to(self.folder):
                raise UsageError(f"the image {quoted(name)} is outside the folder of images", hint=hint)
            data = _file_bytes(path)
        except _CANNOT_READ as error:
            raise UsageError(f"the image {quoted(name)} cannot be read: {_why(error)}", hint=hint) from None
        return _made(_plain_name(path.name), data, path)


_CANNOT_READ = (OSError, ValueError, RuntimeError, FileError)
"""What a path or a file may end in: a name with a NUL, and links in a circle, are no errors of the system."""


def _why(error: Exception) -> str:
    return error.message if isinstance(error, FileError) else getattr(error, "strerror", None) or "no such file"


def _file_bytes(path: Path) -> bytes:
    """Read a file of a resolved path up to `LARGEST`: no link, no pipe, no more than is looked at."""
    flags = (getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"))
    handle = os.open(path, os.O_RDONLY | sum(flags))
    with os.fdopen(handle, "rb") as stream:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise FileError("it is not a file", hint="name a file")
        # A folder on the way may have become a link after it was looked at.
        if path.resolve(strict=True) != path or not os.path.samestat(status, path.stat(follow_symlinks=False)):
            raise FileError("it was replaced while it was read", hint="try again")
        data = stream.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise FileError(f"it is larger than {LARGEST >> 20} MiB", hint="make it smaller")
    return data


def _of_data(address: str) -> Image:
    match = _DATA.fullmatch(address) if len(address) <= LARGEST // 3 * 4 + 100 else None
    data = None
    with suppress(ValueError):
        data = base64.b64decode(match[2], validate=True) if match else None
    if match is None or data is None:
        hint = f"write data:image/png;base64,... of at most {LARGEST >> 20} MiB"
        raise UsageError(f"the data URL {quoted(address[:40])} cannot be read", hint=hint)
    image = _made("data", data, data)
    if match[1].replace("jpg", "jpeg") != image.media_type:
        raise UsageError(f"a data URL says {match[1]} and holds {image.media_type}", hint="state its own type")
    return image


def _of_address(address: str) -> Image:
    parts, host = urlsplit(""), None
    with suppress(ValueError):
        parts = urlsplit(address)
        host = parts.hostname
    is_plain = address.isascii() and address.isprintable() and " " not in address and len(address) <= 2_000
    if parts.scheme != "https" or not host or "@" in parts.netloc or not is_plain:
        hint = "write https://... without a login, data:image/...;base64,..., or a path below the folder of images"
        shown = re.sub(r"//.*@", "//...@", address, flags=re.DOTALL)[:80]  # a login is a secret
        raise UsageError(f"the image address {quoted(shown)} is not taken", hint=hint)
    name = _plain_name(f"{host}_{parts.path.rpartition('/')[2]}")
    return Image(name, hashlib.sha256(address.encode()).hexdigest(), address)


def _plain_name(name: str) -> str:
    return re.sub(r"[^\w.-]+", "_", name)[-60:]


def _made(name: str, data: bytes, source: Path | bytes) -> Image:
    kind, pixels = _kind(data)
    if not kind or pixels is None or min(pixels) < 1:
        raise UsageError(f"{name} is not a png, jpeg, gif or webp image", hint="convert it, or name another file")
    return Image(name, hashlib.sha256(data).hexdigest(), source, kind, len(data), pixels)


def _kind(data: bytes) -> tuple[str, tuple[int, int] | None]:
    """Return the type of an image by its first bytes, with its width and height; None for those where it is cut."""
    if data.startswith(b"\x89PNG\r\n\x1a\n") and data[12:16] == b"IHDR":
        return "image/png", _two(data, 16, 4, "big")
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif", _two(data, 6, 2, "little")
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg", _jpeg_pixels(data)
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp", _webp_pixels(data)
    return "", None


def _two(data: bytes, at: int, size: int, order: Any) -> tuple[int, int] | None:
    if len(data) < at + 2 * size:
        return None
    return int.from_bytes(data[at : at + size], order), int.from_bytes(data[at + size : at + 2 * size], order)


def _jpeg_pixels(data: bytes) -> tuple[int, int] | None:
    """Walk the segments to the frame, whose header states height and width."""
    at = 2
    while at + 4 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if marker == 0xFF:  # a byte that fills
            at += 1
        elif 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            turned = _two(data, at + 5, 2, "big")
            return None if turned is None else turned[::-1]
        else:
            at += 2 + max(int.from_bytes(data[at + 2 : at + 4], "big"), 2)
    return None


def _webp_pixels(data: bytes) -> tuple[int, int] | None:
    if data[12:16] == b"VP8L" and len(data) >= 25:
        bits = int.from_bytes(data[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    kinds: dict[bytes, tuple[int, int, int, int]] = {b"VP8 ": (26, 2, 0x3FFF, 0), b"VP8X": (24, 3, 0xFFFFFF, 1)}
    at, size, mask, more = kinds.get(data[12:16], (len(data), 1, 0, 0))
    sides = _two(data, at, size, "little")
    return None if sides is None else ((sides[0] & mask) + more, (sides[1] & mask) + more)
