"""``report.html``: all pages and figures on one page that needs no network and no other file."""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from string import Template

from markdown_it import MarkdownIt

from experiments.reading.figures import Figure, figures_beside, figures_of
from experiments.reading.pages import overview
from experiments.reading.results import Results


def report_page(results: Results, pages: Mapping[str, str], figures: Path) -> str:
    """The report as HTML, from the Markdown of its pages and the figures in a directory.

    The same pages and figures give the same text.
    """
    sections = {"overview": _to_html(overview(results.tables))}
    sections |= {name: _to_html(text) for name, text in pages.items()}
    for table in results.tables:
        sections[table.name] += _figures(figures_of(table), figures)
    sections["transports"] = _figures(figures_beside(results), figures)
    links = " · ".join(f'<a href="#{name}">{name}</a>' for name in sections)
    body = "\n".join(f'<section id="{name}">\n{text}</section>' for name, text in sections.items())
    template = Template(Path(__file__).with_suffix(".html").read_text(encoding="utf-8"))
    return template.substitute(links=links, sections=body)


def _to_html(text: str) -> str:
    """Markdown as HTML, without links, which would lead to other files."""
    made = MarkdownIt("commonmark", {"html": False}).enable("table").render(text)
    return re.sub(r'<a href="[^"]*">(.*?)</a>', r"\1", made)


def _figures(figures: Iterable[Figure], directory: Path) -> str:
    parts = []
    for figure in figures:
        path, caption = directory / f"{figure.name}.png", html.escape(figure.caption)
        if path.is_file():
            content = base64.b64encode(path.read_bytes()).decode("ascii")
            image = f'<img src="data:image/png;base64,{content}" alt="{caption}">'
            parts.append(f"<figure>{image}<figcaption>{caption}</figcaption></figure>\n")
    return "".join(parts)
