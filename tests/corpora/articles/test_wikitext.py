import re
import time
from collections import Counter

import mwparserfromhell
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpora.articles.article import without_headings
from corpora.articles.wikitext import FILE_NAMESPACES, main_text
from tests.shared_data import shared_file

ARTICLE = """\
{{Short description|Fruit}}
{{Infobox fruit
| name = Quince
| image = [[File:Quince.jpg|250px]]
| genus = {{lang|la|''Cydonia {{small|Mill.}}''}}
}}
[[File:Quinces.jpg|thumb|left|Quinces on a [[tree]], see [http://example.org a page]]]
The '''quince''' ({{IPAc-en|k|w|ɪ|n|s}}; ''Cydonia oblonga'') is the sole member of the
genus [[Cydonia (plant)|''Cydonia'']] in the [[Rosaceae|rose family]].<ref>{{cite|a}}</ref>
It is grown in [[Turkey]]<ref name="b" />, weighs {{convert|500|g}}, and is eaten cooked.{{cn}}
<!-- a
comment -->
== History ==<!-- anchor -->
Known since antiquity&nbsp;– before {{circa}} 600&thinsp;BC &amp; later.<ref>Smith [[1990]]</ref>
Water is H<sub>2</sub>O.

{| class="wikitable"
! Year !! Yield
|-
| 1990 || 3
{| class="nested"
| inner
|}
|}
=== Names ===
{{main|Names}}
=== Uses ===
* [[Jam]]s
*# ''Marmalade''<br />and jelly
; Term : definition
: Indented &ndash; text
<gallery>
File:A.jpg|Not text
</gallery>
The ratio is <math>\\frac{a}{b}</math>, as in <code>x = {{y}}</code>.
== See also ==
* [[Apple]]
=== Fruits ===
* [[Pear]]
== Cultivation ==
Still main text, with [https://example.org/a_b a label], [https://example.org] and https://example.org/x.
== Gallery ==
<gallery>File:B.jpg|Nor this</gallery>
== Notes and references ==
{{reflist}}
Loose text.
== External links ==
* [http://example.org Site]
__NOTOC__
{{fruit-stub}}
[[Category:Fruit]]
[[category : Trees|Quince]]
[[de:Quitte]]
[[zh-min-nan:Bok-kóe]]
"""

MAIN_TEXT = """\
The quince (Cydonia oblonga) is the sole member of the
genus Cydonia in the rose family.
It is grown in Turkey, weighs 500 g, and is eaten cooked.

== History ==

Known since antiquity – before 600 BC & later.
Water is H2O.

=== Uses ===

Jams
Marmalade
and jelly
Term : definition
Indented – text

The ratio is, as in.

== Cultivation ==

Still main text, with a label, and."""
HOSTILE = [
    "{{", "{{{", "{{a|", "{{a}", "}}", "[[", "[[a|", "[[a]", "[[File:a|", "[[File:a]", "[[de:", "]",
    "[http://a ", "[http://a [b] ", "[[http://a ", "http://.", "<ref>", "<ref>{{", "<nowiki>", "<",
    '<a b="', "<!--", "<table>", "{|\n", "{|\n|-\n|a", "|}\n", "'''a", "*", ":;", "=", "== a ==\n",
    "==", "\n", " ", ", ", "(", "(,", "({{a}}", "{{a}} )", ",;{{a}}", "&", "&#", "_", "__A", "\x1f",
    "! ", "-", "\u00a0", "== and and ==\n", "[[a [http://b ",
]  # fmt: skip
FRAGMENTS = [
    *HOSTILE, "}}", "]]", "|}", "|", "</ref>", "-->", "</nowiki>", "</math>", "<math>", "'", "''",
    "a", "Word ", "\n\n", "\n*", "|-\n", "!!", "&nbsp;", "&lt;ref&gt;", "#", ".", "<br>", "é",
]  # fmt: skip
WRAPPERS = [
    "{{{{t|{}}}}}", "<ref>{}</ref>", "[[Target|{}]]", "[[File:x.jpg|thumb|{}]]", "'''{}'''",
    "[http://example.org {}]", "<small>{}</small>", "<!--{}-->", "\n* {}\n", "\n{{|\n| {}\n|}}\n",
]  # fmt: skip
BALANCED = st.recursive(
    st.sampled_from(["word", "[[link]]", "{{t}}", "<ref/>", "x.", "{{{1|}}}"]),
    lambda inner: st.builds(
        lambda wrapper, parts: wrapper.format(" ".join(parts)),
        st.sampled_from(WRAPPERS),
        st.lists(inner, min_size=1, max_size=4),
    ),
)
INLINE = [
    "alpha", "[[Beta]]", "[[Gamma|delta]]", "''epsilon''", "{{eta|[[x]]}}", "&amp;", "<b>iota</b>",
    "[http://example.org theta]", "http://example.org", "kappa&nbsp;lambda", "'''zeta'''",
]  # fmt: skip
SHOWN_TEMPLATES = "quote|cquote|blockquote|lang.*|convert|as of|nowrap|nihongo|transl|flag|small"


def test_whole_article():
    assert main_text(ARTICLE) == MAIN_TEXT


@pytest.mark.parametrize(
    ("wikitext", "text"),
    [
        ("''a'' '''b''' '''''c''''' d'''e'''", "a b c de"),
        ("[[a]] [[b|c]]s [[:d]] [[#e]] [[f|]] [[g|[h] i]]", "a cs d e f [h] i"),
        ("[[:Category:a|b]] [[wikt:c|d]] [[User:e|f]]", "b d f"),
        ("[//example.org a] [mailto:a@b.c mail]", "a mail"),
        ("a{{b}}c", "a c"),
        ("a {{{1|b}}} {{{{{c}}}|d}} {{e|{{{f}}}}} g", "a g"),
        ("{{a|}} }} b {{ c", "b c"),
        ("a\n<!-- b -->\nc", "a\nc"),
        ("a <!-- b", "a"),
        ("<nowiki>[[a]] {{b}} ''c''</nowiki>", "a b ''c''"),
        ("a<ref>b", "a b"),
        ("a<REF name='x'>b</ReF >c<references />", "a c"),
        ("a<ref name=x/>, b<ref\nname=y>{{c</ref>. d", "a, b. d"),
        ("a (b) ({{c}}) ({{d}}, {{e}}) f() g", "a (b) f() g"),
        ("a ({{b}}, 5 May) (6 May; {{c}}) {{d}}, e", "a (5 May) (6 May), e"),
        ("a [1] b[23] c[citation needed] d[note 4] e[edit] x[i]", "a b c d e x[i]"),
        ("a\n\n\n\n  b  c\t d\r\ne", "a\n\nb c d\ne"),
        ("a\n----\nb", "a\nb"),
        ("a <small>b</small> <div class='x'>c</div> 1 < 2 <stdio.h>", "a b\nc\n1 < 2 <stdio.h>"),
        ("__TOC__ __INHALTSVERZEICHNIS__ a", "a"),
        ("a &lt;b&gt; &#91;c&#93; &eacute; &shy;d", "a <b> [c] é d"),
        ("e\u0301", "é"),
        ("{|\n| a\nb\n", "b"),
        ("a\n|}\nb", "a\nb"),
        ("a\n:{|\n|b\n|}\nc", "a\n\nc"),
        ("a <table><tr><td>b</td></tr></table> c", "a c"),
        ("[[File:a.jpg|thumb|b [[c]] [[Image:d.png|[[e]]]] f]] g", "g"),
        ("[[File:a.jpg|thumb|b [[c]]\ng", "g"),
        ("[[Datei:a.jpg|b]] [[Fichier:c.jpg]] [[Imagen:d.png|e]] f", "f"),
        ("#REDIRECT [[a]]", "REDIRECT a"),
        ("", ""),
        ("{{a}}", ""),
    ],
)
def test_markup(wikitext, text):
    assert main_text(wikitext) == text


@pytest.mark.parametrize(
    ("wikitext", "text"),
    [
        ("== a ==\nb", "== a ==\n\nb"),
        ("====''a'' [[b|c]]====\nd", "==== a c ====\n\nd"),
        ("= a =\nb", "== a ==\n\nb"),
        ("=== a ==\nb", "== a ==\n\nb"),
        ("== a ==\n=== b ===\n== c ==\nd\n== e ==", "== c ==\n\nd"),
        ("== a ==\n=== b ===\nc", "== a ==\n\n=== b ===\n\nc"),
        ("== {{a}} ==\nb", "b"),
        ("== a = b ==\nc", "== a = b ==\n\nc"),
        ("a == b\n=\n==\n===\nc = d", "a == b\nc = d"),
    ],
)
def test_headings(wikitext, text):
    assert main_text(wikitext) == text


@pytest.mark.parametrize(
    "title",
    [
        "References", "REFERENCES", "Notes", "See also", "External links", "Further reading",
        "Footnotes", "Bibliography", "Sources", "Notes and references", "References and notes",
        "Notes, citations and references",
        "''Notes'' &amp; sources", "General and cited references",
        "Einzelnachweise", "Weblinks", "Anmerkungen und Einzelnachweise", "Notes et références",
        "Voir aussi", "Notas y referencias", "Enlaces externos", "Voci correlate",
        "Ligações externas", "Zie ook", "Bronnen, noten en referenties",
    ],
)  # fmt: skip
def test_apparatus_is_dropped_wherever_it_stands(title):
    wikitext = f"a\n== {title} ==\nb\n=== Deeper ===\nc\n== Body ==\nd\n== {title} ==\ne"
    assert main_text(wikitext) == "a\n\n== Body ==\n\nd"


@pytest.mark.parametrize("title", ["Notes on style", "Source code", "and", "Literature"])
def test_body_sections_stay(title):
    assert main_text(f"== {title} ==\nb").endswith("\n\nb")


def test_apparatus_below_the_top_level_stays():
    assert main_text("== a ==\n=== Sources ===\nb") == "== a ==\n\n=== Sources ===\n\nb"


@pytest.mark.parametrize("title", ["Notes", "References", "See also", "Notes and sources"])
def test_what_is_apparatus_anywhere_goes_below_the_top_level_too(title):
    wikitext = f"== a ==\nb\n=== {title} ===\nc\n==== d ====\ne\n=== f ===\ng"
    assert main_text(wikitext) == "== a ==\n\nb\n\n=== f ===\n\ng"


@pytest.mark.parametrize(
    ("wikitext", "text"),
    [
        *(("''Iliad'''s end", "Iliad's end"), ("the ''Star'''s '''own'''", "the Star's own")),
        *(("x ''A'''s and ''B C'''s", "x As and B Cs"), ("''''a'''' b", "'a' b")),
        *(("'''''''a''''' b", "'a b"), ("'''a b", "a b"), ("''a\n'''b", "a\nb")),
    ],
)
def test_apostrophes(wikitext, text):
    assert main_text(wikitext) == text


def test_namespaces_of_the_dump_and_unknown_ones():
    assert main_text("a [[Lêer:b.jpg|thumb|c [[d]] e]] [[Talk:f|g]]") == "a g"
    wikitext = "[[Súbor:a|b [[c]]]] [[Kategória:d]] [[Iný priestor:e]] [[iný_priestor : f|g]] h"
    assert (
        main_text(wikitext, frozenset(["súbor", "Iný priestor"]), frozenset(["kategória"])) == "h"
    )
    assert "Iný priestor:e" in main_text(wikitext, frozenset(["súbor"]), frozenset(["kategória"]))
    assert "image" in FILE_NAMESPACES


@pytest.mark.slow
@pytest.mark.parametrize("digits", ["9" * 9, "9" * 5000])
def test_numbers_of_no_character(digits):
    assert main_text(f"A &#{digits}; B.") == "A \ufffd B."
    assert main_text(f"A &#{digits} B &amp; C.") == "A \ufffd B & C."


@pytest.mark.parametrize("unit", HOSTILE)
def test_time_is_linear(unit):
    text = unit * (100_000 // len(unit))
    swapped, start = text.translate(str.maketrans("{[<", "}]/")), time.process_time()
    main_text(text)
    main_text(text[:50_000] + swapped[:50_000])
    assert time.process_time() - start < 2  # about 0.1 s; quadratic would be an hour


@settings(deadline=None)
@given(st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=5), max_size=60).map("".join))
def test_anything_goes(wikitext):
    text = main_text(wikitext)
    assert not re.search(r"\{\{|\}\}|\[\[|\]\]|<ref|[\x00-\x09\x0b-\x1f]|\n\n\n| \n|\n |  ", text)
    assert text == text.strip()


@settings(deadline=None)
@given(st.lists(BALANCED, max_size=8).map(" ".join))
def test_balanced_markup_leaves_nothing(wikitext):
    assert not re.search(r"\{\{|\}\}|\[\[|\]\]|<|''|http|thumb", main_text(wikitext))


@settings(deadline=None)
@given(st.lists(st.sampled_from(INLINE), max_size=20).map(" ".join))
def test_agrees_with_a_full_parser(wikitext):
    oracle = re.sub(r"http\S+", "", mwparserfromhell.parse(wikitext).strip_code())
    assert re.findall(r"\w+", main_text(wikitext)) == re.findall(r"\w+", oracle)


@pytest.mark.shared
def test_real_articles_agree_with_a_full_parser():
    paths, checked = sorted(shared_file("mediawiki-fixtures/wikitext/wtf").glob("*.txt")), 0
    for path in paths:
        wikitext = path.read_text()
        text = main_text(wikitext)
        if len(wikitext) > 40_000 or len(text) < 500:
            continue
        parsed = mwparserfromhell.parse(wikitext)
        oracle = Counter(re.findall(r"\w+", parsed.strip_code()))
        for template in parsed.filter_templates():
            if re.fullmatch(SHOWN_TEMPLATES, str(template.name).strip(), re.IGNORECASE):
                shown = " ".join(str(argument.value) for argument in template.params)
                oracle.update(re.findall(r"\w+", shown))
        words = Counter(re.findall(r"\w+", without_headings(text)))
        assert (words - oracle).total() <= 0.03 * words.total(), path.name
        checked += 1
    assert checked > 20
