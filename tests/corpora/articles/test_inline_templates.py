import time

import pytest

from corpora.articles.inline_templates import show_templates
from corpora.articles.main_sections import CUT
from corpora.articles.wikitext import main_text


@pytest.mark.parametrize(
    ("wikitext", "text"),
    [
        ("{{lang|grc|Ἀπέλλων}} a", "Ἀπέλλων a"),
        ("{{Lang-ru|link=no|Концентрат}} a", "Концентрат a"),
        ("{{langx|la|quid}}, {{transl|ar|ALA|Allāh}}, {{transl|ru|da}}", "quid, Allāh, da"),
        ("{{nowrap|a [[b|c]] ''d''}}", "a c d"),
        ("{{nowrap|1=a = b}}", "a = b"),
        ("{{small|{{nowrap|{{lang|fr|a}} b}}}}", "a b"),
        ("a{{snd}}b{{'s}} {{' \"}}c", "a – b's '\"c"),
        ("{{convert|160|acre|ha}} of land", "160 acres of land"),
        ("{{convert|5|to|10|km|mi|abbr=on}}", "5 to 10 km"),
        ("{{convert|6|ft|2|in|cm}}; {{convert|29.2|C}}", "6 feet 2 inches; 29.2 °C"),
        ("a {{convert|490|oilbbl|0|disp=table}} b", "a b"),
        ("{{As of|2011|5|3}}, {{as of|2009|lc=y}}", "As of 3 May 2011, as of 2009"),
        ("{{as of|2016|alt=In 2016}}, {{as of|2011|5|since=y}}", "In 2016, Since May 2011"),
        ("{{as of|2011|99}}", "As of 99 2011"),
        ("before {{circa}} 600, {{circa|600|700}}", "before 600, c. 600 – c. 700"),
        ("{{frac|1|2}} {{frac|3|1|4}} {{frac|5}}", "1⁄2 3 1⁄4 1⁄5"),
        ("{{HMS|Exeter|68|6}}, {{ship|French ship|Orient}}", "HMS Exeter, French ship Orient"),
        ("{{Nihongo|'''Hip throw'''|腰投げ|koshinage}}", "Hip throw (腰投げ, koshinage)"),
        ("{{val|30000|u=C}} {{val|6.2|e=18}}", "30000 C"),
        ("{{formatnum: 1234 |R}} {{abbr|BC|before}} {{ill|a|de|b}}", "1234 BC a"),
        ("a\n{{quote|b [[c|d]]|e|f}}\ng", "a\n\nb d\n— e, f\n\ng"),
        ("{{cquote|text=a {{lang|la|b}}|author=c}}", "a b\n— c"),
        ("{{blockquote|}} {{unknown|a}} {{cite web|title=b}} {{convert|a|b}} c", "c"),
        ("a {{{1|{{lang|la|b}}}}} c", "a c"),
        ("a {{lang|la|b", "a b"),
    ],
)  # fmt: skip
def test_what_readers_see(wikitext, text):
    expected = text if wikitext != "a {{lang|la|b" else main_text(wikitext)
    assert main_text(wikitext) == expected


def test_unbalanced_braces_stay_and_depth_is_limited():
    assert show_templates("a }} b {{c|{{lang|la|d}} e") == "a }} b {{c|d e"
    assert show_templates("}}{{a}}{{{") == "}}" + CUT + "{{{"
    assert "a" in show_templates("{{small|" * 5 + "a" + "}}" * 5)
    assert "a" not in show_templates("{{small|" * 50 + "a" + "}}" * 50)


@pytest.mark.parametrize(
    "unit",
    ["{{small|a ", "{{lang|a|[[b|", "{{quote|a|b}} ", "{{convert|1|to|", "|", "{{a|b=c|", "="],
)
def test_time_is_linear(unit):
    text, start = unit * (100_000 // len(unit)), time.process_time()
    show_templates(text)
    show_templates(text + "}}" * 25_000)
    show_templates("{{small|" + text + "}}")
    assert time.process_time() - start < 2
