"""Write documents, tamper with them, and read them back."""

from __future__ import annotations

import json

import pytest

from bonwise.errors import InputError
from bonwise.loading import load

__all__ = ["read_back", "refusal"]


def read_back(document, folder):
    """Write a document and load it; the loaded one is of the same class and writes the same bytes."""
    path = folder / "document.json"
    path.write_text(document.to_json(), encoding="utf-8")
    loaded = load(path)
    assert type(loaded) is type(document)
    assert loaded.to_json() == document.to_json()
    return loaded


def refusal(document, folder, keys, value):
    """Set the value at some keys of a written document and return the message that refuses it.

    Parameters
    ----------
    document : Document
    folder : pathlib.Path
    keys : str
        Keys and positions, with dots between them.
    value : object
        What is written there; the key is deleted where it is Ellipsis.
    """
    written = json.loads(document.to_json())
    *above, last = (int(one) if one.isdigit() else one for one in keys.split("."))
    place = written
    for key in above:
        place = place[key]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    path = folder / "tampered.json"
    path.write_text(json.dumps(written), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load(path)
    return str(caught.value)
