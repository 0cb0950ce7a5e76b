"""bonwise."""
