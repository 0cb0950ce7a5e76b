"""One call of a model done well: asked once, recorded, limited, paid for and never lost."""
