"""A stack of judges: a logit of which of two labelled candidates is better, on the scores of several judges."""
