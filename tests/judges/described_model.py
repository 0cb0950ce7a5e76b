"""The folder of a model that can be described, and not loaded: a judge of it needs neither torch nor weights."""

from __future__ import annotations

import importlib.util
import json
import tempfile
from functools import cache
from pathlib import Path
from unittest import mock

import bonwise as bw


def torch_is_there():
    """Work as where torch and transformers are installed, as far as they are only looked for."""
    real, named = importlib.util.find_spec, {"torch", "transformers"}
    return mock.patch("bonwise.extras.find_spec", lambda name: real("json" if name in named else name))


def write_model(folder, **settings):
    """Write the settings of a model of two labels, beside weights that nobody reads."""
    folder.mkdir(parents=True, exist_ok=True)
    stated = {"architectures": ["BertForSequenceClassification"], "id2label": {"0": "bad", "1": "good"}}
    (folder / "config.json").write_text(json.dumps(stated | settings))
    (folder / "model.safetensors").write_bytes(b"")
    return folder


@cache
def _folder():
    return write_model(Path(tempfile.mkdtemp(prefix="bonwise-model-")))


def described_judge(label="good", **settings):
    """Return a judge of such a model."""
    with torch_is_there():
        return bw.Reward(str(_folder()), label=label, **settings)
