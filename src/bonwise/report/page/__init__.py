"""Pages: documents as HTML that a browser shows without asking anyone for anything.

An extra of the package brings what every module here needs, so importing any of them asks for it.
"""

from bonwise.extras import PAGES

PAGES.require("a page")
