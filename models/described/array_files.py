"""Topics as arrays: JSON and NumPy's .npz by names, and BERTopic's folders.

topics        lists of words, or of pairs of word and weight; or a table of these by topic
topic_word    (K, V) weights                 vocabulary   (V,) words
doc_topic     (D, K) weights                 doc_ids      (D,) ids
alpha         a number, or (K,)              other names: those of OCTIS and of R
"""

import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from corpora.errors import CorpusFormatError
from corpora.files import PathLike
from corpora.formats.compression import read_bytes
from models.arrays import Floats
from models.described.topics import DescribedTopics
from models.described.word_lists import OUTLIERS, without_logs, words_of

NAMES = {
    "topics": ("topics", "topic_words", "topic_representations"),
    "topic_word": ("topic_word", "topic-word-matrix", "topic_word_distribution", "beta", "phi"),
    "vocabulary": ("vocabulary", "vocab", "words"),
    "doc_topic": ("doc_topic", "theta", "doc_topic_distribution"),
    "doc_ids": ("doc_ids", "ids", "document_ids"),
    "alpha": ("alpha",),
}
TOPIC_DOC = "topic-document-matrix"  # OCTIS has topics as rows
DAMAGED = (ValueError, TypeError, KeyError, OverflowError)  # What content that is no topics raises
MAX_HEADER = 1 << 26  # Bytes of the header of a safetensors file
DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4"}


def read_json_topics(path: PathLike, vocabulary: Sequence[str] | None = None) -> DescribedTopics:
    """Read topics from JSON: lists of words, or a table; see `models.described.array_files`.

    `vocabulary` names the columns of weights that have no words in the file. Raises OSError if the
    file cannot be read; CorpusFormatError if it is of no such form.
    """
    text = b"".join(read_bytes(Path(path)))
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CorpusFormatError(f"{path}: not JSON: {error}") from error
    try:
        if isinstance(content, dict) and any(
            name in content for names in NAMES.values() for name in (*names, TOPIC_DOC)
        ):
            return topics_of_arrays(content, vocabulary)
        return DescribedTopics.from_words(_word_lists(content))
    except DAMAGED as error:
        raise CorpusFormatError(f"{path}: these are no topics: {error}") from error


def read_array_topics(path: PathLike, vocabulary: Sequence[str] | None = None) -> DescribedTopics:
    """Read topics from NumPy's .npz of plain arrays.

    `vocabulary` names the columns of weights that have no words in the file. Raises OSError if the
    file cannot be read; CorpusFormatError if it is damaged, has arrays of objects, which are
    pickles and not loaded, or lacks the arrays.
    """
    with Path(path).open("rb") as stream:
        try:
            with np.load(stream, allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in archive.files}
            return topics_of_arrays(arrays, vocabulary)
        except (*DAMAGED, EOFError, zipfile.BadZipFile) as error:
            raise CorpusFormatError(
                f"{path}: these are no topics: {error}; save plain arrays: topic_word and "
                "vocabulary, or topics, and doc_topic, doc_ids, alpha if known"
            ) from error


def topics_of_arrays(
    arrays: Mapping[str, Any], vocabulary: Sequence[str] | None = None
) -> DescribedTopics:
    """Return topics of arrays by name; columns without names among them have those of `vocabulary`.

    There may be lists of words too: then weights of another number of words are left out.

    Raises ValueError if they contradict each other.
    """
    found = {
        key: next((arrays[name] for name in names if name in arrays), None)
        for key, names in NAMES.items()
    }
    if found["doc_topic"] is None and arrays.get(TOPIC_DOC) is not None:
        found["doc_topic"] = _numbers(TOPIC_DOC, arrays[TOPIC_DOC]).T
    for name in ("topic_word", "doc_topic"):
        found[name] = None if found[name] is None else _numbers(name, found[name])
    doc_topic = found["doc_topic"]
    words = None if found["topics"] is None else _word_lists(found["topics"])
    if found["vocabulary"] is None and vocabulary is not None:
        weights = found["topic_word"]
        is_of_it = weights is not None and weights.shape[-1] == len(vocabulary)
        found["vocabulary"] = vocabulary if is_of_it or words is None else None
    ids = None if found["doc_ids"] is None else list(map(str, found["doc_ids"]))
    if found["topic_word"] is None or found["vocabulary"] is None:
        if words is None:
            raise ValueError(
                "expected topic_word (K, V) and vocabulary (V,), which --vocabulary FILE may give, "
                "or topics, lists of words; found " + ", ".join(arrays)
            )
        return DescribedTopics.from_words(words, doc_topic, ids)
    weights = without_logs(found["topic_word"])
    named = list(map(str, found["vocabulary"]))
    return DescribedTopics.from_weights(weights, named, doc_topic, ids, found["alpha"], words)


def _numbers(name: str, content: Any) -> Floats:
    """Return a table of numbers. Raises ValueError, with its name, if it is none."""
    try:
        return np.array(content, dtype=np.float64, ndmin=2)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{name} must be numbers, in rows of the same length: {error}") from error


def _word_lists(content: Any) -> list[list[str]]:
    """Return the words of each topic of a list or of a table by topic, without topic -1."""
    if isinstance(content, np.ndarray):
        content = content.tolist()
    if isinstance(content, dict):
        content = [each for name, each in content.items() if str(name) != OUTLIERS]
    if not isinstance(content, list) or not content:
        raise ValueError("expected a list of topics, each a list of words")
    if all(isinstance(each, str) for each in content):
        return [each.split() for each in content]
    return [words_of(each) for each in content]


def is_bertopic_folder(path: PathLike) -> bool:
    """Whether a directory is what BERTopic's `save` by safetensors or pytorch makes."""
    return (Path(path) / "topics.json").is_file()


def read_bertopic_folder(path: PathLike) -> DescribedTopics:
    """Read the folder of `BERTopic.save(serialization="safetensors")`.

    Words are the representations of topics.json. Weights are the c-TF-IDF of ctfidf.safetensors, if
    it was saved too (`save_ctfidf=True`). Documents are known by their order, and have one topic or
    none. Raises OSError if a file cannot be read; CorpusFormatError if one is damaged.
    """
    source = Path(path) / "topics.json"
    content = _json_table(source)
    try:
        by_topic = content.get("topic_representations")
        if not isinstance(by_topic, dict):
            raise TypeError("topics.json has no table topic_representations")
        by_topic = {str(k): words_of(each) for k, each in by_topic.items()}
        kept = sorted(int(k) for k in by_topic if k != OUTLIERS)
        words = [by_topic[str(k)] for k in kept]
        doc_topic = _one_topic(content["topics"], kept) if content.get("topics") else None
        vectors = Path(path) / "ctfidf.safetensors"
        config = Path(path) / "ctfidf_config.json"
        if not (vectors.is_file() and config.is_file()):
            return DescribedTopics.from_words(words, doc_topic)
        vocabulary = _json_table(config)["vectorizer_model"]["vocab"]
        weights = _ctfidf(vectors)
        first = len(weights) - len(kept)  # the outliers' row, if any, is the first
        named = sorted(vocabulary, key=vocabulary.__getitem__)
        if first not in (0, 1) or weights.shape[1] != len(named):
            raise ValueError(
                f"{vectors.name} is of {weights.shape[0]} topics and {weights.shape[1]} words, "
                f"the other files of {len(by_topic)} and {len(named)}"
            )
        return DescribedTopics.from_weights(weights[first:], named, doc_topic, words=words)
    except (*DAMAGED, AttributeError) as error:
        raise CorpusFormatError(f"{path}: not a usable folder of BERTopic: {error!s}") from error


def _json_table(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise CorpusFormatError(f"{path}: not JSON: {error}") from error
    if not isinstance(content, dict):
        raise CorpusFormatError(f"{path}: expected a table, found a {type(content).__name__}")
    return content


def _one_topic(topics: Sequence[int], kept: Sequence[int]) -> Floats:
    """Return shares (D, K) of documents with one topic each; zeros for outliers."""
    place = {k: i for i, k in enumerate(kept)}
    shares = np.zeros((len(topics), len(kept)))
    for d, k in enumerate(topics):
        if int(k) in place:
            shares[d, place[int(k)]] = 1.0
    return shares


def _ctfidf(path: Path) -> Floats:
    """Return the matrix of a safetensors file that holds the parts of a CSR matrix."""
    parts = read_safetensors(path)
    shape = tuple(int(n) for n in parts["shape"])
    if len(shape) != 2 or min(shape) < 1:
        raise ValueError(f"{path.name}: the shape is {shape}")
    matrix = sparse.csr_array((parts["data"], parts["indices"], parts["indptr"]), shape=shape)
    matrix.check_format()
    return np.asarray(matrix.toarray(), dtype=np.float64)


def read_safetensors(path: PathLike) -> dict[str, Any]:
    """Read the arrays of a safetensors file: 8 bytes of length, a JSON header, and plain numbers.

    Raises OSError if the file cannot be read; CorpusFormatError if it is damaged.
    """
    data = Path(path).read_bytes()
    size = int.from_bytes(data[:8], "little")
    if not 0 < size <= min(MAX_HEADER, len(data) - 8):
        raise CorpusFormatError(f"{path}: not a safetensors file, or damaged")
    try:
        header = json.loads(data[8 : 8 + size])
        body = memoryview(data)[8 + size :]
        arrays = {}
        for name, each in header.items():
            if name == "__metadata__":
                continue
            first, last = each["data_offsets"]
            if not 0 <= first <= last <= len(body):
                raise ValueError(f"{name} is outside the file")
            array = np.frombuffer(body[first:last], dtype=DTYPES[each["dtype"]])
            arrays[name] = array.reshape(each["shape"])
    except (*DAMAGED, AttributeError) as error:
        raise CorpusFormatError(f"{path}: a damaged safetensors file: {error}") from error
    return arrays
