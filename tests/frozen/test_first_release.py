from __future__ import annotations

import importlib.util
import json

import numpy as np
import pytest

from bonwise.routing.saved import SavedRouter
from bonwise.selection.draw_model import load_model, save_model
from frozen.differences import byte_differences, value_differences
from frozen.first_release import CUT, KEPT, REOPENED, expected, opened
from frozen.masks import settled_output
from frozen.pinned import otherwise
from frozen.running import typed
from frozen.services import served

AUDITED = {"picks", "scores", "draws of labels", "draw of pairs"}
ROUTERS = {
    "learnt": "expected_gain",
    "width": "interval_width",
    "disagreement": "disagreement",
    "margin": "margin_level",
}

SINCE = ("low", "high", "draw_scores", "raw", "evaluations")
"""Keys with which the line of a pick ends since 0.1.0."""

WITHHELD = ("p_best", "expected_regret", "p_best_reason")
"""Keys of a pick whose strategy has too few draws to state them, which 0.1.0 stated; a reason takes their place."""

READER = ("parse1", "parse2")
"""Version of the reader of replies: that of 0.1.0, and today's."""

OF_INTERVALS = ("low", "high", "interval")
"""Keys of an estimate that follow other rules since 0.1.0: ends of the range, heavy tails."""


@pytest.fixture
def folder(tmp_path):
    """Work in a copy of what 0.1.0 left behind."""
    with opened(tmp_path) as folder:
        yield folder


def written(folder):
    """Read what the commands of a test wrote, by file name."""
    paths = sorted((folder / "expected").iterdir())
    return {path.name: settled_output(path.name, without_new_keys(path)) for path in paths}


def without_new_keys(path):
    """Read a file without the keys that picks end with since 0.1.0."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".jsonl" or not text.startswith('{"prompt_id"'):
        return text
    lines = [json.loads(line) for line in text.splitlines()]
    for line in lines:
        ends = tuple(key for key in line if key != "p_best_reason")
        assert ends[-len(SINCE) :] == SINCE
        for key in SINCE:
            del line[key]
        # A router's signal and share end the settings of routed picks.
        settings = line["settings"]
        assert (list(settings)[-1] == "router") == ("strong" in settings)
        settings.pop("router", None)
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


def picks_of_both(known, found):
    """Write two files of picks without what one of them withholds; the reader of replies has another version."""
    of_both = [[json.loads(line) for line in text.splitlines()] for text in (known.replace(*READER), found)]
    for before, after in zip(*of_both, strict=True):
        for key in WITHHELD if "p_best_reason" in after else ():
            before.pop(key, None)
            after.pop(key)
    return tuple("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in lines) for lines in of_both)


def figures_of_both(known, found):
    """Write two documents of estimates with the keys that the first one has, and without ends of intervals."""
    texts = (_as_in(json.loads(known), json.loads(text)) for text in (known, found))
    return tuple(json.dumps(document, indent=2, ensure_ascii=False) + "\n" for document in texts)


def _as_in(model, value):
    if isinstance(model, dict) and isinstance(value, dict):
        keys = [key for key in value if key in model and key not in OF_INTERVALS]
        return {key: _as_in(model[key], value[key]) for key in keys}
    if isinstance(model, list) and isinstance(value, list) and len(model) == len(value):
        return [_as_in(one, other) for one, other in zip(model, value, strict=True)]
    return value


def assert_as_expected(found):
    """Hold files to those of 0.1.0, as golden files are held."""
    known = {name: text for name, text in expected().items() if name in found}
    for name in [name for name, text in known.items() if '"estimate"' in text]:
        known[name], found[name] = figures_of_both(known[name], found[name])
    for name in [name for name, text in known.items() if text.startswith('{"prompt_id"')]:
        known[name], found[name] = picks_of_both(known[name], found[name])
    differences = list(value_differences(known, found))
    if not otherwise():
        differences += byte_differences(known, found)
    assert found
    assert not differences, "\n".join(differences[:20])


@pytest.mark.parametrize("name", REOPENED)
def test_what_the_first_release_wrote_opens_unchanged(name, folder):
    """The same commands on its files send nothing and write the same."""
    if name in AUDITED and importlib.util.find_spec("sklearn") is None:
        pytest.skip("needs bonwise[audit]")
    with served({}) as script:
        for line in REOPENED[name]:
            done = typed(line)
            assert done.code == 0, done.err
        assert script.counts.requests == 0
    assert_as_expected(written(folder))


@pytest.mark.parametrize("name", CUT)
def test_an_interrupted_run_of_the_first_release_goes_on(name, folder):
    """It asks for what is owed alone, and comes to what a whole run came to; then there is nothing left to ask."""
    cut = CUT[name]
    with served({}) as script:
        done = typed(cut.command)
        assert done.code == 0, done.err
        assert script.counts.answers == cut.whole - cut.sent
        paid = script.counts.requests
        assert typed(cut.command).code == 0
        assert script.counts.requests == paid
    assert_as_expected(written(folder))


@pytest.mark.parametrize("name", ROUTERS)
def test_saved_routers_load_unchanged(name, folder):
    """A router holds what its file says, and is saved to the same bytes."""
    before = (folder / f"{name}.json").read_text(encoding="utf-8")
    router = SavedRouter.load(f"{name}.json")
    assert (router.signal, router.learnt) == (
        ROUTERS[name],
        name in {"learnt", "margin"} and router.model is not None,
    )
    assert np.array_equal(router.calibration, json.loads(before)["calibration"])
    router.save("again.json")
    assert (folder / "again.json").read_text(encoding="utf-8") == before


def test_saved_draw_models_load_unchanged(folder):
    """A draw model gives the same prices, and is saved to the same document."""
    model = load_model("model.json")
    save_model(model, "again.json")
    before, after = (json.loads((folder / name).read_text("utf-8")) for name in ("model.json", "again.json"))
    # In a model of 0.1.0 the first call always stands apart, which models of today say.
    assert after["prior"].pop("first_counts") is False
    assert {**after, "version": ""} == {**before, "version": ""}
    assert list(after) == list(before)


def test_nothing_kept_was_changed():
    """Files of 0.1.0 name its version: no later version has written them anew."""
    for name in ("width.json", "model.json"):
        assert json.loads((KEPT / name).read_text("utf-8"))["version"] == "0.1.0"
