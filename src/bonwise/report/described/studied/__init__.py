"""What the descriptions of all studies share."""
