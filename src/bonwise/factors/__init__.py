"""Several raters and few human labels fused: factor models of ratings, and stacks of judges."""
