"""Small images, made byte by byte, and folders of them."""

from __future__ import annotations

import struct
import zlib


def png(width=2, height=1, color=0):
    """Return a whole PNG of one gray level."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = (b"\0" + bytes([color]) * width) * height
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def gif(width, height):
    """Return the head of a GIF."""
    return b"GIF89a" + struct.pack("<HH", width, height) + b"\0\0\0"


def jpeg(width, height, frame=0xC0):
    """Return the head of a JPEG: a comment, a table, a byte that fills, and the frame."""
    comment = b"\xff\xfe" + struct.pack(">H", 6) + b"abcd"
    table = b"\xff\xc4" + struct.pack(">H", 4) + b"\0\0"
    size = struct.pack(">HBHHB", 11, 8, height, width, 1)
    head = b"\xff\xd8\xff\xe0" + struct.pack(">H", 4) + b"JF"
    return head + comment + table + b"\xff\xff" + bytes([frame]) + size


def webp(width, height, kind):
    """Return the head of a WebP of a kind: ``VP8 ``, ``VP8L`` or ``VP8X``."""
    if kind == "VP8 ":
        body = b"\0" * 6 + struct.pack("<HH", width, height)
    elif kind == "VP8L":
        body = b"\x2f" + struct.pack("<I", (width - 1) | (height - 1) << 14)
    else:
        body = b"\0" * 4 + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    return b"RIFF" + struct.pack("<I", 20) + b"WEBP" + kind.encode() + struct.pack("<I", len(body)) + body


def part(url):
    """Return the content part of an image."""
    return {"type": "image_url", "image_url": {"url": url}}


def words(text):
    """Return the content part of a text."""
    return {"type": "text", "text": text}
