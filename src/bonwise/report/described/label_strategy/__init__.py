"""The kinds of the study of ways of asking, put into blocks."""
