"""How good a judge has to be."""
