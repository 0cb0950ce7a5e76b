"""What a judge prefers among candidates with the same label, and what that costs its picks."""
