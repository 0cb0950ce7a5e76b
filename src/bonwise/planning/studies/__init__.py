"""What raw votes on pairs of models show."""
