"""Rendering: documents in, text out; nothing here knows how a figure was made."""
