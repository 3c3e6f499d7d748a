"""Main sections and plain text, shared by the readers of wikitext and rendered HTML.

Both make blocks: headings with their levels and paragraphs with level 0. `CUT` marks what was cut.
"""

import html
import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache

APPARATUS_AT_ANY_LEVEL = """
references, reference list, notes, footnotes, endnotes, citations, works cited, cited works
cited sources, cited references, literature cited, references cited, general references
general and cited references, general and cited sources, explanatory notes, explanatory footnotes
external links, external link, external sources, web links, see also, further reading
additional reading, suggested reading, recommended reading, notes and references

einzelnachweise, einzelnachweis, weblinks, weblink, siehe auch, anmerkungen, fußnoten

références, voir aussi, liens externes, lien externe, articles connexes, article connexe
notes et références

referencias, véase también, enlaces externos, enlace externo, bibliografía adicional
lecturas adicionales

voci correlate, altri progetti, collegamenti esterni

referências, ver também, ligações externas, ligação externa, leitura adicional
leitura complementar

referenties, zie ook, externe links, externe link, externe koppelingen, voetnoten

referenser, fotnoter, se även, externa länkar, vidare läsning
referanser, se også, eksterne lenker, eksterne henvisninger, fodnoter
eksterne skakels, verwysings, sien ook
lähteet, viitteet, aiheesta muualla, katso myös
przypisy, linki zewnętrzne, zobacz też
externí odkazy, související články
примечания, ссылки, см. также, сноски, примітки, посилання, див. також
脚注, 関連項目, 外部リンク, 参考文献
參考文獻, 参考资料, 參考資料, 参考資料, 外部链接, 外部連結, 外部鏈接, 参见, 參見, 参看, 參看, 另见
另見, 腳註, 注释, 注釋, 註釋, 延伸阅读, 延伸閱讀, 相关条目, 相關條目, 参考来源, 參考來源
각주, 외부 링크, 같이 보기, 참고 문헌
مراجع, المراجع, وصلات خارجية, روابط خارجية, انظر أيضا, انظر أيضًا, انظر أيضاً, هوامش
הערות שוליים, קישורים חיצוניים, ראו גם, לקריאה נוספת
kaynakça, dış bağlantılar, ayrıca bakınız
"""
APPARATUS_AT_THE_TOP = """
reference, note, sources, bibliography, general bibliography, general sources, related links

literatur, anmerkung, quellen, belege, nachweise
bibliographie, annexes
bibliografía, notas, fuentes
bibliografia, riferimenti, fonti, note
fontes
bronnen, bron, noten, literatuur

källor, noter, litteratur, kilder, kjelder, referencer
kirjallisuutta
bibliografia, uwagi
reference, literatura, poznámky, zdroje, odkazy
литература, источники, комментарии, література, джерела
出典, 注釈
脚注, 文献, 文獻, 備注, 備註, 备注
출처, 주석
مصادر, المصادر, ملاحظات
מקורות, ביאורים
notlar, dipnotlar
"""
ANYWHERE = frozenset(re.split(r"\s*[,\n]\s*", APPARATUS_AT_ANY_LEVEL.strip()))
"""Titles, in lower case, of the sections that are not main text, whatever they stand below."""
AT_THE_TOP = frozenset(re.split(r"\s*[,\n]\s*", APPARATUS_AT_THE_TOP.strip()))
"""Titles that are not main text on the top level, but deeper may be, as the sources of a law."""

APPARATUS = ANYWHERE | AT_THE_TOP

APPARATUS_JOINT = re.compile(
    r"\s*(?:[,/&;、]|\b(?:and|und|et|y|e|en|of|or|och|og|ja|i|a|и|та)\b|与|與|及|和)\s*"
)
"""`Notes and references` is apparatus because `notes` and `references` are."""

CUT = "\x1f"
"""Marks a cut, so that its debris, `( , )`, can be told from text. `str.strip` takes it for space.
"""

BLANKS = (
    "\t\x0b\x0c\r\x1c\x1d\x1e\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007"
    "\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
"""White space, but for space, line feed and `CUT`."""
INVISIBLE = (
    "".join(map(chr, (*range(9), *range(0x0B, 0x20), 0x7F, 0xAD, 0x200B, 0x200E, 0x200F)))
    + "\u202a\u202b\u202c\u202d\u202e\u2060\ufeff"
)
"""Characters that show nothing, without tab and line feed."""

# A pattern that begins with a character of its own is searched for ten times as fast as others, and
# a character by itself a hundred times: so these begin with `CUT` or a bracket.
SPACES = re.compile("  +")
WORD = re.compile(r"[^\W_]")

CITATION_MARK = re.compile(
    r"\[(?:\d{1,3}|(?:note|nb|n) \d{1,3}|citation needed|edit)\]", re.IGNORECASE
)
STRAY_MARK = re.compile(
    r"[{}\[\]<](?:(?<=\{)\{+|(?<=\})\}+|(?<=\[)\[+|(?<=\])\]+|(?<=<)/?ref\b(?:[^<>\n]*>)?)",
    re.IGNORECASE,
)
EMPTY_PARENTHESES = rf"\([ ,;:/–—{CUT}-]*\)"
EMPTY_BRACKETS = (
    re.compile(EMPTY_PARENTHESES),
    re.compile(rf"{EMPTY_PARENTHESES}|\[{CUT}\]|\"{CUT}\"|“{CUT}”|«{CUT}»"),
)
QUOTED_CUT = re.compile(rf"{CUT}[\]\"”»]")
AFTER_OPENING = re.compile(rf"{CUT}(?<=[(\[]{CUT})[ ,;:{CUT}]*")
BEFORE_CLOSING = re.compile(rf"{CUT}[ ,;:{CUT}]{{0,9}}(?=[)\]])")
BEFORE_PUNCTUATION = re.compile(rf"{CUT}(?=[,.;:!?](?!\w)|[，。、；：！？）」])")

LONG_NUMBER = re.compile(r"&#[0-9]{640,}+;?")
"""Reference to a character by more digits than Python may be set to convert."""

BETWEEN_BLOCKS = "\n\uffff\n"


def without_apparatus(blocks: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Headings as (level, title) and paragraphs as (0, lines), less the sections of apparatus with
    the deeper ones below them.
    """
    dropped = 7  # level of the section being dropped
    for level, text in blocks:
        if 0 < level <= dropped:
            dropped = level if is_apparatus(text, level) else 7
        if dropped == 7:
            yield level, text


@lru_cache(1 << 12)
def is_apparatus(title: str, level: int = 2) -> bool:
    """Whether a section of this title is something else than main text."""
    plain = with_plain_spaces(title.replace(CUT, " ")).strip(" :." + CUT).lower()
    parts = {plain} if plain in APPARATUS else set(APPARATUS_JOINT.split(plain))
    if level > 2 and parts.isdisjoint(ANYWHERE):
        return False
    return parts <= APPARATUS


def tidy_blocks(blocks: Iterable[tuple[int, str]]) -> list[tuple[int, str]]:
    """Headings and paragraphs with their texts tidy, all at once: it is faster."""
    levels, texts = [], []
    for level, text in blocks:
        levels.append(level)
        texts.append(text)
    parts = without_debris(BETWEEN_BLOCKS.join(texts)).split(BETWEEN_BLOCKS)
    if len(parts) != len(texts):  # a text has this separator
        parts = [without_debris(text) for text in texts]
    return [(level, lines_of_words(text)) for level, text in zip(levels, parts, strict=True)]


def tidy(text: str) -> str:
    """`text` as it reads: no debris of cuts, no citation marks, plain spaces, lines with words."""
    return lines_of_words(without_debris(text))


def without_debris(text: str) -> str:
    """`text` without what cuts leave behind and without citation marks, with plain spaces."""
    text = cuts_alone(with_plain_spaces(text))
    if CUT in text:
        empty = EMPTY_BRACKETS[QUOTED_CUT.search(text) is not None]
        emptied = empty.sub(lambda match: CUT if CUT in match[0] else match[0], text)
        kept = "".join(without_end(BEFORE_CLOSING.split(emptied), " ,;:", 9))
        kept = AFTER_OPENING.sub("", kept)
        text = kept if emptied == text else cuts_alone(kept)
        text = "".join(without_end(BEFORE_PUNCTUATION.split(text), ",;", 1)).replace(CUT, " ")
    kept = without_invisible(CITATION_MARK.sub("", text))
    if "<" in kept or any(mark in kept and mark * 2 in kept for mark in "[]{}"):
        kept = STRAY_MARK.sub(" ", kept)
    return text if kept == text else with_plain_spaces(kept)


def unescaped(text: str) -> str:
    """`text` with its entities decoded; numbers of no character, however long, give U+FFFD."""
    try:
        return html.unescape(text)
    except ValueError:
        return html.unescape(LONG_NUMBER.sub("\ufffd", text))


def with_plain_spaces(text: str) -> str:
    """`text` with white space within a line, but for `CUT`, as single spaces."""
    for blank in [blank for blank in BLANKS if blank in text]:
        text = text.replace(blank, " ")
    return SPACES.sub(" ", text) if "  " in text else text


def cuts_alone(text: str) -> str:
    """`text` with one `CUT` for a run of them and the spaces around them."""
    if CUT not in text:
        return text
    first, *between, last = text.split(CUT)
    between = [stripped for piece in between if (stripped := piece.strip(" "))]
    return CUT.join([first.rstrip(" "), *between, last.lstrip(" ")])


def without_invisible(text: str) -> str:
    """`text` without the characters that show nothing."""
    for character in [character for character in INVISIBLE if character in text]:
        text = text.replace(character, "")
    return text


def without_end(pieces: list[str], characters: str, most: int) -> Iterator[str]:
    """The pieces, all but the last without these characters, at most so many, at their ends."""
    for piece in pieces[:-1]:
        kept = piece.rstrip(characters)
        yield kept if len(piece) - len(kept) <= most else piece[:-most]
    yield pieces[-1]


def lines_of_words(text: str) -> str:
    """The lines that have words, without the spaces around them."""
    lines = (line.strip() for line in text.split("\n"))
    return "\n".join(line for line in lines if line[:1].isalnum() or WORD.search(line))


def joined(blocks: Iterable[tuple[int, str]]) -> str:
    """The main text of tidy blocks, in the form of `Article.text`."""
    return unicodedata.normalize("NFC", "\n\n".join(with_text_below(list(blocks))))


def with_text_below(blocks: list[tuple[int, str]]) -> list[str]:
    """Paragraphs and heading lines, less the headings with nothing below them."""
    kept: list[str] = []
    below = 0  # level of what follows: a heading stays if that is text or a deeper heading
    for level, text in reversed(blocks):
        if not text:
            continue
        if level == 0:
            kept.append(text)
            below = 7
        elif level < below:
            kept.append(f"{'=' * level} {text} {'=' * level}")
            below = level
    return kept[::-1]
