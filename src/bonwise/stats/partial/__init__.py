"""Estimation when only some prompts, or some candidates, carry labels."""
