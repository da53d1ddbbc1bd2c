"""Hooks of MkDocs that make the site out of the repository's pages.

Pages in the root of the repository become pages of the site. Links between all of them are kept; a link to a source
file becomes the file's path. A long generated list of names becomes one page per module, and the page of benchmarks
shows their raw outputs.

Invariant: a link that leads nowhere is a warning, and the build is strict, so it fails.
"""

from __future__ import annotations

import logging
import pathlib
import posixpath
import re
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = pathlib.Path(__file__).parents[1]
#: Pages in the root of the repository, by their names on the site.
ROOT_PAGES = {
    "index.md": "README.md",
    "architecture.md": "ARCHITECTURE.md",
    "changelog.md": "CHANGELOG.md",
    "contributing.md": "CONTRIBUTING.md",
    "roadmap.md": "ROADMAP.md",
    "security.md": "SECURITY.md",
}
#: Long lists of names, one heading per module; those that are in the navigation are split.
LISTS = ("functions.md", "classes.md", "dialects.md")
BENCHMARKS = "benchmarks/README.md"
DIAGRAMS = "docs/diagrams/"
LINK = re.compile(r"(!?)\[([^\]\n]*)\]\(([^)\s]+)\)")
FENCE = re.compile(r"^(```.*?^```)", re.MULTILINE | re.DOTALL)
log = logging.getLogger("mkdocs.plugins.forerun")


def parts(page: str) -> dict[str, tuple[str, str]]:
    """Return the modules of a list by the names of their pages: the title, and the text below it."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    pieces = re.split(r"^## (.+)$", text, flags=re.MULTILINE)
    folder, found = page.removesuffix(".md"), {}
    for title, below in zip(pieces[1::2], pieces[2::2], strict=True):
        module = re.search(r"`([\w.]+)`", title)
        found[f"{folder}/{module[1] if module else title}.md"] = (title.replace("`", ""), below)
    return found


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """List the pages of each module below the list."""

    def expanded(entry: Any) -> Any:
        if isinstance(entry, dict):
            return {title: expanded(inside) for title, inside in entry.items()}
        if isinstance(entry, list):
            return [expanded(inside) for inside in entry]
        return [entry, *({title: name} for name, (title, _) in parts(entry).items())] if entry in LISTS else entry

    config.nav = expanded(config.nav)
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are not files of docs/, and the style sheet."""
    for name, path in ROOT_PAGES.items():
        files.append(File.generated(config, name, abs_src_path=str(ROOT / path)))
    for page in LISTS:
        for name, (title, text) in parts(page).items() if (ROOT / "docs" / page).exists() else ():
            # The table of contents has names; a heading has the arguments too.
            text = re.sub(r"^### (`(\w+).*)$", r'## \1 { #\2 data-toc-label="\2" }', text, flags=re.MULTILINE)
            files.append(File.generated(config, name, content=f"# {title}\n{text}"))
    files.append(File.generated(config, "style.css", abs_src_path=str(ROOT / "site/style.css")))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Adapt a page to the site."""
    name = page.file.src_uri
    if name in LISTS:
        links = [f"- [{title}]({part})\n" for part, (title, _) in parts(name).items()]
        markdown = markdown.split("\n## ")[0] + "\n\n" + "".join(links)
    if name == BENCHMARKS:
        markdown += raw_outputs()
    if f"{posixpath.dirname(name)}.md" in LISTS:
        markdown = markdown.replace("```python\n>>> ", "```pycon\n>>> ")
    # Examples are no text: what looks like a link in them is code.
    pieces = FENCE.split(markdown)
    return "".join(piece if piece.startswith("```") else linked(piece, name, files) for piece in pieces)


def raw_outputs() -> str:
    """Return the outputs of all benchmarks, each in a block that opens at a click."""
    blocks = ["\n\n## Raw outputs { data-search-exclude }\n"]
    for path in sorted((ROOT / "docs/benchmarks").glob("*.txt")):
        text = "".join(f"    {line}\n" for line in ["```text", *path.read_text(encoding="utf-8").splitlines(), "```"])
        blocks.append(f'\n??? example "{path.name}"\n\n{text}')
    return "".join(blocks)


def linked(text: str, name: str, files: Files) -> str:
    """Return a text whose links lead to pages of the site."""
    # Where the page lies in the repository, and where each page of the site comes from.
    above = f"{posixpath.dirname(name)}.md"
    source = ROOT_PAGES.get(name, f"docs/{above if above in LISTS else name}")
    pages = {path: page for page, path in ROOT_PAGES.items()}

    def link(found: re.Match[str]) -> str:
        image, words, target = found.groups()
        path, mark, anchor = target.partition("#")
        if "://" in path or not path:
            return found[0]
        place = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        if image and place.startswith(DIAGRAMS) and (ROOT / place).is_file():
            # Part of the page, so that it takes the page's colours.
            return f"<figure>{(ROOT / place).read_text(encoding='utf-8')}</figure>"
        here = pages.get(place, place.removeprefix("docs/"))
        if here != place and files.get_file_from_path(here):
            # Of a link into a list only the page is left: its headings are on the pages of the modules.
            mark, anchor = ("", "") if here in LISTS else (mark, anchor)
            return f"{image}[{words}]({posixpath.relpath(here, posixpath.dirname(name) or '.')}{mark}{anchor})"
        if here != place and files.get_file_from_path(f"{here}/README.md"):
            return f"[{words}]({posixpath.relpath(here, posixpath.dirname(name) or '.')}/README.md{mark}{anchor})"
        if not (ROOT / place).exists():
            log.warning("%s: `%s` leads nowhere", source, target)
        # The site has no copy of the sources.
        plain = words.strip("`")
        return f"`{place}`" if place.endswith(plain) else f"{words} (`{place}`)"

    return LINK.sub(link, text)
