"""The documents of studies, one module per study: its name is that of the study, and it holds the class as ``MODEL``."""
