"""Tables of one's own: files read as they are meant, and two tables encoded as numbers."""

from krda.tables.encode import TableEncoder
from krda.tables.read import TableError, read_table

__all__ = ["TableEncoder", "TableError", "read_table"]
