"""Strategies: which questions to ask about the candidates of a prompt, and when to stop."""
