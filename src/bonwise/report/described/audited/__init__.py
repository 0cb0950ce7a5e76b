"""The parts of an audit's description."""
