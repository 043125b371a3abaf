"""Run the examples of README.md and docs/gallery: draw the figures, write what they print.

::

    python scripts/draw_gallery.py            all pages
    python scripts/draw_gallery.py moons      some of them
"""

from __future__ import annotations

import argparse
import io
import os
import re
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from experiments.threads import limit_threads

limit_threads()

_BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n.*?^```\n)?", re.DOTALL | re.MULTILINE)


def run(page: str, space: dict[str, Any]) -> str:
    """Run the Python blocks of a page in turn, and put what each prints below it."""

    def run_block(found: re.Match[str]) -> str:
        printed = io.StringIO()
        with redirect_stdout(printed):
            exec(compile(found[1], "page", "exec"), space)
        text = printed.getvalue()
        return f"```python\n{found[1]}```\n" + (f"\n```text\n{text}```\n" if text else "")

    return _BLOCK.sub(run_block, page)


def main() -> None:
    """Run pages in the folder of the figures."""
    gallery = sorted((ROOT / "docs" / "gallery").glob("[!R]*.md"))
    pages = {path.stem: path for path in (ROOT / "README.md", *gallery)}
    parser = argparse.ArgumentParser(description="Run the examples of README.md and docs/gallery.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(pages)}; none: all")
    os.environ["MPLBACKEND"] = "agg"
    for name in parser.parse_args().names or pages:
        os.chdir(ROOT / "docs" / "assets")
        pages[name].write_text(run(pages[name].read_text(encoding="utf-8"), {}), encoding="utf-8")
        print(pages[name])


if __name__ == "__main__":
    main()
