"""Production picks, period by period: what moved, and whether recovery fell."""
