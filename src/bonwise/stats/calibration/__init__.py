"""Maps from scores to labels, and what such a map does to the picks and to the metrics."""
