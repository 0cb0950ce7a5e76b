"""Raw votes on pairs: margins, what shows them, where they gather."""
