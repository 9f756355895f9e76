"""Plain-text paragraphs from the usual documentation formats, with code, tables and menus left out.

HTML and XML are read by a forgiving tag scanner: documentation on disk is often not well formed,
and a scanner that only tracks "inside a dropped element or not" cannot fail on it. No third-party
parser is needed.
"""

from __future__ import annotations

import html
import re

_DROPPED_NAMES = """
    script style pre nav table header footer head title svg math textarea button select form template noscript
    h1 h2 h3 h4 h5 h6 dt figure caption sup aside
    programlisting screen literallayout synopsis cmdsynopsis funcsynopsis informaltable informalexample
    bookinfo articleinfo info mediaobject indexterm inlineequation equation remark footnote code-block
    toc titleabbrev refnamediv refmeta alttext subject link-group
"""
_INLINE_NAMES = """
    a abbr acronym application b bdi big button cite code command constant data dfn em emphasis file filename
    font firstterm function gui guibutton guilabel guimenu guimenuitem guiseq i ins kbd key keycap keyseq link
    literal mark markup menuchoice option parameter phrase productname q quote replaceable s samp small span
    strong structname sub systemitem term tt type u ulink userinput var varname wbr xref
"""
_UNCLOSED_NAMES = "html body main article p li dd dl ul ol br hr"
_VOID_NAMES = "br hr img input meta wbr col area base embed source track param xi:include"
_DROPPED = frozenset(_DROPPED_NAMES.split())
_INLINE = frozenset(_INLINE_NAMES.split())
_KEPT = frozenset(_UNCLOSED_NAMES.split())  # often left open: never dropped for their class
_VOID = frozenset(_VOID_NAMES.split())
_TAG = re.compile(
    r"<!--.*?(?:-->|\Z)|<!\[CDATA\[|\]\]>|<[!?][^>]*>|<(/?)([A-Za-z][\w:.-]*)((?:[^>\"']|\"[^\"]*\"|'[^']*')*)>",
    re.S,
)
_RAW = re.compile(r"<(script|style)\b.*?</\1\s*>", re.S | re.I)
_MENU = re.compile(
    r"""(?:class|id|role)\s*=\s*["']?(?:[^"'>]*\s)?(?:nav(?:bar|igation|header|footer)?|\w*sidebar\w*|footer|breadcrumbs?|"""
    r"""highlight(?:-\w+)?|toc(?:tree-wrapper)?|headerlink|signature|sig|copyright|programlisting|screen|sourceCode|"""
    r"""verbatim|example-code|literal-block|search|related|SCodeFlow|refcontent|RktBlk|math|version\w*|toplinks|"""
    r"""summary-table|member-signature|bottomlang|toplang|admonition-title|wy-nav-side)(?=[\s"'>]|\Z)""",
    re.I,
)


def html_blocks(text: str) -> list[str]:
    """Paragraph texts of an HTML or XML document, in order.

    Elements that never hold prose (code, tables, menus, headings) are dropped with their content;
    inline elements keep their text; every other tag ends a paragraph.
    """
    text = _RAW.sub(" ", text)
    parts: list[str] = []
    dropped: list[str] = []  # names of the open elements since the first dropped one
    position = 0
    for match in _TAG.finditer(text):
        if not dropped:
            parts.append(text[position : match.start()].replace("\n", " "))
        position = match.end()
        if match.group(2) is None:
            continue
        name = match.group(2).lower()
        closing, attributes = bool(match.group(1)), match.group(3)
        opens = not (closing or attributes.endswith("/") or name in _VOID)
        if dropped:
            _track(dropped, name, opens, closing)
            continue
        if opens and (name in _DROPPED or (attributes and name not in _KEPT and _MENU.search(attributes))):
            dropped.append(name)
            if name in _INLINE or name == "sup":
                continue
        if name not in _INLINE and name not in {"sup", "img"}:
            parts.append("\n")
    if not dropped:
        parts.append(text[position:].replace("\n", " "))
    return [block for line in "".join(parts).split("\n") if (block := html.unescape(line).strip())]


def _track(dropped: list[str], name: str, opens: bool, closing: bool) -> None:
    """Follow only elements named like the dropped one: enough to find its end, whatever is inside."""
    if dropped[0] == "head" and name == "body":  # </head> may be left out
        dropped.clear()
    if not dropped or name != dropped[0]:
        return
    if opens:
        dropped.append(name)
    elif closing:
        dropped.pop()


_RST_ROLE = re.compile(r":[\w:+.-]+:`~?!?([^`<]+?)(?:\s*<[^>`]*>)?`")
_RST_LINK = re.compile(r"`([^`<]+?)(?:\s*<[^>`]*>)?`__?")
_MD_LINK = re.compile(r"!?\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])")
_LITERAL = re.compile(r"``?([^`\n]+?)``?")
_EMPHASIS = re.compile(r"(?<![\w*])(\*\*?|__?)(?=\S)([^*_\n]+?)(?<=\S)\1(?![\w*])")
_FENCE = re.compile(r"^(```|~~~).*?(?:^\1|\Z)", re.M | re.S)
_LIST_MARK = re.compile(r"^\s*(?:[-*+o]|\d{1,2}[.)]|#\.)\s+")


def text_blocks(text: str) -> list[str]:
    """Paragraph texts of Markdown, reStructuredText, Info or plain text, in order."""
    text = _FENCE.sub("\n\n", text.replace("\r\n", "\n"))
    blocks: list[str] = []
    literal = False  # the previous paragraph ended with '::', so indented ones are code
    for raw in re.split(r"\n[ \t]*\n", text):
        lines = raw.expandtabs(8).split("\n")
        indented = all(line.startswith("  ") or not line.strip() for line in lines)
        if literal and indented:
            continue
        literal = raw.rstrip().endswith("::")
        if re.match(r"\s*(?:\.\. |[|+=]|>>>|\$ )", raw) or (indented and lines[0].startswith("        ")):
            continue
        blocks.extend(_plain(paragraph) for paragraph in _paragraphs(lines))
    return [block for block in blocks if block]


def _paragraphs(lines: list[str]) -> list[str]:
    """Join lines, starting anew at list marks and leaving out rulers, tables and field lists."""
    out: list[list[str]] = [[]]
    for line in lines:
        stripped = line.strip()
        if not stripped or re.match(r"[=\-~^\"'#*+_.]{3,}$|\||:\w+.*:\s|={2,} |#+ ", stripped):
            out.append([])
        elif _LIST_MARK.match(line):
            out.append([_LIST_MARK.sub("", line).strip()])
        else:
            out[-1].append(stripped)
    return [" ".join(paragraph) for paragraph in out if paragraph]


def _plain(text: str) -> str:
    text = _RST_ROLE.sub(r"\1", text)
    text = _RST_LINK.sub(r"\1", text)
    text = _MD_LINK.sub(r"\1", text)
    text = _LITERAL.sub(r"\1", text)
    text = _EMPHASIS.sub(r"\2", text)
    return re.sub(r"::$", ":", text.strip())


_POD_CODE = re.compile(r"[A-Z](?:<<+ (.*?) >>+|<([^<>]*)>)", re.S)


def pod_blocks(text: str) -> list[str]:
    """Paragraph texts of Perl's POD; verbatim (indented) paragraphs and commands are left out."""
    blocks = []
    for raw in re.split(r"\n[ \t]*\n", text):
        if not raw or raw[0] in " \t=":
            continue
        for _ in range(3):  # nested sequences such as B<L<...>>
            raw = _POD_CODE.sub(_pod_text, raw)
        blocks.append(raw.replace("\n", " ").strip())
    return blocks


def _pod_text(match: re.Match[str]) -> str:
    body = match.group(1) or match.group(2) or ""
    if match.group(0)[0] in "XZ":
        return ""
    if match.group(0)[0] == "E":
        return {"lt": "<", "gt": ">", "verbar": "|", "sol": "/"}.get(body, html.unescape(f"&{body};"))
    return body.split("|")[0] if match.group(0)[0] == "L" else body
