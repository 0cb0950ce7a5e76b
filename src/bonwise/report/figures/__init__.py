"""The drawings of reports: figures in, blocks out that paint nothing before a page asks.

Painters import matplotlib when they paint, so every module here but `percent` can be imported without it.
"""
