"""The parts of a document on routing."""
