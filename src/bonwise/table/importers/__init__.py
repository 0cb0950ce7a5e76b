"""Readers of the files of other tools, one module per format, by the entry-point group ``bonwise.importers``."""
