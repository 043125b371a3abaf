"""Run the examples of docs/gallery: draw their figures, and write what they print below them.

::

    python scripts/draw_gallery.py            all pages
    python scripts/draw_gallery.py moons      some of them
"""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parents[1] / "docs"
_BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n.*?^```\n)?", re.DOTALL | re.MULTILINE)


def run(page: str) -> str:
    """Run the blocks of a page one after another, and put what each prints below it."""
    space: dict[str, Any] = {}

    def run_block(found: re.Match[str]) -> str:
        printed = io.StringIO()
        with redirect_stdout(printed):
            exec(compile(found[1], "page", "exec"), space)
        text = printed.getvalue()
        return f"```python\n{found[1]}```\n" + (f"\n```text\n{text}```\n" if text else "")

    return _BLOCK.sub(run_block, page)


def main(names: Sequence[str]) -> None:
    """Run pages in the folder of the figures."""
    os.chdir(DOCS / "assets")
    for path in sorted((DOCS / "gallery").glob("*.md")):
        if not names or path.stem in names:
            path.write_text(run(path.read_text(encoding="utf-8")), encoding="utf-8")
            print(path)


if __name__ == "__main__":
    os.environ["MPLBACKEND"] = "agg"
    main(sys.argv[1:])
