"""Statistics: arrays in, frozen results out; one family of estimands a module."""
