"""Tables of topics as people write them: lists of words, or weights of words.

Recognised by their columns:

    0.5*"river" + 0.3*"lake"     gensim's `print_topics`: see `models.described.printed_topics`
    topic, term, beta            a row for each topic and word: tidytext, topica, `topics --csv`
    Topic, Representation        a row a topic, its words in one field: BERTopic's `get_topic_info`
    topic, word_1, word_2, …     a row a topic, a word a field; with or without a header
    Topic 1, Topic 2, …          a column a topic: R's `terms(model, 10)`
    river, lake, …               weights, a column a word, a row a topic: text2vec, stm
    word, topic_0, topic_1, …    weights, a row a word
"""

import ast
import json
import re
from collections.abc import Sequence
from itertools import islice

import numpy as np

from corpora.files import PathLike
from corpora.formats.lines import shown
from corpora.formats.number_table import is_number
from models.arrays import Bools, Floats
from models.described.printed_topics import Weighted, printed_topics, terms_of
from models.described.tables import (
    TOPIC_COLUMN,
    TOPIC_NAME,
    Row,
    Table,
    are_numbered,
    place_of,
    read_matrix,
    share_of_numbers,
)
from models.described.topics import DescribedTopics

TOPIC = ("topic", "topic_id", "topics", "component", "cluster")
WORD = ("term", "word", "token", "feature", "words")
WEIGHT = ("beta", "probability", "prob", "phi", "weight", "p", "value", "score", "c_tf_idf")
LIST = (
    *("representation", "top_words", "topic_words", "keywords", "words", "terms", "top_n_words"),
    "name",
)
OUTLIERS = "-1"  # BERTopic's number of the documents that are in no topic
MIN_WHOLE = 0.99  # Least sum of probabilities of a topic whose words all have a row
MAX_LOG_ERROR = 0.01  # Largest difference between 1 and the sum of a topic given by logarithms


def read_topic_table(path: PathLike, vocabulary: Sequence[str] | None = None) -> DescribedTopics:
    """Read the topics in a table; see `models.described.word_lists` for its forms.

    `vocabulary` names the columns of weights that have no names of their own. Topic -1, BERTopic's
    outliers, is left out. Raises OSError if the file cannot be read; CorpusFormatError, with file
    and line, if it is of no such form.
    """
    table = Table.at(path)
    printed = printed_topics(path)
    if printed:
        return _printed(table, printed)
    peeked = table.peek()
    header, body = peeked[0].fields, peeked[1:]
    topic, word, weight = (place_of(header, names) for names in (TOPIC, WORD, WEIGHT))
    try:
        if topic is not None and weight is not None and _holds_words(body, word):
            return _long(table, topic, word or 0, weight)
        cell = place_of(header, LIST)
        if (topic is not None or len(header) == 1) and _holds_words(body, cell):
            return DescribedTopics.from_words(_cells(table, topic, cell or 0))
        if share_of_numbers(peeked[1:] or peeked) > 0.5 and not _is_keys(peeked):
            return _weights(table, vocabulary)
        return DescribedTopics.from_words(_fields(table, peeked))
    except ValueError as error:
        if str(error).startswith(str(path)):
            raise
        raise table.error(1, f"these are no topics: {error}") from error


def _holds_words(body: Sequence[Row], column: int | None) -> bool:
    """Whether a column holds words: a column of weights may be named by the word "term"."""
    return column is not None and any(
        len(row.fields) > column and not is_number(row.fields[column]) for row in body
    )


def _printed(table: Table, printed: Sequence[Weighted]) -> DescribedTopics:
    """Return topics as gensim printed them: weights, if they are those of all words."""
    for k, terms in enumerate(printed):
        if len({word for word, _ in terms}) < len(terms):
            raise table.error(1, f"topic {k} has a word twice: leave one out")
    if all(sum(weight for _, weight in terms) >= MIN_WHOLE for terms in printed):
        return _of_weights([dict(terms) for terms in printed])
    return DescribedTopics.from_words([[word for word, _ in terms] for terms in printed])


def _long(table: Table, topic: int, word: int, weight: int) -> DescribedTopics:
    """Read a row for each topic and word; words without a row weigh nothing."""
    topics: dict[str, dict[str, float]] = {}
    needed = max(topic, word, weight)
    for row in islice(table.rows(), 1, None):
        if len(row.fields) <= needed:
            raise table.error(row.line, f"expected {needed + 1} fields, found {len(row.fields)}")
        name, term, number = (row.fields[i] for i in (topic, word, weight))
        if not is_number(number) or not np.isfinite(float(number)):
            raise table.error(row.line, f"expected a weight, found {shown(number)}")
        if name == OUTLIERS or not term:
            continue
        weights = topics.setdefault(name, {})
        if term in weights:
            raise table.error(row.line, f"topic {name} has {term!r} twice: leave one out")
        weights[term] = float(number)
    if not topics:
        raise table.error(1, "expected rows of topics, found none")
    return _of_weights(list(topics.values()))


def _of_weights(topics: Sequence[dict[str, float]]) -> DescribedTopics:
    """Return topics of weights by word; of words alone if the weights of others are not known."""
    vocabulary = list(dict.fromkeys(term for each in topics for term in each))
    place = {term: w for w, term in enumerate(vocabulary)}
    matrix = np.zeros((len(topics), len(vocabulary)))
    is_given = np.zeros(matrix.shape, dtype=bool)
    for k, weights in enumerate(topics):
        columns = [place[term] for term in weights]
        matrix[k, columns] = list(weights.values())
        is_given[k, columns] = True
    if (matrix <= 0).all() and is_given.all():
        matrix = without_logs(matrix)
    if _is_cut(is_given, matrix):
        order = [sorted(each, key=lambda term: -each[term]) for each in topics]
        return DescribedTopics.from_words(order)
    return DescribedTopics.from_weights(matrix, vocabulary)


def _is_cut(is_given: Bools, matrix: Floats) -> bool:
    """Whether the rows are a few top words of each topic, and not all that have weight.

    Then some words are not in all topics; and every topic has equally many words, or weights that
    are less than probabilities, as where words of equal weight are all kept.
    """
    sizes, sums = is_given.sum(axis=1), matrix.sum(axis=1)
    is_part = bool((matrix >= 0).all() and (sums < MIN_WHOLE).all())
    return not is_given.all() and (len(set(sizes.tolist())) == 1 or is_part)


def _cells(table: Table, topic: int | None, cell: int) -> list[list[str]]:
    """Read the words of each topic from one field."""
    found = []
    for row in islice(table.rows(), 1, None):
        if len(row.fields) <= cell:
            raise table.error(row.line, f"expected {cell + 1} fields, found {len(row.fields)}")
        if topic is not None and topic < len(row.fields) and row.fields[topic] == OUTLIERS:
            continue
        words = words_of_cell(row.fields[cell])
        if not words:
            raise table.error(row.line, f"expected words, found {shown(row.fields[cell])}")
        found.append(words)
    if not found:
        raise table.error(1, "expected rows of topics, found none")
    return found


def words_of_cell(text: str) -> list[str]:
    """Return the words of a field: a list of Python or JSON, gensim's sum, or separated words."""
    text = text.strip()
    if text[:1] in ("[", "("):
        for parse in (ast.literal_eval, json.loads):
            try:
                return words_of(parse(text))
            except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
                continue
    found = terms_of(text)
    if found:
        return [word for word, _ in found]
    for separator in (",", ";", "|", " - ", "\t"):
        if separator in text:
            return [word for each in text.split(separator) if (word := each.strip())]
    if " " not in text and re.match(r"-?\d+_", text):  # BERTopic's names: 0_river_lake
        return [word for word in text.split("_")[1:] if word]
    return text.split()


def words_of(value: object) -> list[str]:
    """Return the words of a list of words, of pairs of word and weight, or of a table of weights.

    Raises ValueError if it is none of these.
    """
    if isinstance(value, dict):
        value = sorted(value.items(), key=lambda item: -float(item[1]))
    if not isinstance(value, (list, tuple)):
        raise ValueError(f"expected a list of words, found {str(value)[:60]!r}")  # noqa: TRY004
    found = []
    for each in value:
        word = each[0] if isinstance(each, (list, tuple)) and len(each) == 2 else each
        if not isinstance(word, str):
            raise ValueError(f"expected a word, found {str(word)[:60]!r}")  # noqa: TRY004
        if word:
            found.append(word)
    return found


def _is_keys(rows: Sequence[Row]) -> bool:
    """Whether rows are MALLET's topic keys: number, alpha, words."""
    return all(
        len(row.fields) == 3
        and is_number(row.fields[0])
        and is_number(row.fields[1])
        and not is_number(row.fields[2])
        for row in rows
    )


def _fields(table: Table, peeked: Sequence[Row]) -> list[list[str]]:
    """Read topics of a word a field: a row a topic, or a column a topic."""
    if _is_keys(peeked):
        return [row.fields[2].split() for row in table.rows()]
    header = peeked[0].fields
    is_header = len(peeked) > 1 and (are_numbered(header) or are_numbered(header[1:]))
    body = islice(table.rows(), int(is_header), None)
    first = 1 if _numbers_topics(peeked[int(is_header) :]) else 0
    if is_header and all(TOPIC_COLUMN.fullmatch(name) for name in header[first:]):
        rows = [row.fields[len(row.fields) - len(header[first:]) :] for row in body]
        return [[word for word in column if word] for column in zip(*rows, strict=True)]
    found = []
    for row in body:
        if first and row.fields[0] == OUTLIERS:
            continue
        words = [word for word in row.fields[first:] if word]
        if len(words) == 1 and table.separator:
            words = words_of_cell(words[0])
        number = next((word for word in words if is_number(word)), None)
        if number is not None and all(map(is_number, words)):
            raise table.error(row.line, f"expected words, found {shown(number)}")
        found.append(words)
    return found


def _numbers_topics(rows: Sequence[Row]) -> bool:
    """Whether the first field of each row is the number of a topic, and others follow."""
    return all(len(row.fields) > 1 and TOPIC_NAME.fullmatch(row.fields[0]) for row in rows)


def _weights(table: Table, vocabulary: Sequence[str] | None) -> DescribedTopics:
    """Read a matrix of weights; its topics are rows, or columns if the rows are named by words."""
    matrix = read_matrix(table)
    values, words = matrix.values, matrix.columns
    if matrix.rows is not None and not all(TOPIC_NAME.fullmatch(name) for name in matrix.rows):
        values, words = values.T, matrix.rows
    elif words is not None and are_numbered(words):
        words = None
    if words is None:
        if vocabulary is None:
            raise table.error(
                1,
                f"{values.shape[1]} weights a topic, without their words: name them, a word a line "
                "in the order of the columns, by --vocabulary FILE",
            )
        words = list(vocabulary)
    if len(words) != values.shape[1]:
        raise table.error(
            1, f"{values.shape[1]} weights a topic, but {len(words)} words in the vocabulary"
        )
    return DescribedTopics.from_weights(without_logs(values), words)


def without_logs(values: Floats) -> Floats:
    """Return weights, of which logarithms may have been given: all at most 0, sums of exp at 1."""
    if (values <= 0).all() and (values < 0).any():
        weights = np.exp(values)
        if (np.abs(weights.sum(axis=1) - 1) <= MAX_LOG_ERROR).all():
            return np.asarray(weights)
    return values
