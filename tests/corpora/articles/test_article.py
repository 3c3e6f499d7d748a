import pytest

from corpora.articles.article import Article, heading_of, without_headings


def article(text):
    return Article(12, 0, "Title", "", "", "en", "", text)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        *(("== History ==", (2, "History")), ("==History==", (2, "History"))),
        *(("  === Early life === ", (3, "Early life")), ("======= Deep =======", (6, "= Deep ="))),
        *(("== a = b ==", (2, "a = b")), ("= Title =", (0, "")), ("== unclosed", (0, ""))),
        *(("====", (0, "")), ("== ==", (0, "")), ("plain", (0, "")), ("", (0, ""))),
    ],
)
def test_headings(line, expected):
    assert heading_of(line) == expected


def test_sections_are_top_level_and_keep_all_text():
    text = "Lead.\n\n== A ==\n\nOne.\n\n=== A1 ===\n\nTwo.\n\n== Empty ==\n\n== B ==\nThree."
    assert article(text).sections() == [
        *(("", "Lead."), ("A", "One.\n\n=== A1 ===\n\nTwo."), ("B", "Three."))
    ]
    assert without_headings(text).split() == ["Lead.", "One.", "Two.", "Three."]


def test_what_is_no_heading_stays_and_takes_no_time():
    assert without_headings("==\nfoo\n==\nbar") == "==\nfoo\n==\nbar"
    line = "==" + " " * 1_000_000 + "x"
    assert without_headings(line) == line
    assert article(line).sections() == [("", line)]
