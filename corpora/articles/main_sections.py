"""Main sections and plain text, shared by the readers of wikitext and rendered HTML.

Both make blocks: headings with their levels and paragraphs with level 0. `CUT` marks what was cut.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator

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

APPARATUS_JOINT = re.compile(
    r"\s*(?:[,/&;、]|\b(?:and|und|et|y|e|en|of|or|och|og|ja|i|a|и|та)\b|与|與|及|和)\s*"
)
"""`Notes and references` is apparatus because `notes` and `references` are."""

CUT = "\x1f"
"""Marks a cut, so that its debris, `( , )`, can be told from text. `str.strip` takes it for space.
"""

# Patterns that begin with one set of characters are searched for several times as fast.
SPACES = re.compile(r"[^\S\n](?:[^\S\n]+|(?<! ))")
INVISIBLE = re.compile("[\x00-\x08\x0b-\x1f\x7f\xad\u200b\u200e\u200f\u202a-\u202e\u2060\ufeff]")
WORD = re.compile(r"[^\W_]")

CITATION_MARK = re.compile(
    r"\[(?:\d{1,3}|(?:note|nb|n) \d{1,3}|citation needed|edit)\]", re.IGNORECASE
)
STRAY_MARK = re.compile(
    r"[{}\[\]<](?:(?<=\{)\{+|(?<=\})\}+|(?<=\[)\[+|(?<=\])\]+|(?<=<)/?ref\b(?:[^<>\n]*>)?)",
    re.IGNORECASE,
)
EMPTY_BRACKETS = re.compile(rf"\([ ,;:/–—{CUT}-]*\)|\[{CUT}\]|\"{CUT}\"|“{CUT}”|«{CUT}»")
AFTER_OPENING = re.compile(rf"(?<=[(\[]){CUT}[ ,;:{CUT}]*")
BEFORE_CLOSING = re.compile(rf"[ ,;:]{{0,9}}{CUT}[ ,;:{CUT}]{{0,9}}(?=[)\]])")
BEFORE_PUNCTUATION = re.compile(rf"[,;]?{CUT}(?=[,.;:!?](?!\w)|[，。、；：！？）」])")


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


def is_apparatus(title: str, level: int = 2) -> bool:
    """Whether a section of this title is something else than main text."""
    plain = SPACES.sub(" ", title).strip(" :." + CUT).lower()
    parts = {plain} if plain in ANYWHERE | AT_THE_TOP else set(APPARATUS_JOINT.split(plain))
    if level > 2 and parts.isdisjoint(ANYWHERE):
        return False
    return parts <= ANYWHERE | AT_THE_TOP


def tidy(text: str) -> str:
    """`text` as it reads: no debris of cuts, no citation marks, plain spaces, lines with words."""
    text = SPACES.sub(cut_or_space, text)
    if CUT in text:
        text = EMPTY_BRACKETS.sub(lambda match: CUT if CUT in match[0] else match[0], text)
        text = SPACES.sub(cut_or_space, AFTER_OPENING.sub("", BEFORE_CLOSING.sub("", text)))
        text = BEFORE_PUNCTUATION.sub("", text)
    text = STRAY_MARK.sub(" ", INVISIBLE.sub("", CITATION_MARK.sub("", text.replace(CUT, " "))))
    lines = (line.strip() for line in SPACES.sub(" ", text).split("\n"))
    return "\n".join(line for line in lines if WORD.search(line))


def cut_or_space(blanks: re.Match[str]) -> str:
    """Return the replacement of a run of white space and cuts."""
    return CUT if CUT in blanks[0] else " "


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
