"""A finished run and what is read of it, each once, however many ask for it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpora import ArticleStore, Bigrams, Corpus, split
from corpora.articles.remote import is_url, path_of
from corpora.errors import MissingExtraError
from models import load_model
from pipeline.errors import UsageError
from pipeline.runs.run_directory import RunDirectory, find_run
from pipeline.text.settings import text_settings

if TYPE_CHECKING:
    from corpora import Split
    from corpora.tokens.settings import TextSettings
    from models import SavedModel
    from pipeline.settings import TrainSettings


@dataclass(eq=False)
class LoadedRun:
    """A run whose training has come to its end; its files are read when they are first asked for.

    Raises
    ------
    CorpusFormatError, ModelFormatError
        By what asks for a file that is missing or damaged.
    """

    directory: RunDirectory
    is_checked: bool = True
    """Whether every byte of the bags of words is checked when they are opened."""

    @classmethod
    def find(cls, runs: str, name: str, *, is_checked: bool = True) -> LoadedRun:
        """The run of that name, or at that path.

        Raises
        ------
        UsageError
            If there is none.
        """
        return cls(find_run(runs, name), is_checked)

    @property
    def name(self) -> str:
        """The last part of its path, as people call it."""
        return self.directory.path.name

    @cached_property
    def settings(self) -> TrainSettings:
        """The settings that the run was begun with."""
        return self.directory.settings()

    @cached_property
    def provenance(self) -> dict[str, Any]:
        """Contents of its provenance.json."""
        return self.directory.provenance()

    @cached_property
    def model(self) -> SavedModel:
        """The model.

        Raises
        ------
        UsageError
            If training has not come to its end.
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
        """The bags of words of all documents, mapped from disk."""
        return Corpus.load(self.directory.corpus_path, mmap=True, checked=self.is_checked)

    @cached_property
    def parts(self) -> Split:
        """The documents for training, validation and test."""
        return split(self.corpus, self.settings.validation, self.settings.test)

    @cached_property
    def bigrams(self) -> Bigrams:
        """The joined pairs of words."""
        return Bigrams.load(self.directory.verified(self.directory.bigrams_path))

    @cached_property
    def text_settings(self) -> TextSettings:
        """The settings by which articles became tokens."""
        return text_settings(self.settings)

    @cached_property
    def store(self) -> ArticleStore:
        """The articles: where the settings say, from here or from where `runs` is.

        There may be nothing any more.
        """
        articles = self.settings.articles
        if is_url(articles):
            try:
                return ArticleStore(path_of(articles))
            except MissingExtraError:
                return ArticleStore(Path(articles))  # where nothing is, and so is said
        path = Path(articles)
        beside = self.directory.path.parent.parent / path
        return ArticleStore(beside if beside.is_dir() and not path.is_dir() else path)
