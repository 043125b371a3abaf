"""Files read as tables, and two tables of any columns encoded as numbers."""
