"""The documents of studies, one module per study, named like it, which holds the class as ``MODEL``."""
