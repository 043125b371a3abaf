"""What the docs site adds to mkdocs: links that leave docs/, mathematics as MathML, docstrings.

The front page is README.md. Files of results/ that a page links to, and a few at the root, become
part of the site; links to any other file of the repository lead to ``repo_url``, or are text.
"""

from __future__ import annotations

import posixpath
import re
from html import unescape
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
AT_ROOT = {"index.md": "README.md"} | {n: n for n in ("CONTRIBUTING.md", "CHANGELOG.md")}
"""Pages of the site that lie at the repository's root."""
_LINK = re.compile(r"\[([^\[\]]*)\]\(([^)\s#]+)((?:#[^)\s]*)?)\)")
_MATH = re.compile(r'<(?:span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</(?:span|div)>', re.S)
_ROLE = re.compile(r":(?:class|func|meth|mod|data):<code>~?([\w.]+)</code>")


def _place(page: str) -> str:
    """Where a page of the site is in the repository."""
    return AT_ROOT.get(page, page if page.startswith("results/") else f"docs/{page}")


def _target(page: str, link: str) -> str | None:
    """The file of the repository that a link of a page leads to, if there is one."""
    path = posixpath.normpath(posixpath.join(posixpath.dirname(_place(page)), link))
    inside = not path.startswith("..") and (ROOT / path).exists()
    return path if inside and "://" not in link else None


def _page(path: str) -> str | None:
    """What a file of the repository is called in the site, if it is part of it."""
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    names = {place: name for name, place in AT_ROOT.items()}
    is_result = path.startswith("results/") and (ROOT / path).is_file()
    return names.get(path, path if is_result else None)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages at the root, and each result that a page links to."""
    found = [*AT_ROOT, *(f.src_uri for f in files.documentation_pages())]
    for page in found:
        path = ROOT / _place(page)
        if page not in files.src_uris:
            files.append(File.generated(config, page, abs_src_path=str(path)))
        for link in _LINK.findall(path.read_text(encoding="utf-8")) if path.suffix == ".md" else ():
            name = _page(_target(page, link[1]) or "")
            if name and name not in files.src_uris and name not in found:
                found.append(name)
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn the repository's links into those of the site."""
    here = page.file.src_uri
    if here == "index.md":
        page.meta["hide"] = ["navigation"]

    def renew(found: re.Match[str]) -> str:
        label, link, anchor = found.groups()
        path = _target(here, link)
        if path is None:
            return found[0]
        if (name := _page(path)) is not None:
            return f"[{label}]({posixpath.relpath(name, posixpath.dirname(here))}{anchor})"
        if config.repo_url:
            return f"[{label}]({config.repo_url}/blob/main/{path}{anchor})"
        return label

    return _LINK.sub(renew, markdown)


def on_page_content(html: str, **kwargs: Any) -> str:
    """Write formulas as MathML, and the roles of docstrings as references."""

    def formula(found: re.Match[str]) -> str:
        display = "block" if found[1] == "[" else "inline"
        return str(convert(unescape(found[2]), display=display))

    def reference(found: re.Match[str]) -> str:
        name = found[1] if found[1].startswith("krda.") else f"krda.{found[1]}"
        return f'<autoref identifier="{name}" optional><code>{found[1]}</code></autoref>'

    return _ROLE.sub(reference, _MATH.sub(formula, html))
