"""Files of MALLET's state, as `--output-state` writes them (gzip).

#doc source pos typeindex type topic
#alpha : 0.5 0.5
#beta : 0.01
0 file:/a.txt 0 17 cat 1          all numbered from 0
"""

from array import array
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from corpora.corpus_writer import MAX_INT32
from corpora.errors import CorpusFormatError
from corpora.files import PathLike, is_unicode
from corpora.formats.compression import write_bytes
from corpora.formats.lines import LineReader, shown
from corpora.formats.mallet_state import MalletState
from corpora.formats.number_table import Column, checked, real
from corpora.formats.vocabulary_file import check_writable, fits_a_text

COLUMNS = "#doc source pos typeindex type topic"
NO_SOURCE = "NA"  # Source of a document without one, as MALLET writes it
TOKENS_AT_ONCE = 1 << 15


def read_mallet_state(path: PathLike) -> MalletState:
    """Read the state in a file, plain or compressed. The lines of alpha and beta may be missing;
    without alpha the number of topics is the largest topic plus 1. Blank lines are skipped. Raises
    OSError if the file cannot be read; CorpusFormatError, naming file and line, if a line has
    another form, documents are out of order, or type indices and words do not match one to one.
    """
    tokens = _Tokens(LineReader(path))
    for number, line in tokens.reader.lines():
        if line.startswith(b"#"):
            tokens.add_header(line, number)
        elif line.strip():
            tokens.add(line, number)
    return tokens.state()


def write_mallet_state(state: MalletState, path: PathLike) -> None:
    """Write the file `path`, compressed as it ends, .gz for MALLET, without sources of empty
    documents and without such documents at the end. Raises CorpusFormatError if a word is empty or
    contains white space, or a source contains a line break; OSError if the file cannot be written.
    """
    check_writable(state.vocabulary, path, fits_a_text)
    check_sources(state.sources, path, "\r\n")
    with write_bytes(path) as stream:
        stream.write(f"{COLUMNS}\n".encode())
        if state.alpha is not None:
            stream.write(f"#alpha : {' '.join(map(repr, state.alpha.tolist()))}\n".encode())
        if state.beta is not None:
            stream.write(f"#beta : {state.beta!r}\n".encode())
        for start in range(0, len(state.doc_of), TOKENS_AT_ONCE):
            stream.write("".join(_lines(state, slice(start, start + TOKENS_AT_ONCE))).encode())


def check_sources(sources: tuple[str, ...], path: PathLike, separators: str) -> None:
    """Raise CorpusFormatError, naming it, if a source contains a separator of fields or lines, or
    half a surrogate pair.
    """
    for source in sources:
        if any(separator in source for separator in separators) or not is_unicode(source):
            raise CorpusFormatError(
                f"{path}: the source {shown(source)} cannot be written: it contains a separator of "
                "fields or lines, or half a surrogate pair"
            )


class _Tokens:
    """The tokens of a file, gathered line by line."""

    def __init__(self, reader: LineReader) -> None:
        self.reader = reader
        self._alpha: NDArray[np.float64] | None = None
        self._beta: float | None = None
        names = ("doc", "pos", "typeindex", "topic")
        self._columns = [Column(name, 0, MAX_INT32 - 1) for name in names]
        self._arrays = [array("i") for _ in names]
        self._type_of: dict[str, int] = {}
        self._word_of: dict[int, str] = {}
        self._source_of: dict[int, str] = {}
        self._last_doc = -1

    def add_header(self, line: bytes, number: int) -> None:
        """Read a line that begins with #."""
        name, _, values = line[1:].partition(b":")
        if name.strip() == b"alpha":
            self._alpha = _positive(values, self.reader, number)
            self._columns[-1] = Column("topic", 0, len(self._alpha) - 1)
        elif name.strip() == b"beta":
            self._beta = float(_positive(values, self.reader, number)[0])
        elif line.split() != COLUMNS.encode().split():
            raise self.reader.error(f"expected {COLUMNS!r}, found {shown(line)}", number)

    def add(self, line: bytes, number: int) -> None:
        """Read a line of one token."""
        # A source may hold spaces, the other fields do not.
        first, _, rest = line.partition(b" ")
        fields = rest.rsplit(b" ", 4)
        if len(fields) != 5:
            names = "DOC SOURCE POS TYPEINDEX TYPE TOPIC"
            raise self.reader.error(f"expected {names}, found {shown(line)}", number)
        numbers = [
            checked(field, column, self.reader, number)
            for field, column in zip((first, *fields[1:3], fields[4]), self._columns, strict=True)
        ]
        doc, _, kind, _ = numbers
        source, word = (self.reader.decoded(field, number) for field in (fields[0], fields[3]))
        if doc < self._last_doc:
            raise self.reader.error(f"document {doc} comes after {self._last_doc}", number)
        if self._source_of.setdefault(doc, source) != source:
            raise self.reader.error(
                f"the source of document {doc} is {shown(self._source_of[doc])} in an earlier "
                f"line, found {shown(source)}",
                number,
            )
        is_known = self._word_of.setdefault(kind, word) == word
        if not is_known or self._type_of.setdefault(word, kind) != kind:
            raise self.reader.error(
                f"type {kind} is {shown(word)} here, but an earlier line says otherwise", number
            )
        self._last_doc = doc
        for array_of, value in zip(self._arrays, numbers, strict=True):
            array_of.append(value)

    def state(self) -> MalletState:
        """Return the state of all lines."""
        self.reader.check_plausible("documents", self._last_doc + 1, self.reader.number)
        docs, positions, types, topics = (np.array(each, dtype=np.int32) for each in self._arrays)
        kinds = np.array(sorted(self._word_of), dtype=np.int32)
        return MalletState(
            docs,
            positions,
            np.searchsorted(kinds, types).astype(np.int32),
            topics,
            tuple(self._word_of[kind] for kind in kinds.tolist()),
            kinds,
            tuple(self._source_of.get(d, NO_SOURCE) for d in range(self._last_doc + 1)),
            int(topics.max(initial=-1)) + 1 if self._alpha is None else len(self._alpha),
            self._alpha,
            self._beta,
        )


def _lines(state: MalletState, part: slice) -> Iterator[str]:
    columns = (state.doc_of, state.position_of, state.word_of, state.topic_of)
    for doc, position, word, topic in zip(*(c[part].tolist() for c in columns), strict=True):
        kind = state.type_indices[word]
        yield f"{doc} {state.sources[doc]} {position} {kind} {state.vocabulary[word]} {topic}\n"


def _positive(values: bytes, reader: LineReader, number: int) -> NDArray[np.float64]:
    """Read the numbers of a prior, positive and finite."""
    found = np.array([real(value) for value in values.split()])
    if not len(found) or not np.all((found > 0) & np.isfinite(found)):
        raise reader.error(f"expected positive numbers, found {shown(values.strip())}", number)
    return found
