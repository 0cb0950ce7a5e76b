"""What the controls of a pool hide."""
