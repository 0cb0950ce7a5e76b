"""The parts of an audit's document: data, figures, verdict, settings, gates, comparisons."""
