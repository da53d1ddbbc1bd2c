"""Hooks of MkDocs that make the site out of the repository's pages.

Pages in the root of the repository become pages of the site. Links between all of them are kept; a link to a source
file becomes the file's path. ``functions.md`` becomes one page per module, and the page of benchmarks shows their raw
outputs.

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
FUNCTIONS = "functions.md"
BENCHMARKS = "benchmarks/README.md"
DIAGRAMS = "docs/diagrams/"
LINK = re.compile(r"(!?)\[([^\]\n]*)\]\(([^)\s]+)\)")
FENCE = re.compile(r"^(```.*?^```)", re.MULTILINE | re.DOTALL)
log = logging.getLogger("mkdocs.plugins.forerun")


def modules() -> dict[str, str]:
    """Return the parts of ``functions.md``, by module."""
    text = (ROOT / "docs" / FUNCTIONS).read_text(encoding="utf-8")
    parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """List the pages of functions beside their table of contents."""

    def expanded(entry: Any) -> Any:
        if isinstance(entry, dict):
            return {title: expanded(inside) for title, inside in entry.items()}
        if isinstance(entry, list):
            return [expanded(inside) for inside in entry]
        return [FUNCTIONS, *({name: f"functions/{name}.md"} for name in modules())] if entry == FUNCTIONS else entry

    config.nav = expanded(config.nav)
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are not files of docs/, and the style sheet."""
    for name, path in ROOT_PAGES.items():
        files.append(File.generated(config, name, abs_src_path=str(ROOT / path)))
    for name, text in modules().items():
        # The table of contents has names; a heading has the arguments too.
        page = f"# {name}\n" + re.sub(r"^### (`(\w+).*)$", r'## \1 { #\2 data-toc-label="\2" }', text, flags=re.M)
        files.append(File.generated(config, f"functions/{name}.md", content=page))
    files.append(File.generated(config, "style.css", abs_src_path=str(ROOT / "site/style.css")))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Adapt a page to the site."""
    name = page.file.src_uri
    if name == FUNCTIONS:
        markdown = markdown.split("\n## ")[0] + "\n\n" + "".join(f"- [{m}](functions/{m}.md)\n" for m in modules())
    if name == BENCHMARKS:
        markdown += raw_outputs()
    if name.startswith("functions/"):
        markdown = markdown.replace("```python\n>>> ", "```pycon\n>>> ")
    # Examples are no text: what looks like a link in them is code.
    parts = FENCE.split(markdown)
    return "".join(part if part.startswith("```") else linked(part, name, files) for part in parts)


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
    source = ROOT_PAGES.get(name, f"docs/{name}")
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
            return f"{image}[{words}]({posixpath.relpath(here, posixpath.dirname(name) or '.')}{mark}{anchor})"
        if here != place and files.get_file_from_path(f"{here}/README.md"):
            return f"[{words}]({posixpath.relpath(here, posixpath.dirname(name) or '.')}/README.md{mark}{anchor})"
        if not (ROOT / place).exists():
            log.warning("%s: `%s` leads nowhere", source, target)
        # The site has no copy of the sources.
        plain = words.strip("`")
        return f"`{place}`" if place.endswith(plain) else f"{words} (`{place}`)"

    return LINK.sub(link, text)
