"""The command line: each command parses, calls the public API, and prints."""
