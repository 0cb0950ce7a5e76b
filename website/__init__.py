"""The site of the documentation: pages that are made from the code, and what mkdocs calls."""
