"""When labels are enough: rules that may be asked after every label."""
