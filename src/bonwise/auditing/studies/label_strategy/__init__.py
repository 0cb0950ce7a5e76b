"""Ways of asking one judge, held against each other on the same prompts and pairs."""
