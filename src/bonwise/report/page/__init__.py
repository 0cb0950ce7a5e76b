"""Pages: documents as HTML that a browser shows without asking anyone for anything."""
