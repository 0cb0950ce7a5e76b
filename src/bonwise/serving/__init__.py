"""An OpenAI-compatible endpoint: a model ``bon/NAME`` is the best of n answers of another model, by a judge."""

from __future__ import annotations

from bonwise.extras import Feature

__all__ = ["EXTRA"]

EXTRA = Feature(("starlette", "uvicorn"), "serve")
"""What serving needs that bonwise does not bring."""
