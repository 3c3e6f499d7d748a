"""JSON lines: one JSON object a line for each document, with its words in order or counted.

    {"id": "en:12", "title": "Anarchism", "tokens": ["idea", "state", "idea"]}
    {"id": "en:39", "title": "Albedo", "counts": {"surface": 2, "light": 1}, "unknown": 4}

The format has no order of the vocabulary, and no words without a document.
"""

import json
from collections import Counter
from typing import Any

from corpora.corpus import Corpus
from corpora.corpus_writer import MAX_INT32
from corpora.errors import CorpusFormatError
from corpora.files import PathLike, is_unicode
from corpora.formats.bags import BagGatherer
from corpora.formats.compression import write_bytes
from corpora.formats.lines import LineReader, shown
from corpora.formats.vocabulary_file import check_writable, read_vocabulary

MAX_DIGITS = 640  # Digits of a whole number, such as an id; Python always reads so many


def read_json_lines(path: PathLike, vocabulary: PathLike | None = None) -> Corpus:
    """Read a file of JSON lines, plain or compressed.

    Each line has `tokens` or `counts`, and may have `id` (default: the line number), `title`
    (default: the id) and `unknown`, the number of further tokens; other keys and blank lines are
    skipped. The columns are the words of the file `vocabulary`, others count as unknown; by default
    all words that appear, in alphabetical order.

    Raises OSError if a file cannot be read; CorpusFormatError, naming file and line, if a line has
    another form, a count is not a whole number from 1 to 2³¹ − 1, or a number has over 640 digits.
    """
    bags = BagGatherer(None if vocabulary is None else read_vocabulary(vocabulary))
    reader = LineReader(path)
    for number, line in reader.text_lines():
        if not line.strip():
            continue
        try:
            fields = json.loads(line, object_pairs_hook=_object, parse_int=_whole_number)
            bags.add(*_document(fields, number))
        except RecursionError as error:
            raise reader.error("not valid JSON (nested too deeply)", number) from error
        except json.JSONDecodeError as error:
            raise reader.error(f"not valid JSON ({error})", number) from error
        except ValueError as error:
            raise reader.error(str(error), number) from error
    return bags.corpus()


def write_json_lines(corpus: Corpus, path: PathLike) -> None:
    """Write a line of counts for each document to `path`, compressed as it ends. Raises
    CorpusFormatError if a word, id or title holds half a surrogate pair; OSError if the file cannot
    be written.
    """
    counts = corpus.counts
    check_writable(corpus.vocabulary, path, lambda _: True)
    with write_bytes(path) as stream:
        for d, (doc_id, title) in enumerate(zip(corpus.doc_ids, corpus.titles, strict=True)):
            row = slice(counts.indptr[d], counts.indptr[d + 1])
            words = (corpus.vocabulary[w] for w in counts.indices[row].tolist())
            fields: dict[str, Any] = {"id": doc_id, "title": title}
            fields["counts"] = dict(zip(words, counts.data[row].tolist(), strict=True))
            if corpus.n_unknown[d]:
                fields["unknown"] = int(corpus.n_unknown[d])
            if not is_unicode(doc_id + "\n" + title):
                raise CorpusFormatError(
                    f"{path}: the id or title of document {shown(doc_id)} holds half a surrogate "
                    "pair, which no file can hold"
                )
            stream.write(json.dumps(fields, ensure_ascii=False).encode() + b"\n")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        twice = next(key for key, times in Counter(key for key, _ in pairs).items() if times > 1)
        raise ValueError(f"the key {shown(twice)} appears twice in an object")
    return found


def _whole_number(text: str) -> int:
    n_digits = len(text.removeprefix("-"))
    if n_digits > MAX_DIGITS:
        raise ValueError(
            f"a number has {n_digits} digits, more than {MAX_DIGITS}: write such an id as a string"
        )
    return int(text)


def _document(fields: Any, number: int) -> tuple[str, str, dict[str, int], int]:
    """Return id, title, counts and unknown tokens of the document on line `number`."""
    if not isinstance(fields, dict):
        raise ValueError(f"expected an object, found {shown(json.dumps(fields))}")  # noqa: TRY004
    if ("tokens" in fields) == ("counts" in fields):
        raise ValueError('expected one of "tokens" and "counts"')
    if "tokens" in fields:
        tokens = fields["tokens"]
        if not isinstance(tokens, list) or not all(isinstance(word, str) for word in tokens):
            raise ValueError('"tokens" must be a list of strings')
        bag: dict[str, int] = Counter(tokens)
    else:
        bag = fields["counts"]
        if not isinstance(bag, dict):
            raise ValueError('"counts" must be an object')
        for word, count in bag.items():
            _checked_count(f"the count of {shown(word)}", count, 1, MAX_INT32)
    unknown = fields.get("unknown", 0)
    _checked_count('"unknown"', unknown, 0, 2**53)
    given = fields.get("id")
    doc_id = str(given) if type(given) is int else _string(fields, "id", str(number))
    title = _string(fields, "title", doc_id)
    if not all(map(is_unicode, (doc_id, title, *bag))):
        raise ValueError("half a surrogate pair, which is no character")
    return doc_id, title, bag, unknown


def _checked_count(what: str, value: Any, lowest: int, highest: int) -> None:
    if type(value) is not int or not lowest <= value <= highest:  # True is an int, too
        raise ValueError(
            f"{what} must be a whole number from {lowest} to {highest}, found {shown(str(value))}"
        )


def _string(fields: dict[str, Any], key: str, default: str) -> str:
    value = fields.get(key)
    if value is None:
        return default
    if not isinstance(value, str):
        raise ValueError(f'"{key}" must be a string, found {shown(str(value))}')  # noqa: TRY004
    return value
