"""Ways of asking one judge: scores, quantised scores, comparisons of some or all pairs."""
