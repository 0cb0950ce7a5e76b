"""Documents put into blocks, one module per schema; each has ``describe``, which returns a `Part`."""
