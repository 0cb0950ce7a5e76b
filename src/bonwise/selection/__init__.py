"""Selection: keep the best of n candidates."""
