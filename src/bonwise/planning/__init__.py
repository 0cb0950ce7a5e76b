"""How many labels, which ones, and when to stop."""
