import pytest

from corpora.articles.main_sections import (
    ANYWHERE,
    AT_THE_TOP,
    BETWEEN_BLOCKS,
    BLANKS,
    CUT,
    is_apparatus,
    tidy,
    tidy_blocks,
    without_apparatus,
)


def test_a_section_goes_with_what_is_below_it():
    blocks = [
        (0, "lead"), (2, "A"), (3, "References"), (0, "r"), (4, "Deep"), (0, "d"), (3, "B"),
        (0, "b"), (2, "See also"), (0, "s"), (3, "Body"), (0, "x"), (2, "C"), (0, "c"),
    ]  # fmt: skip
    kept = [(0, "lead"), (2, "A"), (3, "B"), (0, "b"), (2, "C"), (0, "c")]
    assert list(without_apparatus(blocks)) == kept


@pytest.mark.parametrize(
    ("title", "at_the_top", "deeper"),
    [
        *(("References", True, True), (" Notes & references: ", True, True)),
        *(("Notes and sources", True, True), ("Sources", True, False)),
        *(("Sources and bibliography", True, False), ("Literatur", True, False)),
        *(("外部链接", True, True), ("参考文献和注释", True, True), ("انظر أيضاً", True, True)),
        *(("History", False, False), ("Notes on style", False, False), ("and", False, False)),
        ("", False, False),
    ],
)
def test_titles(title, at_the_top, deeper):
    assert is_apparatus(title) == is_apparatus(title, 2) == at_the_top
    assert is_apparatus(title, 3) == deeper


def test_titles_are_in_the_form_they_are_compared_in():
    for title in ANYWHERE | AT_THE_TOP:
        assert is_apparatus(title.upper().replace("İ", "i")) or not title.isascii()
        assert is_apparatus(title), title


@pytest.mark.parametrize(
    ("text", "tidied"),
    [
        *((f"a ({CUT}, b; {CUT}) c", "a (b) c"), (f"a{CUT}, b {CUT} c{CUT}.", "a, b c.")),
        *((f"貓{CUT}，狗{CUT}。", "貓，狗。"), ("a [1][23] b[note 2] c [edit]", "a b c")),
        *(("&lt;a&gt; ''b''", "&lt;a&gt; ''b''"), ("a\n—\n  b\u00a0 c ", "a\nb c")),
    ],
)
def test_tidy(text, tidied):
    assert tidy(text) == tidied


def test_blanks_are_all_there():
    spaces = {character for character in map(chr, range(0x110000)) if character.isspace()}
    assert spaces == {*BLANKS, " ", "\n", CUT}


def test_blocks_are_tidied_each_by_itself():
    texts = [f"a {CUT}", f", b ({CUT}", ") [1", "] c", "", "[", "[", f"d{CUT}{CUT} e"]
    blocks = list(enumerate(texts))
    assert tidy_blocks(blocks) == [(level, tidy(text)) for level, text in blocks]
    blocks.append((0, f"f{BETWEEN_BLOCKS}g"))
    assert tidy_blocks(blocks) == [(level, tidy(text)) for level, text in blocks]
    assert tidy_blocks([]) == []
