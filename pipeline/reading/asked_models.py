"""Models of a reading test: runs, files of other programs, and lists of words."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from corpora.errors import CorpusFormatError
from evaluation.topics.reading import weights_of_lists
from models import ModelFormatError
from pipeline.errors import UsageError
from pipeline.runs.loaded_run import LoadedRun
from pipeline.runs.model_files import read_model

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evaluation.arrays import Floats


@dataclass(frozen=True, eq=False)
class AskedModel:
    """A model that readers are asked about."""

    name: str
    topic_word: Floats  # (K, V)
    vocabulary: tuple[str, ...]
    run: LoadedRun | None  # None if it has no documents to show


def asked_models(runs: str, names: Sequence[str]) -> list[AskedModel]:
    """Load the models: each is a run, or the path of a model or of a text file with lists of words.

    Raises UsageError if one is named twice, or there is no such run; ModelFormatError or
    CorpusFormatError if a file is damaged or of an unknown kind.
    """
    found = [_loaded(runs, name) for name in names]
    if len({each.name for each in found}) < len(found):  # equal names in two folders
        called = [str(Path(name)) for name in names]
        twice = next((name for i, name in enumerate(called) if name in called[:i]), None)
        if twice is not None:
            raise UsageError(f"{twice} is named twice")
        found = [
            AskedModel(name, each.topic_word, each.vocabulary, each.run)
            for name, each in zip(called, found, strict=True)
        ]
    return found


def _loaded(runs: str, name: str) -> AskedModel:
    path = Path(name)
    if path.is_file():
        try:
            model = read_model(path)
        except ModelFormatError:
            if path.suffix != ".txt":
                raise
            return AskedModel(path.stem, *word_lists(path), None)
        if not model.vocabulary:
            raise ModelFormatError(f"{path} has no words to show: give a model with a vocabulary")
        return AskedModel(path.stem, model.topics.topic_word, model.vocabulary, None)
    run = LoadedRun.find(runs, name, is_checked=False)
    return AskedModel(run.name, run.model.topics.topic_word, run.model.vocabulary, run)


def word_lists(path: Path) -> tuple[Floats, tuple[str, ...]]:
    """Read topics as lists of words, a line each, the best word first, by commas or else spaces.

    Of a line with tabs, as in MALLET's topic keys, the last field counts. Returns weights (K, V)
    and vocabulary. Raises CorpusFormatError if a line has fewer than two words, or a word twice.
    """
    lists = []
    try:
        lines = path.read_text("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise CorpusFormatError(f"{path}: not UTF-8: {error}") from error
    for number, line in enumerate(lines, start=1):
        last = line.rpartition("\t")[2]
        words = [word.strip() for word in (last.split(",") if "," in last else last.split())]
        words = [word for word in words if word]
        if not words:
            continue
        if len(words) < 2 or len(set(words)) < len(words):
            what = "one word" if len(words) < 2 else "a word twice"
            raise CorpusFormatError(
                f"{path}, line {number}: has {what}: expected the words of a topic, best first"
            )
        lists.append(words)
    if not lists:
        raise CorpusFormatError(f"{path}: there are no words in it")
    return weights_of_lists(lists)
