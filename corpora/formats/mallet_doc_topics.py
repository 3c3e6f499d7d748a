"""MALLET's topic proportions of documents, in the dense form and in the older one of pairs.

    0<tab>file:/a.txt<tab>0.25<tab>0.75                    dense: of topic 0, 1, …

    #doc source topic proportion ...
    0 file:/a.txt 1 0.75 0 0.25                            pairs, the largest first

Fields stand between tabs or, if a line has none, between spaces.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from corpora.formats.compression import write_bytes
from corpora.formats.lines import PLAUSIBLE, LineReader, shown
from corpora.formats.mallet_state_file import check_sources
from corpora.formats.number_table import Column, checked, real

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from corpora.files import PathLike

HEADER = "#doc source topic proportion ..."
TOLERANCE = 1e-3  # Largest difference between 1 and the sum of the proportions
_TOPIC = Column("topic", 0, PLAUSIBLE)


@dataclass(frozen=True, eq=False)
class DocTopics:
    """Topic proportions of documents. Raises ValueError if shapes disagree, a proportion is not
    from 0 to 1, or a row sums to more than 1.
    """

    sources: tuple[str, ...]  #: (n_docs,)
    doc_topic: NDArray[np.float64]
    """(n_docs, n_topics); rows sum to 1, or to less where small proportions were left out."""

    def __post_init__(self) -> None:
        if self.doc_topic.ndim != 2 or len(self.doc_topic) != len(self.sources):
            raise ValueError(
                f"doc_topic must be ({len(self.sources)}, n_topics), found {self.doc_topic.shape}"
            )
        if not np.all((self.doc_topic >= 0) & (self.doc_topic <= 1 + TOLERANCE)):
            raise ValueError("proportions must be from 0 to 1")
        if np.any(self.doc_topic.sum(axis=1) > 1 + TOLERANCE):
            raise ValueError("the proportions of a document must not sum to more than 1")


def read_doc_topics(path: PathLike) -> DocTopics:
    """Read the proportions in a file, plain or compressed, of either form: pairs if its header says
    so, or if the first line alternates between whole numbers and others. A topic without a pair has
    proportion 0. Raises OSError if the file cannot be read; CorpusFormatError, naming file and
    line, if a line has another form, a topic is named twice, dense lines differ in length or do not
    sum to 1, or documents are not numbered 0, 1, ….
    """
    reader = LineReader(path)
    sources: list[str] = []
    rows: list[tuple[list[int], list[float]]] = []
    pairs: bool | None = None
    n_topics = 0
    for number, line in reader.text_lines():
        if line.startswith("#"):
            pairs = True if "topic" in line else pairs
            continue
        fields = line.rstrip().split("\t") if "\t" in line else line.split()
        if len(fields) < 3:
            raise reader.error(f"expected DOC SOURCE PROPORTIONS, found {shown(line)}", number)
        checked(fields[0].encode(), Column("doc", len(rows), len(rows)), reader, number)
        sources.append(fields[1])
        values = fields[2:]
        if pairs is None:
            pairs = len(values) % 2 == 0 and all(value.isdigit() for value in values[::2])
        row = _of_pairs(values, reader, number) if pairs else _dense(values, reader, number)
        if not pairs and rows and len(row[0]) != n_topics:
            raise reader.error(f"expected {n_topics} proportions, found {len(row[0])}", number)
        n_topics = max(n_topics, 1 + max(row[0]))
        rows.append(row)
    doc_topic = np.zeros((len(rows), n_topics))
    for d, (topics, proportions) in enumerate(rows):
        doc_topic[d, topics] = proportions
    return DocTopics(tuple(sources), doc_topic)


def write_doc_topics(doc_topics: DocTopics, path: PathLike, *, pairs: bool = False) -> None:
    """Write the file `path`, compressed as it ends; the proportions read back to the bit. `pairs`
    selects the older form, with every topic, the largest first. Raises CorpusFormatError if a
    source contains a tab or a line break; OSError if the file cannot be written.
    """
    check_sources(doc_topics.sources, path, "\t\r\n")
    with write_bytes(path) as stream:
        if pairs:
            stream.write(f"{HEADER}\n".encode())
        for d, source in enumerate(doc_topics.sources):
            row = doc_topics.doc_topic[d]
            fields = list(map(repr, row.tolist()))
            if pairs:
                fields = [f"{k}\t{fields[k]}" for k in np.argsort(-row, kind="stable").tolist()]
            stream.write("\t".join((str(d), source, *fields)).encode() + b"\n")


def _of_pairs(values: list[str], reader: LineReader, number: int) -> tuple[list[int], list[float]]:
    if len(values) % 2:
        raise reader.error(
            "expected pairs of TOPIC PROPORTION, found one without the other", number
        )
    topics = [checked(value.encode(), _TOPIC, reader, number) for value in values[::2]]
    if len(set(topics)) != len(topics):
        raise reader.error("a topic is named twice", number)
    return topics, _proportions(values[1::2], reader, number)


def _dense(values: list[str], reader: LineReader, number: int) -> tuple[list[int], list[float]]:
    proportions = _proportions(values, reader, number)
    if sum(proportions) < 1 - TOLERANCE:
        raise reader.error(f"the proportions sum to {sum(proportions):.6g}, not to 1", number)
    return list(range(len(values))), proportions


def _proportions(values: list[str], reader: LineReader, number: int) -> list[float]:
    found = list(map(real, values))
    if not all(0 <= value <= 1 + TOLERANCE for value in found) or sum(found) > 1 + TOLERANCE:
        raise reader.error(
            f"expected proportions from 0 to 1 that sum to 1, found {shown(' '.join(values))}",
            number,
        )
    return found
