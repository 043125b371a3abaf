"""Files read as tables, and two tables of any columns encoded as numbers."""

from krda.tables.encode import TableEncoder
from krda.tables.errors import TableError
from krda.tables.read import read_table

__all__ = ["TableEncoder", "TableError", "read_table"]
