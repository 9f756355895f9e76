"""Paragraphs out of documents: prose stays, code, tables and menus go."""

from __future__ import annotations

import pytest

from dlmrt.datasets.markup import html_blocks, pod_blocks, text_blocks

PAGE = """<!DOCTYPE html><html><head><title>Title</title><style>p { color: red }</style></head>
<body class="sphinx toc"><div class="related navigation"><ul><li>Menu</li></ul></div>
<h1>Heading</h1>
<p>First <em>plain</em>
 text with <code>code</code> &amp; an <a href="x>y">anchor</a>.<sup>1</sup></p>
<pre>drop <b>this</b> &lt;too&gt;</pre>
<div class="highlight-python"><div>and this</div></div>
<ul><li>An item<li class="search">Another item</ul>
<table><tr><td><table><tr><td>inner</td></tr></table>outer</td></tr></table>
<script>if (a < b) { document.write("<p>never</p>"); }</script>
<p>Last<br>line <!-- <p>hidden</p> -->here</body></html>"""


def test_html_keeps_prose_only() -> None:
    assert html_blocks(PAGE) == [
        "First plain  text with code & an anchor.",
        "An item",
        "Another item",
        "Last",
        "line here",
    ]


def test_html_class_of_a_menu_must_be_the_whole_name() -> None:
    assert html_blocks('<div class="grid-for-nav">Kept.</div>') == ["Kept."]
    assert html_blocks('<div class="wide nav">Gone.</div><p>Kept.') == ["Kept."]
    assert html_blocks("<div class=nav>Gone.</div><p>Kept.") == ["Kept."]


@pytest.mark.parametrize(
    ("page", "blocks"),
    [
        ("", []),
        ("no tags at all", ["no tags at all"]),
        ("<p>unclosed <b>bold", ["unclosed bold"]),
        ("<head><title>t<body>No end of head.", ["No end of head."]),
        ("<pre>never closed <p>Lost.", []),
        ("a < b and c > d", ["a < b and c > d"]),
        ("<p>x</p></pre></table><p>y", ["x", "y"]),
        ("<!-- open <p>Lost.", []),
    ],
)
def test_html_that_is_not_well_formed(page: str, blocks: list[str]) -> None:
    assert html_blocks(page) == blocks


def test_docbook_and_mallard() -> None:
    page = (
        "<para>Run <command>ls</command>.</para><screen>$ ls</screen><info><desc>No.</desc></info><p>Yes.</p>"
    )
    assert html_blocks(page) == ["Run ls.", "Yes."]


def test_restructured_text() -> None:
    text = """
Title
=====

Use :ref:`the manual <manual>` and ``code`` with *stress*,
on two lines::

    literal block here

.. note:: directives are left out

* one item
  that goes on
* `a link <https://x>`_ item

| line block

>>> session
"""
    assert text_blocks(text) == [
        "Title",
        "Use the manual and code with stress, on two lines:",
        "one item that goes on",
        "a link item",
    ]


def test_markdown() -> None:
    text = (
        "# Head\nSome **bold** and [a link](http://x) here.\n\n"
        "```\ncode\n\nmore\n```\n\n1. First\n2. Second\n"
    )
    assert text_blocks(text) == ["Some bold and a link here.", "First", "Second"]


def test_pod() -> None:
    text = (
        "=head1 NAME\n\nUse C<< a->b >> and L<perlvar|perlvar> with B<I<bold>> E<lt>text.X<index>\n\n"
        "  verbatim\n\n=cut"
    )
    assert pod_blocks(text) == ["Use a->b and perlvar with bold <text."]
