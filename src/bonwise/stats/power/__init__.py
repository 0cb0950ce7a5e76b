"""How many labels a question takes."""
