"""Which way of asking for labels tells more."""
