"""Blocks, numbers, words, and what renders them."""
