"""Sections of the pages by study: a module and a function for each."""
