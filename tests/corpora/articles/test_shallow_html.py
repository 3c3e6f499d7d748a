import pytest
from selectolax.lexbor import LexborHTMLParser

from corpora.articles.shallow_html import MAX_ATTRIBUTES, MAX_DEPTH, MAX_INLINE, shallow


@pytest.mark.parametrize(
    "html",
    [
        "<div class='a>b' id=c hidden><p>d &lt; e<br/>f<img src=\"x\"></p></div>",
        "<html><head><meta charset='utf-8'/></head><body>a</body></html>",
        "<ul><li>a</li><li>b</li></ul><a href=/w/index.php?title=A&amp;b=c>d</a>",
        "no tags",
    ],
)
def test_what_nests_as_it_should_stays(html):
    assert shallow(html) == html


@pytest.mark.parametrize(
    ("html", "shown"),
    [
        ("a<!-- <p> -->b<!-->c<!--->d<!-- e", "abcd"),
        ("<!DOCTYPE html>a<?php b?>c<!d", "ac"),
        ("a<script>'<p>'</script>b<STYLE>c</style >d<svg><p>e</p></svg>f<svg/>g<title>h", "abdfg"),
        ("<p>a<p>b<ul><li>c<li>d</ul>", "<p>a</p><p>b<ul><li>c</li><li>d</li></ul>"),
        ("<div><b>a</div>b</b>", "<div><b>a</b></div>b"),
        ("</p>a</x>", "a"),
        ("a < b <c d <e", "a &lt; b &lt;c d &lt;e"),
        ("<br b\"><div>\">", "&lt;br b\"><div>\">"),
        ("<body a=b><p>c<body d=e>f", "<body a=b><p>cf"),
        ("<table><tr><td>a<td>b<tr><td>c", "<table><tr><td>a</td><td>b</td></tr><tr><td>c"),
    ],
)  # fmt: skip
def test_repairs(html, shown):
    assert shallow(html) == shown


def depth(html):
    node, deepest = LexborHTMLParser(html).body, 0
    while node is not None:
        node, deepest = node.first_child, deepest + 1
    return deepest


def test_depth_and_attributes_are_limited_and_malformed_tags_are_text():
    assert depth(shallow("<div>" * 5000)) <= MAX_DEPTH + 2
    assert depth(shallow("<b><i>" * 5000)) <= MAX_INLINE + 2
    assert depth(shallow("<div>" * 150)) > 150
    many = "".join(f" a{i}=1" for i in range(MAX_ATTRIBUTES + 1))
    assert shallow(f"<p{many}>a</p>") == "<p>a</p>"
    assert shallow(f"<p{'a '.join([' '] * 90)}>b</p>") == "<p>b</p>"
    assert shallow("<a " * 2000 + "<p>b</p>").endswith(" b ")
