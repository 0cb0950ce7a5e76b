"""Judges: what turns a prompt and its candidates into verdicts."""
