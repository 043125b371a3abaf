"""How cells are run: in parallel, with nothing finished lost."""
