"""The head of a page: what it shows, and what was done to what."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

__all__ = ["facts", "title"]


_Document = Mapping[str, Any]


def title(document: _Document) -> str:
    """Return the heading of a document's page."""
    schema, source = document.get("schema"), _short(document.get("settings", {}).get("source", ""))
    if schema == "bonwise.audit/1":
        return f"Audit of the picks of {source}" if "picks" in document["settings"] else f"Audit of {source}"
    if schema == "bonwise.compare/1":
        return f"Picks of {_short(document['first']['source'])} against {_short(document['second']['source'])}"
    return f"Routing of {source}"


def facts(document: _Document) -> list[tuple[str, str]]:
    """Return what was held against what, what was left out, and how intervals were made."""
    settings = document.get("settings", {})
    found = [*_matter(document, settings), *_left_out(settings), *_picks(settings.get("picks"))]
    return [*found, *_manner(settings)]


def _short(source: str) -> str:
    return PurePath(source).name or source


def _matter(document: _Document, settings: _Document) -> Iterator[tuple[str, str]]:
    if "source" in settings:
        yield "scores", str(settings["source"])
    if "judge" in document and document.get("schema") == "bonwise.audit/1":
        yield "judge", document["judge"]
    if "judges" in document:
        yield "judges", f"{len(document['judges']):,}"
    if document.get("schema") == "bonwise.audit/1":
        reference = settings.get("reference")
        yield "against", "oracle labels" if reference is None else f"agreement with {reference}, which is no oracle"
    if "shape" in settings:
        yield "table", str(settings["shape"])


def _left_out(settings: _Document) -> Iterator[tuple[str, str]]:
    if settings.get("exclude"):
        yield "without", ", ".join(settings["exclude"])
    if settings.get("control"):
        yield "control", ", ".join(settings["control"])
    if settings.get("draws", 1) > 1:
        yield "scores are", f"means of up to {settings['draws']} draws"
    renamed = [f"{role} from {column}" for role, column in settings.get("columns", {}).items() if role != column]
    if renamed:
        yield "columns", ", ".join(renamed)
    if "label_scale" in settings:
        yield "scale of labels", str(settings["label_scale"])
    if "judge_scale" in settings:
        yield "scale of scores", ", ".join(f"{ends} ({judge})" for judge, ends in settings["judge_scale"].items())


def _picks(picks: _Document | None) -> Iterator[tuple[str, str]]:
    if picks is None:
        return
    yield "picks", "as the seed drew them" if picks["as_picked"] else "in expectation where a seed decided"
    for name, counts in (("decided by", picks["decided_by"]), ("left out", picks["left_out"])):
        if counts:
            yield name, ", ".join(f"{what} ({count:,})" for what, count in counts.items())


def _manner(settings: _Document) -> Iterator[tuple[str, str]]:
    if "target" in settings:
        words = {"best-of-n": "picking the best of a prompt's candidates", "system": "comparing systems on averages"}
        yield "decision", words.get(settings["target"], str(settings["target"]))
    if "confidence" in settings:
        kinds = {
            "default": ", jackknife and Fieller",
            "bootstrap": f", bootstrap of {settings.get('resamples', 0):,} resamples",
        }
        kind = kinds.get(settings.get("interval", ""), "")
        yield "intervals", f"{100 * settings['confidence']:g}%, clustered by prompt{kind}"
    if "outcome_model" in settings:
        yield "outcome model", settings["outcome_model"]
    if "seed" in settings:
        yield "seed", str(settings["seed"])
    if "version" in settings:
        yield "bonwise", settings["version"]
