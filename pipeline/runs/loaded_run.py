"""Finished run whose files are read once, when they are first needed."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from corpora import ArticleStore, Bigrams, Corpus, Split, split
from corpora.articles.remote import is_url, path_of
from corpora.errors import MissingExtraError
from corpora.tokens.settings import TextSettings
from models import SavedModel, load_model
from pipeline.errors import UsageError
from pipeline.runs.run_directory import RunDirectory, find_run
from pipeline.settings import TrainSettings
from pipeline.text.settings import text_settings


@dataclass(eq=False)
class LoadedRun:
    """Finished run; each file is read when it is first needed.

    Raises CorpusFormatError or ModelFormatError on access to a file that is missing or damaged.
    """

    directory: RunDirectory
    is_checked: bool = True
    """Whether all bytes of the bags of words are checked when they are opened."""

    @classmethod
    def find(cls, runs: str, name: str, *, is_checked: bool = True) -> "LoadedRun":
        """Find the run of that name, or at that path.

        Raises UsageError if there is no such run.
        """
        return cls(find_run(runs, name), is_checked)

    @property
    def name(self) -> str:
        """Last part of its path."""
        return self.directory.path.name

    @cached_property
    def settings(self) -> TrainSettings:
        """Settings of the run."""
        return self.directory.settings()

    @cached_property
    def provenance(self) -> dict[str, Any]:
        """Content of provenance.json."""
        return self.directory.provenance()

    @cached_property
    def model(self) -> SavedModel:
        """Trained model.

        Raises UsageError if training has not ended.
        """
        run = self.directory
        if not run.model_path.exists():
            raise UsageError(
                f"run {self.name!r} has no model yet: go on with "
                f"`python -m pipeline train --runs {run.path.parent} --run {self.name}`"
            )
        return load_model(run.model_path)

    @cached_property
    def corpus(self) -> Corpus:
        """Bags of words of all documents, memory-mapped."""
        return Corpus.load(self.directory.corpus_path, mmap=True, checked=self.is_checked)

    @cached_property
    def parts(self) -> Split:
        """Documents for training, validation and test."""
        return split(self.corpus, self.settings.validation, self.settings.test)

    @cached_property
    def bigrams(self) -> Bigrams:
        """Bigrams of the run; none if it learned from counts."""
        if self.settings.counts:
            return Bigrams({})
        return Bigrams.load(self.directory.verified(self.directory.bigrams_path))

    @cached_property
    def text_settings(self) -> TextSettings:
        """Settings of the text stage.

        Raises UsageError if the run learned from counts, which have no text stage.
        """
        if self.settings.counts:
            raise UsageError(
                f"run {self.name} learned from counts, {self.settings.counts}, and cannot read "
                "texts: give it counts of the same words"
            )
        return text_settings(self.settings)

    @cached_property
    def store(self) -> ArticleStore:
        """Store of the articles; its path is relative to here or to the folder of `runs`.

        A run that was saved has a store of texts in its own directory. The store may not exist any
        more.
        """
        articles = self.settings.articles
        if self.settings.counts:
            return ArticleStore(self.directory.path)  # which has none
        if is_url(articles):
            try:
                return ArticleStore(path_of(articles))
            except MissingExtraError:  # the store does not exist, and says so when it is read
                return ArticleStore(Path(articles))
        path = Path(articles)
        inside = self.directory.path / path.name
        if path.name and (inside / "manifest.jsonl").is_file():
            return ArticleStore(inside)
        beside = self.directory.path.parent.parent / path
        if self.settings.input and not beside.is_dir():  # then the store is in the folder of runs
            beside = self.directory.path.parent / path.name
        return ArticleStore(beside if beside.is_dir() and not path.is_dir() else path)
