"""MALLET's topic-word weights, as `--topic-word-weights-file` writes them: counts plus beta.

0<tab>cat<tab>17.01          every word of topic 0, then every word of topic 1, …
0<tab>dog<tab>0.01
"""

from array import array
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from corpora.errors import CorpusFormatError
from corpora.files import PathLike
from corpora.formats.lines import LineReader, shown
from corpora.formats.number_table import real


@dataclass(frozen=True, eq=False)
class TopicWordWeights:
    """Weights (topics are rows, normalised) of words. Raises ValueError if shapes disagree."""

    weights: NDArray[np.float64]
    """(n_topics, n_words) not negative; every row has a positive weight."""
    vocabulary: tuple[str, ...]  # (n_words,) in the order of the file, that of the type indices

    def __post_init__(self) -> None:
        if self.weights.ndim != 2 or self.weights.shape[1] != len(self.vocabulary):
            raise ValueError(
                f"weights must be (n_topics, {len(self.vocabulary)}), found {self.weights.shape}"
            )


def read_topic_word_weights(path: PathLike) -> TopicWordWeights:
    """Read the weights in a file, plain or compressed. Raises OSError if it cannot be read;
    CorpusFormatError, naming file and line, if a line has another form, topics are not numbered 0,
    1, …, or the words of a topic differ from those of topic 0.
    """
    reader = LineReader(path)
    place_of: dict[str, int] = {}
    words: list[str] = []
    weights = array("d")
    for number, line in reader.text_lines():
        fields = line.split("\t")
        if len(fields) != 3:
            raise reader.error(f"expected TOPIC<tab>WORD<tab>WEIGHT, found {shown(line)}", number)
        topic, word, weight = fields
        if topic == "0" and len(words) == len(weights):
            if place_of.setdefault(word, len(words)) != len(words):
                raise reader.error(f"topic 0 has {shown(word)} twice", number)
            words.append(word)
        k, w = divmod(len(weights), len(words)) if words else (0, 0)
        if topic != str(k):
            raise reader.error(
                f"expected topic {k}, of {len(words)} words, found {shown(topic)}", number
            )
        if word != words[w]:
            raise reader.error(
                f"expected word {w} of topic 0, {shown(words[w])}, found {shown(word)}", number
            )
        weights.append(_weight(weight, reader, number))
    if not words:
        raise CorpusFormatError(f"{reader.path}: no weights: the file is empty")
    if len(weights) % len(words):
        raise reader.error(
            f"topic {len(weights) // len(words)} ends after {len(weights) % len(words)} of "
            f"{len(words)} words"
        )
    table = np.array(weights).reshape(-1, len(words))
    if not table.any(axis=1).all():
        k = int(np.argmin(table.any(axis=1)))
        raise reader.error(f"no word of topic {k} has a weight above 0", (k + 1) * len(words))
    return TopicWordWeights(table, tuple(words))


def _weight(field: str, reader: LineReader, number: int) -> float:
    value = real(field)
    if not 0 <= value < np.inf:
        raise reader.error(
            f"the weight must be a number, not negative, found {shown(field)}", number
        )
    return value
