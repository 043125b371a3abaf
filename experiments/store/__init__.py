"""Records of cells: written whole, read back, compared."""
