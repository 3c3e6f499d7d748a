from xml.etree import ElementTree as ET

from models.html_table import html_table


def cells(html):
    table = ET.fromstring(html[html.index("<table>") :])
    return [[cell.text or "" for cell in row] for row in table.iter("tr")]


def test_rows_stand_below_their_header_and_everything_is_escaped():
    hostile = '<script>alert("1")</script>&\'"'
    html = html_table((hostile, "b"), [(hostile, 1), ("\ud800", None)], hostile)
    assert "<script>" not in html
    assert cells(html) == [[hostile, "b"], [hostile, "1"], ["?", "None"]]
    assert html.startswith("<p>&lt;script&gt;alert(&quot;1&quot;)")


def test_no_colour_is_set_so_that_it_is_read_in_dark_and_in_light():
    html = html_table(("word",), [("river",), (3,)], "about")
    assert "color" not in html
    assert "background" not in html
    assert '<td style="text-align: left">river</td>' in html
    assert "<td>3</td>" in html


def test_without_a_caption_there_is_a_table_alone():
    assert html_table(("a",), []).startswith("<table>")
