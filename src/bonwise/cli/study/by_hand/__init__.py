"""Commands of studies that no function's signature can say: they do several things, or write several files."""
