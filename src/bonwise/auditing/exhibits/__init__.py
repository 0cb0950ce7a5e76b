"""What the page of an audit shows beyond its figures: distributions, strata, prompts."""
