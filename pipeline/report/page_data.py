"""Data of the page's script: small JSON that is safe inside HTML."""

import json
import re
import string
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from markupsafe import Markup

from corpora.articles.attribution import UNKNOWN
from pipeline.report.sections import (
    CloudWord,
    ComparisonSection,
    ProvenanceSection,
    Report,
    RunReport,
    ShownDocument,
    TopicRow,
    TopicsSection,
)

DIGITS = 7  # Significant digits of p(word | topic) and p(word): relevance is exact to 10⁻⁶
PER_MILLE = 1000  # Shares that are only displayed are whole multiples of 1 / 1000
_DIGITS = string.digits + string.ascii_lowercase
_UNSAFE = re.compile("[<>&\u2028\u2029]")
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)
_NOT_IN_URLS = re.compile(
    r"[\s\x00-\x1f\x7f-\x9f\ud800-\udfff\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]"
)
"""Spaces, controls, surrogates and direction marks."""


def clean(text: str) -> str:
    r"""Make the control characters of a text visible, except tabs and line ends.

    C0 controls become their symbols (NUL is ␀), separators of lines and paragraphs ␤, and
    characters that no text may contain the replacement character. Direction marks stay: the page
    isolates every foreign text.

    >>> clean("a\0b")
    'a␀b'
    """
    return _INVISIBLE.sub(_symbol, text)


def _symbol(found: re.Match[str]) -> str:
    code = ord(found.group())
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    return "\u2424" if code in {0x85, 0x2028, 0x2029} else "\ufffd"


def safe_url(url: str) -> str:
    """Return an address of the web that is safe in a link; else an empty text."""
    if _NOT_IN_URLS.search(url):
        return ""
    try:
        parts = urlsplit(url)
    except ValueError:  # square brackets around no IP address
        return ""
    return url if parts.scheme in {"http", "https"} and parts.netloc else ""


def embedded_json(data: object) -> Markup:
    r"""Return JSON that no HTML parser can end early or read as markup.

    `<`, `>`, `&` and the two line separators become JSON escapes.

    >>> embedded_json({"title": "</script>"})
    Markup('{"title":"\\u003c/script\\u003e"}')
    """
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Markup(_UNSAFE.sub(lambda found: f"\\u{ord(found.group()):04x}", text))  # noqa: S704


def page_data(report: Report) -> dict[str, Any]:
    """Return the data of the script: topics, words to search, documents."""
    comparison = report.comparison
    return {
        "runs": [
            {
                "name": clean(run.name),
                "licence": licence_of(run.provenance),
                **_topics(run.topics),
                "documents": [_document(each) for each in run.documents.documents]
                if run.documents
                else [],
            }
            for run in report.runs
        ],
        "alignments": [] if comparison is None else _alignments(comparison, report.runs),
    }


def licence_of(section: ProvenanceSection) -> str:
    """Return the licence of all articles; empty if they have several, or one is unknown."""
    licences = {licence for _, _, licence in section.sources}
    return clean(licences.pop()) if len(licences) == 1 and UNKNOWN not in licences else ""


def _topics(section: TopicsSection) -> dict[str, Any]:
    """Return topics and clouds with indices into a table of words: first those with a share."""
    words = [clean(each) for each in section.words]
    at = {word: i for i, word in enumerate(words)}
    clouds = section.clouds or ((),) * len(section.topics)
    for word in dict.fromkeys(clean(each.word) for cloud in clouds for each in cloud):
        if word not in at:
            at[word] = len(words)
            words.append(word)
    return {
        "words": words,
        "share": [rounded(p, DIGITS) for p in section.word_share],
        "topics": [
            _topic(topic, cloud, at) for topic, cloud in zip(section.topics, clouds, strict=True)
        ],
        "searched": front_coded([clean(each) for each in section.searched]),
        "found": [_shares(found) for found in section.topics_of_word],
        "nWords": int(section.n_words),
        "notSearched": int(section.n_not_searched),
    }


def _topic(topic: TopicRow, cloud: Iterable[CloudWord], at: dict[str, int]) -> dict[str, Any]:
    return {
        "number": int(topic.number),
        "prevalence": rounded(topic.prevalence, 4),
        "label": clean(topic.label),
        "words": [int(w) for w in topic.words],
        "probabilities": [rounded(p, DIGITS) for p in topic.probabilities],
        "typical": [
            [clean(each.title), safe_url(each.url), rounded(each.share, 3)]
            for each in topic.typical
        ],
        "cloud": [
            [
                at[clean(each.word)],
                *(rounded(value, 4) for value in (each.x, each.y, each.size, each.width)),
                int(each.is_upright),
            ]
            for each in cloud
        ],
    }


def _document(document: ShownDocument) -> dict[str, Any]:
    return {
        "title": clean(document.title),
        "url": safe_url(document.url),
        "tokens": int(document.tokens),
        "unknown": int(document.unknown),
        "topics": _shares(document.topics),
        "pieces": [clean(each) for each in document.pieces],
        "wordTopics": [int(k) for k in document.word_topics],
        "certainty": "".join(str(min(9, int(10 * float(p)))) for p in document.certainty),
        "isCut": document.is_cut,
        "isText": document.is_text,
    }


def _alignments(section: ComparisonSection, runs: tuple[RunReport, ...]) -> list[list[int | None]]:
    """Return the indices of the two runs of each alignment; None for an unknown name."""
    names = [run.name for run in runs]
    return [
        [names.index(name) if name in names else None for name in (each.first, each.second)]
        for each in section.alignments
    ]


def front_coded(words: Iterable[str]) -> list[str]:
    """Front-code words: length of the prefix shared with the word before, then the rest.

    The length is a digit to base 36. Words in alphabetical order take half the space.

    >>> front_coded(["topic", "topical", "tower"])
    ['0topic', '5al', '2wer']
    """
    found, before = [], ""
    for word in words:
        same = 0
        # JavaScript counts a character beyond U+FFFF as two.
        for ours, theirs in zip(word[: len(_DIGITS) - 1], before, strict=False):
            if ours != theirs or ours > "\uffff":
                break
            same += 1
        found.append(_DIGITS[same] + word[same:])
        before = word
    return found


def _shares(shares: Iterable[tuple[int, float]]) -> list[int]:
    """Return each topic and share as one number: 1000 × topic + share in per mille, at most 999."""
    return [PER_MILLE * int(k) + min(999, round(PER_MILLE * float(p))) for k, p in shares]


def rounded(value: float, digits: int) -> float | int:
    """Round to a number of significant digits; whole numbers become int.

    >>> rounded(0.0001234567, 4), rounded(120.0, 4)
    (0.0001235, 120)
    """
    near = float(f"{float(value):.{digits}g}")
    return int(near) if near.is_integer() else near
