"""Several raters and few human labels fused: factor models of ratings."""
