"""MALLET's topic keys: one line a topic, its Dirichlet parameter and its most probable words.

0<tab>0.5<tab>cat dog bird
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from corpora.formats.compression import write_bytes
from corpora.formats.lines import LineReader, shown
from corpora.formats.number_table import Column, checked, real
from corpora.formats.vocabulary_file import check_writable, fits_a_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from corpora.files import PathLike


@dataclass(frozen=True, eq=False)
class TopicKeys:
    """Top words of topics. Raises ValueError if shapes disagree or alpha is not in (0, ∞)."""

    alpha: NDArray[np.float64]  #: (n_topics,) Dirichlet parameters.
    words: tuple[tuple[str, ...], ...]
    """(n_topics,) words of each topic, the most probable first; any number."""

    def __post_init__(self) -> None:
        if self.alpha.shape != (len(self.words),):
            raise ValueError(
                f"alpha must have shape ({len(self.words)},), found {self.alpha.shape}"
            )
        if not np.all((self.alpha > 0) & np.isfinite(self.alpha)):
            raise ValueError("alpha must be positive and finite")


def read_topic_keys(path: PathLike) -> TopicKeys:
    """Read the topic keys in a file, plain or compressed. Raises OSError if it cannot be read;
    CorpusFormatError, naming the line, if one has another form, or topics are not numbered 0, 1, ….
    """
    reader = LineReader(path)
    alpha: list[float] = []
    words: list[tuple[str, ...]] = []
    for number, line in reader.text_lines():
        fields = line.split("\t")
        if len(fields) != 3:
            raise reader.error(f"expected TOPIC<tab>ALPHA<tab>WORDS, found {shown(line)}", number)
        checked(fields[0].encode(), Column("topic", len(alpha), len(alpha)), reader, number)
        alpha.append(real(fields[1]))
        if not 0 < alpha[-1] < np.inf:
            raise reader.error(f"alpha must be a positive number, found {shown(fields[1])}", number)
        words.append(tuple(fields[2].split()))
    return TopicKeys(np.array(alpha), tuple(words))


def write_topic_keys(keys: TopicKeys, path: PathLike) -> None:
    """Write the file `path`, compressed as it ends; alpha reads back to the bit. Raises
    CorpusFormatError if a word is empty or contains white space; OSError if the file cannot be
    written.
    """
    for words in keys.words:
        check_writable(words, path, fits_a_text)
    with write_bytes(path) as stream:
        for k, (alpha, words) in enumerate(zip(keys.alpha.tolist(), keys.words, strict=True)):
            stream.write(f"{k}\t{alpha!r}\t{' '.join(words)}\n".encode())
