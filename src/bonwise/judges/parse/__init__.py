"""Replies read."""
