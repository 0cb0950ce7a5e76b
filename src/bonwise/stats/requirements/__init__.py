"""What a judge must be to recover a wanted share of the possible gain on given labels."""
