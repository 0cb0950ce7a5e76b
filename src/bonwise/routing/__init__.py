"""Routing: which prompts a stronger judge should decide."""
