import random
import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpora.articles import wikitext
from corpora.articles.rendered_html import main_text

ARTICLE = """\
<div class="mw-parser-output"><style data-mw-deduplicate="x">.mw-parser-output .a{margin:0}</style>
<div role="note" class="hatnote">For the fruit, see <a href="/x">X</a>.</div>
<p class="mw-empty-elt">
</p>
<table class="infobox"><tbody><tr><th>Genus</th><td>Cydonia</td></tr></tbody></table>
<div class="thumb tright"><div class="thumbinner">Quinces</div></div>
<p>The <b>quince</b> (<span class="nowrap"><span class="IPA nopopups">/kwɪns/</span></span>;
<i lang="la">Cydonia oblonga</i>) is the sole member of the
genus <a href="/wiki/Cydonia"><i>Cydonia</i></a>.<sup id="cite_ref-1" class="reference"><a
href="#cite_note-1">&#91;1&#93;</a></sup> It weighs
500&#160;grams (18&#160;oz)<sup class="noprint Inline-Template">[<i>citation needed</i>]</sup>.
</p>
<div id="toc" class="toc" role="navigation"><h2>Contents</h2><ul><li>1 History</li></ul></div>
<h2><span class="mw-headline" id="History">History</span><span class="mw-editsection">
<span class="mw-editsection-bracket">[</span><a href="/edit">edit</a>]</span></h2>
<p>Known since antiquity.<br />Eaten cooked. The ratio is <span class="mwe-math-element"><span
style="display: none;"><math><annotation>{\\displaystyle a}</annotation></math></span><img></span>,
H<sub>2</sub>O &amp; &lt;b&gt;.</p>
<blockquote class="templatequote"><p>Dancing by the light.</p></blockquote>
<div class="div-col"><ul><li>Jam
<ul><li>Marmalade</li></ul></li>
<li>Jelly</li></ul></div>
<dl><dt>Term</dt><dd>Definition</dd></dl>
<table class="wikitable"><caption>Yields</caption><tr><td>1990</td></tr></table>
<table role="presentation" class="cquote"><tr><td>“</td><td>Pull quote</td><td>”</td></tr></table>
<h3><span class="mw-headline">Names</span></h3>
<div class="hatnote">Main article: Names</div>
<div class="mw-heading mw-heading2"><h2 id="See_also">See also</h2></div>
<ul><li>Apple</li></ul>
<h3>Deeper</h3><p>gone</p>
<h2>Cultivation</h2>
<div class="poem"><p>Loose text<br>in lines</p></div>
Not in a paragraph.
<h3>Notes</h3><ol class="references"><li>^ Smith. Retrieved on 1 May</li></ol>
<h2>References</h2><div class="reflist"><ol class="references"><li>Smith</li></ol></div>
<div class="navbox"><ul><li>Pear</li></ul></div>
<table class="metadata plainlinks stub"><tr><td>This article is a stub.</td></tr></table>
<!-- NewPP limit report --></div>
"""

MAIN_TEXT = """\
The quince (Cydonia oblonga) is the sole member of the genus Cydonia. It weighs 500 grams (18 oz).

== History ==

Known since antiquity.
Eaten cooked. The ratio is, H2O & <b>.

Dancing by the light.

Jam
Marmalade
Jelly

Term
Definition

Pull quote

== Cultivation ==

Loose text
in lines

Not in a paragraph."""
PAGE = """<!DOCTYPE html><html><head><title>Quince</title><script>a="<p>b</p>"</script></head>
<body class="skin-vector"><a class="mw-jump-link" href="#x">Jump to content</a>
<div id="siteNotice">Donate</div><h1 id="firstHeading">Quince</h1>%s
<div id="mw-navigation"><h2>Navigation menu</h2><ul><li>Log in</li></ul></div>
<footer id="footer">Privacy policy</footer></body></html>"""
PARSOID = """<html prefix="dc: http://purl.org/dc/terms/"><head><base href="//x"/></head>
<body class="mw-body-content parsoid-body"><section data-mw-section-id="0" id="mwAQ">
<p id="mwAg"><b>A</b><span typeof="mw:Transclusion" data-mw='{"parts":["<p>no</p>"]}'> b</span>
<sup typeof="mw:Extension/ref" class="mw-ref">[1]</sup><span typeof="mw:Entity">&nbsp;</span>c
<span class="mw-default-size" typeof="mw:File/Frameless">d</span></p>
<figure typeof="mw:File/Thumb"><figcaption>e</figcaption></figure></section>
<section><h3 id="F">F</h3><p>g</p><link rel="mw:PageProp/Category" href="./Category:H"/></section>
</body></html>"""
HOSTILE = [
    "<div>", "<b>", "<p>", "<a>", "<ul><li>", "<table>", "<table><tr><td>", "<b><p>", "<a><div>",
    "<nobr>", "<font><div>", "</p>", "</b>", "<svg>", "<math><mi>", "<select>", "<template>",
    "<button><p>", "<h2>", "<form>", "<body a=b>", "<frameset>", "<", "<a", "<a b=", "<a b='",
    '<a b="', "<a b='<a c=\"", "</", "<!--", "<!-->", "<!", "<?", "<script>", "<style>", "<title>",
    "&", "&#", "&#x", "<br", "<br b=\"><div>\">", "<ul>", "</ul>", "<dd>", "<td>", "<x>", "=", "[",
    "<plaintext>", "<object>", "<sup class=reference>", "<span style='display:none'>",
    "<a b c d e f ", "<image>", "<option>", "\x1f",
]  # fmt: skip
FRAGMENTS = [
    *HOSTILE, "</div>", "</table>", "</span>", "</a>", "-->", "word ", "Word.", "<li>", "<br>",
    "<td>", "\n", '<span class="reference">', "<h2>References</h2>", "<h3>", "</h3>", "&lt;",
    "&#91;1]", "é",
]  # fmt: skip
WORDS = ["alpha", "beta,", "gamma.", "(delta)", "épsilon", "ζ"]
INLINE = ["{}", "<b>{}</b>", "<a href='/x'><i>{}</i></a>", "<span class='nowrap'>{}</span>"]
BLOCKS = ["<p>{}</p>", "<ul><li>{}</li></ul>", "<div><p>{}</p></div>", "<dl><dd>{}</dd></dl>"]


def test_whole_article():
    assert main_text(ARTICLE) == MAIN_TEXT


@pytest.mark.parametrize(
    "content",
    [
        """<div id="content"><div id="bodyContent"><div id="siteSub">From Wiki</div>
        <div id="contentSub">(Redirected)</div><div id="jump-to-nav">Jump to: navigation</div>
        {}<div class='printfooter'>Retrieved from x</div><p id='catlinks'>Categories</p></div>""",
        '<main><div id="mw-content-text" lang="en">{}</div></main><div>Languages</div>',
        "<div id='mw_contentholder'>{}</div>",
    ],
)
def test_pages_in_their_skin(content):
    assert main_text(PAGE % content.format(ARTICLE)) == MAIN_TEXT


def test_pages_for_applications_and_of_parsoid():
    page = """<body><div id="pcs"><header><div class="pcs-edit-section-header v2"><h1>Moon</h1>
    <p id="pcs-edit-section-title-description">Natural satellite</p></div></header>
    <section data-mw-section-id="0"><p>The Moon.</p></section>
    <section data-mw-section-id="1" style="display: none;"><div class="pcs-edit-section-header">
    <h2 class="pcs-edit-section-title">Orbit</h2><span class="pcs-edit-section-link-container"><a
    >Edit</a></span></div><p>Text.</p><p style="display:none">hidden</p></section>
    <section><h2>References</h2><div class="pcs-ref">Smith</div></section></div></body>"""
    assert main_text(page) == "The Moon.\n\n== Orbit ==\n\nText."
    assert main_text(PARSOID) == "A b c\n\n=== F ===\n\ng"


@pytest.mark.parametrize(
    "dropped",
    [
        '<table class="ambox"><tr><td>X</td></tr></table>', '<div class="navbox">X</div>',
        '<div class="portal">X</div>', '<div class="sistersitebox">X</div>',
        '<div class="authority-control">X</div>', '<div id="catlinks">X</div>',
        '<div class="printfooter">X</div>', '<div id="siteSub">X</div>',
        '<a class="mw-jump-link">X</a>', '<span id="coordinates">X</span>',
        '<span class="geo-default">X</span>', '<span class="mw-editsection">[X]</span>',
        '<sup class="reference">[X]</sup>', '<ul class="gallery"><li>X</li></ul>',
        '<div class="infobox_v3">X</div>', '<div class="bandeau-container">X</div>',
        '<div class="homonymie">X</div>', '<div class="hauptartikel">X</div>',
        '<span style="color:red;display: none">X</span>', "<span hidden>X</span>",
        "<script>X</script>", "<style>X</style>", "<template>X</template>",
        "<svg><text>X</text></svg>", "<math><mi>X</mi></math>", "<code>X</code>",
        '<span class="texhtml">X</span>',
        '<div class="mw-highlight"><pre>X</pre></div>', "<audio>X</audio>", "<nav>X</nav>",
        '<div role="navigation">X</div>', '<div role="note">X</div>', "<!--X-->",
        '<table><tr><td><p>X</p><table class="cquote"><td>X</td></table></td></tr></table>',
        '<a class="new" title="Template:X (page does not exist)">Template:X</a>',
        '<a class="new" title="File:X.png">File:X.png</a>', '<div class="floatleft">X</div>',
        '<a class="external free" href="http://x">http://x</a>', "<figure>X</figure>",
    ],
)  # fmt: skip
def test_what_is_dropped(dropped):
    assert main_text(f"<p>a</p>{dropped}<div>b {dropped}</div><p>c</p>") == "a\n\nb\n\nc"


def test_what_is_dropped_in_a_sentence_leaves_no_debris():
    mark = "<sup class='reference'>[1]</sup>"
    assert main_text(f"<p>a{mark}, b ({mark}) c ({mark}, d){mark}.</p>") == "a, b c (d)."


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("a<p>b<p>c</p>d", "a\n\nb\n\nc\n\nd"),
        ("<ul><li>a<p>b</p><li>c</ul>d", "a\nb\nc\n\nd"),
        ("<ol><li>a</li></ol><ul><li>b</li></ul>", "a\n\nb"),
        ("<h2>a<br>b</h2>c", "== a b ==\n\nc"),
        ("<h1>a</h1>b<h6>c</h6>d", "== a ==\n\nb\n\n====== c ======\n\nd"),
        ("<h2>a</h2><h3>b</h3><h2>c</h2>d", "== c ==\n\nd"),
        ("<h2>References</h2>a<h2>Body</h2>b", "== Body ==\n\nb"),
        ("<p>a\n b\t c&nbsp;d&shy;e&#8203;f</p>", "a b c def"),
        ("&amp;lt; &amp;amp; [1]", "&lt; &amp;"),
        ("<pre>a\n b</pre>", "a b"),
        ("e&#769;", "é"),
        (
            "<table class='multicol'><tr><td><ul><li>a</li></ul></td><td>b</td></tr></table>",
            "a\n\nb",
        ),
        ("<p>a <a class='new' title='Quince (page does not exist)'>quince</a></p>", "a quince"),
        ("<a href='/wiki/File:A.jpg' title='File:A.jpg'>File:A.jpg</a>", "File:A.jpg"),
        *(("<section hidden>a</section>", "a"), ("\ud800a", "?a"), ("\x00\x1fa", "a")),
        *(("<p>a &#31;&#0; b</p>", "a � b"), ("a < b <c", "a < b <c")),
        *(("<b><p>a</b>b</p>", "a\n\nb"), ("<table class='infobox'><tr><td>a", ""), ("", "")),
        *(("<html>", ""), ("<frameset><frame>", "")),
    ],
)
def test_markup(html, text):
    assert main_text(html) == text


@pytest.mark.parametrize("unit", HOSTILE)
def test_hostile_pages_end(unit):
    n, swapped = 60_000 // len(unit), re.sub(r"<(?=\w)", "</", unit)
    start = time.process_time()
    main_text(unit * n)
    main_text(unit * (n // 2) + swapped * (n // 2))
    assert time.process_time() - start < 5


@pytest.mark.parametrize(
    "unit", ["<div>", pytest.param("<ul><li>", marks=pytest.mark.slow), "<b></p>"]
)
def test_time_is_linear(unit):
    start = time.process_time()
    main_text(unit * (1_000_000 // len(unit)))
    assert time.process_time() - start < 15  # about 1 s; a bare parser takes a minute


@pytest.mark.parametrize(
    "pattern",
    [
        lambda n: "".join(f"<b a={i}>" for i in range(n)) + "<p>x" * n,
        lambda n: "".join(f"<font a={i}><div>" for i in range(n)) + "</font>" * n,
        lambda n: "<a " + " ".join(f"a{i}=1" for i in range(n)) + ">x",
        lambda n: "<p>" + "".join(f"<i a={i}>" for i in range(n)) + "<p>x</p>" * n,
        lambda n: "<li>" * n + "</ul>" * n,
        lambda n: "<div><table><td></div></table>" * (n // 2),
    ],
)
def test_time_is_linear_on_what_parsers_repair(pattern):
    start = time.process_time()
    main_text(pattern(20_000))
    assert time.process_time() - start < 10


@settings(deadline=None)
@given(st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=5), max_size=60).map("".join))
def test_anything_goes(html):
    text = main_text(html)
    assert not re.search(r"\{\{|\}\}|\[\[|\]\]|[\x00-\x09\x0b-\x1f]|\n\n\n| \n|\n |  ", text)
    assert text == text.strip()


def test_every_word_of_the_body_is_kept():
    rng = random.Random(1)
    for _ in range(200):
        paragraphs = [[rng.choice(WORDS) for _ in range(rng.randint(1, 8))] for _ in range(5)]
        html = "".join(
            rng.choice(BLOCKS).format(" ".join(rng.choice(INLINE).format(w) for w in words))
            for words in paragraphs
        )
        assert main_text(html).split() == [word for words in paragraphs for word in words]


def test_the_two_routes_agree():
    source = """The '''quince''' is a [[fruit]].<ref>Smith</ref> It is ''old''.

== History ==
* Jam<br>and jelly
* Juice

=== Uses ===
Cooked.

== References ==
<references />"""
    html = """<p>The <b>quince</b> is a <a href="/wiki/Fruit">fruit</a>.<sup class="reference"
    >[1]</sup> It is <i>old</i>.</p><h2>History</h2><ul><li>Jam<br />and jelly</li><li>Juice</li>
    </ul><h3>Uses</h3><p>Cooked.</p><h2>References</h2><ol class="references"><li>Smith</li></ol>"""
    assert main_text(html) == wikitext.main_text(source)
