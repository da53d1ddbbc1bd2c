"""A page as one HTML file: no scripts, no external files, and a light or dark theme as the reader's system prefers.

The file is also well-formed XML, so that a plain parser can read it.
"""

from __future__ import annotations

import io
import keyword
import re
import tokenize
from html import escape

from tour.page import Drawing, Figure, Listing, Page, Paragraph, Part, Section, Table

WIDE, NARROW = 760, 344

STYLE = """
:root { color-scheme: light dark; --back: #f7f6f2; --panel: #ffffff; --ink: #1d2330; --faint: #626b7c;
  --dim: #c9c5ba; --rule: #dfdcd3; --s0: #2b6cd4; --s1: #d2691e; --s2: #23906a; --s3: #8456c9; --word: #8456c9;
  --string: #23806a; --note: #7a8292; }
@media (prefers-color-scheme: dark) { :root { --back: #12151b; --panel: #1a1e27; --ink: #e6e9f0; --faint: #9ba5b7;
  --dim: #4b5468; --rule: #2e3442; --s0: #6ea6ff; --s1: #ffa45c; --s2: #5bd0a4; --s3: #bd9cf8; --word: #bd9cf8;
  --string: #7fd6b2; --note: #7f899c; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--ink); font: 16px/1.6 system-ui, -apple-system, "Segoe UI",
  Roboto, "Liberation Sans", sans-serif; }
main, header { max-width: 840px; margin: 0 auto; padding: 0 24px; }
header { padding-top: 56px; }
h1 { font-size: 2.2rem; line-height: 1.15; margin: 0 0 12px; letter-spacing: -0.02em; }
h2 { font-size: 1.4rem; line-height: 1.25; margin: 64px 0 12px; padding-top: 20px; border-top: 1px solid var(--rule);
  letter-spacing: -0.01em; }
p { margin: 12px 0; overflow-wrap: break-word; }
a { color: var(--s0); text-decoration: none; } a:hover { text-decoration: underline; }
code, pre { font-family: ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace; font-size: 0.875em; }
pre code { font-size: inherit; }
p code { background: var(--panel); border: 1px solid var(--rule); border-radius: 4px; padding: 0 4px; }
pre { margin: 16px 0; padding: 14px 16px; background: var(--panel); border: 1px solid var(--rule); border-radius: 8px;
  overflow-x: auto; line-height: 1.5; }
pre.code { border-left: 3px solid var(--s0); }
.word { color: var(--word); } .string { color: var(--string); } .note { color: var(--note); font-style: italic; }
.number { color: var(--s1); }
nav ol { list-style: none; margin: 0; padding: 0; columns: 2; column-gap: 32px; }
nav li { padding: 3px 0; break-inside: avoid; }
dl { display: grid; grid-template-columns: repeat(auto-fill, minmax(230px, 1fr)); gap: 12px; margin: 28px 0; }
dl div { background: var(--panel); border: 1px solid var(--rule); border-radius: 10px; padding: 12px 16px; }
dt { color: var(--faint); font-size: 0.82rem; line-height: 1.35; }
dd { margin: 6px 0 0; font-size: 1.3rem; font-weight: 600; line-height: 1.25; font-variant-numeric: tabular-nums; }
.scroll { overflow-x: auto; margin: 16px 0; border: 1px solid var(--rule); border-radius: 8px;
  background: var(--panel); }
table { border-collapse: collapse; width: 100%; font-size: 0.9rem; font-variant-numeric: tabular-nums; }
th, td { padding: 7px 14px; text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; white-space: normal; min-width: 8.5em; }
th { color: var(--faint); font-weight: 500; } td { border-top: 1px solid var(--rule); }
figure { margin: 24px 0; padding: 16px; background: var(--panel); border: 1px solid var(--rule); border-radius: 8px; }
figcaption { color: var(--faint); font-size: 0.88rem; line-height: 1.45; margin-top: 12px; }
svg { display: block; width: 100%; height: auto; font-family: inherit; }
svg .ink { fill: var(--ink); } svg .faint { fill: var(--faint); }
svg .grid { stroke: var(--rule); stroke-width: 1; } svg .axis { stroke: var(--faint); stroke-width: 1; }
svg .curve { fill: none; stroke-width: 2; stroke-linejoin: round; }
svg .box.s0, svg .dot.s0 { fill: var(--s0); } svg .curve.s0 { stroke: var(--s0); }
svg .box.s1, svg .dot.s1 { fill: var(--s1); } svg .curve.s1 { stroke: var(--s1); }
svg .box.s2, svg .dot.s2 { fill: var(--s2); } svg .curve.s2 { stroke: var(--s2); }
svg .box.s3, svg .dot.s3 { fill: var(--s3); } svg .curve.s3 { stroke: var(--s3); }
svg .box.dim { fill: var(--dim); }
svg .box.vertex { fill: var(--back); stroke: var(--s0); stroke-width: 1.5; }
svg .edge { fill: none; stroke: var(--faint); stroke-width: 1.5; } svg .head { fill: var(--faint); }
.narrow { display: none; }
footer { height: 72px; }
@media (max-width: 640px) {
  main, header { padding: 0 14px; } header { padding-top: 32px; } h1 { font-size: 1.75rem; } h2 { margin-top: 44px; }
  nav ol { columns: 1; } dl { grid-template-columns: 1fr 1fr; gap: 10px; } dl div { padding: 10px 12px; }
  dd { font-size: 1.1rem; } figure { padding: 12px; } th, td { padding: 7px 10px; }
  .wide { display: none; } .narrow { display: block; max-width: 460px; }
}
@media print { h2 { break-after: avoid; } figure, pre, .scroll { break-inside: avoid; } }
""".strip()


def html(page: Page) -> str:
    """Return the report of a page."""
    opening, *sections = page.sections
    links = "".join(f'<li><a href="#{anchor(s)}">{escape(s.title)}</a></li>' for s in sections)
    cards = "".join(f"<div><dt>{inline(what)}</dt><dd>{escape(figure)}</dd></div>" for what, figure in page.findings)
    bodies = "\n".join(
        f'<section id="{anchor(s)}">\n<h2>{escape(s.title)}</h2>\n{parts(s)}\n</section>' for s in sections
    )
    return f"""<!DOCTYPE html>
<html lang="en" xmlns="http://www.w3.org/1999/xhtml">
<head>
<meta charset="utf-8"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<title>{escape(opening.title)}</title>
<style>
{STYLE}
</style>
</head>
<body>
<header>
<h1>{escape(opening.title)}</h1>
{parts(opening)}
{f"<dl>{cards}</dl>" if cards else ""}
<nav><ol>{links}</ol></nav>
</header>
<main>
{bodies}
</main>
<footer></footer>
</body>
</html>
"""


def anchor(section: Section) -> str:
    """Return the anchor of a section."""
    return re.sub(r"[^a-z0-9]+", "-", section.title.lower()).strip("-")


def parts(section: Section) -> str:
    """Return the contents under a heading."""
    return "\n".join(part(p) for p in section.parts)


def part(item: Part) -> str:
    """Return one part of a section."""
    match item:
        case Paragraph(text):
            return f"<p>{inline(text)}</p>"
        case Listing(code):
            return f'<pre class="code"><code>{highlighted(code)}</code></pre>'
        case Drawing(text):
            return f"<pre>{escape(text)}</pre>"
        case Table(head, rows):
            top = "".join(f"<th>{inline(cell)}</th>" for cell in head)
            lines = ("".join(f"<td>{inline(cell)}</td>" for cell in row) for row in rows)
            body = "".join(f"<tr>{line}</tr>" for line in lines)
            return f'<div class="scroll"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'
        case Figure(caption, draw):
            drawn = f'<div class="wide">{draw(WIDE)}</div><div class="narrow">{draw(NARROW)}</div>'
            return f"<figure>{drawn}<figcaption>{inline(caption)}</figcaption></figure>"


def inline(text: str) -> str:
    """Return a line of text with its `backquotes` as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def highlighted(code: str) -> str:
    """Return Python with its keywords, strings, numbers and comments marked."""
    lines = code.splitlines(keepends=True)
    out: list[str] = []
    row, column = 1, 0

    def copy_up_to(end_row: int, end_column: int) -> None:
        nonlocal row, column
        while row < end_row:
            out.append(escape(lines[row - 1][column:]))
            row, column = row + 1, 0
        if row <= len(lines):
            out.append(escape(lines[row - 1][column:end_column]))
        column = end_column

    # A function body may contain a return statement, which the tokenizer accepts.
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        kind = _kind(token)
        if kind:
            copy_up_to(*token.start)
            out.append(f'<span class="{kind}">{escape(token.string)}</span>')
            row, column = token.end
    copy_up_to(len(lines), len(lines[-1]) if lines else 0)
    return "".join(out)


def _kind(token: tokenize.TokenInfo) -> str:
    if token.type == tokenize.COMMENT:
        return "note"
    if token.type == tokenize.NUMBER:
        return "number"
    # From Python 3.12 on, the parts of an f-string are separate tokens; they are not highlighted.
    if token.type == tokenize.STRING:
        return "string"
    return "word" if token.type == tokenize.NAME and keyword.iskeyword(token.string) else ""
