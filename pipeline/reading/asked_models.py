"""Models of a reading test: runs, files of other programs, and lists of words."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from corpora.errors import CorpusFormatError
from evaluation.arrays import Floats
from evaluation.topics.reading import weights_of_lists
from models.described.topics import DescribedTopics, heaviest_words
from pipeline.errors import UsageError
from pipeline.runs.any_model import PathLike, any_model
from pipeline.runs.loaded_run import LoadedRun

SHOWN = 10  # Top words of a topic that readers may see


@dataclass(frozen=True, eq=False)
class AskedModel:
    """A model that readers are asked about."""

    name: str
    topic_word: Floats  # (K, V)
    vocabulary: tuple[str, ...]
    run: LoadedRun | None  # None if it has no documents to show


def asked_models(
    runs: str, names: Sequence[str], vocabulary: PathLike | None = None
) -> list[AskedModel]:
    """Load the models: each is a run, or a file of any model that `evaluate --measures` reads.

    `vocabulary` is a file with the words of models without words. A model is called as its run or
    its file without ending, or by its path if two would be called alike.

    Raises UsageError if one is named twice, or there is no such run; ModelFormatError or
    CorpusFormatError if a file is damaged or of an unknown kind, or a topic has fewer than two
    words.
    """
    found = [_loaded(runs, name, vocabulary) for name in names]
    if len({each.name for each in found}) < len(found):  # equal names in two folders
        called = [str(Path(name)) for name in names]
        twice = next((name for i, name in enumerate(called) if name in called[:i]), None)
        if twice is not None:
            raise UsageError(f"{twice} is named twice")
        found = [replace(each, name=name) for name, each in zip(called, found, strict=True)]
    return found


def _loaded(runs: str, name: str, vocabulary: PathLike | None) -> AskedModel:
    model = any_model(runs, name, vocabulary, is_checked=False)
    if model.run is not None:
        return AskedModel(model.run.name, *_weights(name, model.described), model.run)
    return AskedModel(Path(name).stem, *_weights(name, model.described), None)


def _weights(name: str, topics: DescribedTopics) -> tuple[Floats, tuple[str, ...]]:
    """Return weights (K, V) and words of topics, those of their lists if the lists are others.

    BERTopic shows words that are not the heaviest; negative weights have no use here.
    """
    weights = topics.topic_word
    if weights is not None and (weights >= 0).all():
        heaviest = heaviest_words(weights, topics.vocabulary, SHOWN)
        if heaviest == tuple(words[:SHOWN] for words in topics.words):
            return weights, topics.vocabulary
    for k, words in enumerate(topics.words):
        if len(words) < 2:
            raise CorpusFormatError(
                f"{name}: topic {k} has fewer than two words: expected the words of a topic, the "
                "best first"
            )
    return weights_of_lists(topics.words)
