"""Which labels: designs drawn, topped up and compared."""
