"""Whether a stream of periods, such as days of picks, has moved: tests that may be looked at every day."""
