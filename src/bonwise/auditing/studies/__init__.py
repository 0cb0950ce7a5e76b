"""Studies of a table of scores and labels that decide between judges, and between ways of asking one."""
