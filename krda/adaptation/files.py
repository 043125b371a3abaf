"""Files that are there whole or not at all."""

from __future__ import annotations

import secrets
from pathlib import Path

from krda.tables.errors import TableError


def write_whole(path: Path, content: bytes) -> None:
    """Write a file, or leave the old one as it is."""
    path = path.resolve()  # a link stays a link
    temporary = path.with_name(f".krda-{secrets.token_hex(4)}.part")
    try:
        temporary.write_bytes(content)
        temporary.replace(path)
    except OSError as error:
        raise TableError(f"{path} cannot be written: {error.strerror or error}.") from error
    finally:
        temporary.unlink(missing_ok=True)
