"""A finished run as an object of Python: what `pipeline.train` returns, or a directory of runs."""

from __future__ import annotations

import re
import shutil
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from corpora import part_of
from corpora.inputs.matrices import are_counts
from evaluation import LikelihoodEstimate, typical_documents
from models.html_table import html_table
from models.parallel import effective_n_jobs
from pipeline.exports import pyldavis
from pipeline.progress import bars
from pipeline.python_names import python_names
from pipeline.report.report import report
from pipeline.runs.column_names import free_names
from pipeline.runs.document_rows import DocumentRows, document_rows
from pipeline.runs.infer_table import infer_counts, infer_rows
from pipeline.runs.loaded_run import LoadedRun
from pipeline.runs.pictures import Pictures, pictures_of
from pipeline.runs.table import as_table
from pipeline.runs.topic_rows import topic_rows
from pipeline.runs.topics_over import document_shares, topics_over
from pipeline.scoring.evaluate import scores_of
from pipeline.settings import EvaluateSettings, ReportSettings, TrainSettings
from pipeline.text.text_store import PREFIX, copy_store

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence
    from tempfile import TemporaryDirectory

    from corpora import Corpus
    from evaluation.arrays import Floats
    from models import SavedModel

WORDS = 10  # Words of a topic in tables
OF_DOCUMENTS = re.compile(r"id|title|section|part|tokens|unknown|share|topic_\d+")
OF_MEANS = re.compile(r"topic|share|standard_error|documents")
"""Our columns in tables; a column of the texts with such a name gets a _ at its end."""


class Run:
    """A finished run: topics, documents, likelihoods, and the topics of new texts.

    `path` is a run's directory, or its name in the folder `runs`; `quiet` hides progress.
    Tables are data frames where pandas is installed, else structured arrays of NumPy. Raises
    UsageError if there is no such run, or its training has not ended.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        runs: str | os.PathLike[str] = TrainSettings.runs,
        quiet: bool = False,
        temporary: TemporaryDirectory[str] | None = None,
    ) -> None:
        self.loaded = LoadedRun.find(str(runs), str(path))
        self.quiet = quiet
        self._temporary = temporary  # deleted with this object
        _ = self.model

    @property
    def path(self) -> Path:
        """Directory of the run; it ends with this object if the run is temporary."""
        return self.loaded.directory.path

    @property
    def name(self) -> str:
        """Last part of the path."""
        return self.loaded.name

    @property
    def is_temporary(self) -> bool:
        """Whether the directory is deleted with this object."""
        return self._temporary is not None

    @property
    def settings(self) -> TrainSettings:
        """Settings of the training."""
        return self.loaded.settings

    @property
    def seed(self) -> int:
        """Random seed, which may have been drawn."""
        return int(self.loaded.provenance["seed"])

    @property
    def model(self) -> SavedModel:
        """Topics with the vocabulary."""
        return self.loaded.model

    @property
    def corpus(self) -> Corpus:
        """Bags of words of all documents."""
        return self.loaded.corpus

    @property
    def topics(self) -> Any:
        """Table of the ten top words of each topic: topic, word, weight, share.

        The weight is the probability of the word in the topic, or its rate in models of counts; the
        share is that of the topic in the training tokens. The largest topics come first.
        """
        return self.top_words(WORDS)

    def top_words(self, n_words: int) -> Any:
        """Return the table `topics` with that number of words a topic."""
        rows = topic_rows(self.model, n_words)
        return as_table(
            {
                "topic": [row["topic"] for row in rows for _ in row["words"]],
                "word": [word for row in rows for word in row["words"]],
                "weight": [weight for row in rows for weight in row["probabilities"]],
                "share": [_or_nan(row["prevalence"]) for row in rows for _ in row["words"]],
            }
        )

    @property
    def documents(self) -> Any:
        """Table of the documents with the shares of topics, topic_0 and so on, in each.

        There are id, title, part ("train", "validation" or "test"), tokens of the vocabulary, and
        the columns that came along with the texts. A document without a known word has the shares
        of the prior.
        """
        rows = self._rows
        columns: dict[str, Any] = {"id": rows.ids, "title": rows.titles}
        if rows.sections is not None:
            columns["section"] = rows.sections
        columns |= {"part": self._parts, "tokens": self._n_tokens}
        columns |= _renamed(
            {name: [each[r] for r in rows.row_of] for name, each in rows.columns.items()}
        )
        return as_table(columns | _share_columns(self.doc_topic))

    @cached_property
    def doc_topic(self) -> Floats:
        """Shares (D, K) of topics in documents, in the order of `documents`."""
        with bars(shown=not self.quiet):
            return document_shares(self.loaded, effective_n_jobs(-1))

    def evaluate(
        self,
        method: str | None = None,
        *,
        samples: int | None = None,
        target_se: float | None = None,
        convention: str = "sequence",
        smoothing: float = 0.0,
        seed: int = 0,
        threads: int = -1,
    ) -> LikelihoodEstimate:
        """Score the test part, as the command `evaluate` does; its figures are the same.

        If documents are sections, the estimate is by article, as sections are not independent.
        Raises UsageError if the model's family does not have the method or convention, or no
        document was held out.
        """
        settings = EvaluateSettings(
            method=method,
            samples=samples,
            target_se=target_se,
            convention=convention,
            smoothing=smoothing,
            seed=seed,
            threads=threads,
        )
        with bars(shown=not self.quiet), python_names():
            scores = scores_of(settings, [str(self.path.absolute())])
        (estimate,), (by_article,) = scores.estimates.values(), scores.by_article.values()
        has_sections = len(by_article.n_tokens) < len(estimate.n_tokens)
        return by_article if has_sections else estimate

    def infer(
        self,
        texts: Any,
        *,
        text_column: str = "",
        id_column: str = "",
        vocabulary: Sequence[str] | None = None,
        threads: int = -1,
    ) -> Any:
        """Return a table of new texts, or rows of a data frame, with the shares of topics in each.

        It has a row for each text, empty ones too, and the index of a frame of pandas. Columns are
        by default those of training, if the texts have them. Counts in memory are taken as `train`
        takes them; a matrix without a `vocabulary` has the words of the run in their order.
        """
        n_threads = effective_n_jobs(threads)
        with bars(shown=not self.quiet), python_names():
            if are_counts(texts):
                found = infer_counts(self.loaded, texts, vocabulary, n_threads)
            else:
                found = infer_rows(self.loaded, texts, text_column, id_column, n_threads)
        columns = {"id": found.ids, "title": found.titles}
        counts = {"tokens": found.n_tokens, "unknown": found.n_unknown}
        table = {**columns, **counts, **_renamed(found.columns), **_share_columns(found.shares)}
        is_of_pandas = type(texts).__module__.partition(".")[0] == "pandas"
        return as_table(table, texts.index if is_of_pandas else None)

    def report(self, path: str | os.PathLike[str] | None = None, **settings: Any) -> Path:
        """Write the report as a page, as the command `report` does, and return its path.

        By default it is `report.html` in the run's directory. `settings` are those of the command,
        such as `documents=0`.
        """
        asked = {"page_only": path is not None, **settings}
        output = "" if path is None else str(path)
        with bars(shown=not self.quiet), python_names():
            written = report(ReportSettings(output=output, **asked), [str(self.path.absolute())])
        return Path(written["page"])

    def topics_over(
        self, column: str, period: str | None = None, *, groups: int | None = None
    ) -> Any:
        """Return the mean share of each topic in groups of documents: a table of column, topic,
        share, standard_error, documents.

        Groups are the values of a column that came along, or periods of time if it holds dates
        such as 2021-03-05: "year", "quarter", "month" or "day", by default the finest with 20
        documents on average. Each document counts once, however long; the standard error is over
        documents. Documents without a known word, or without a value, are left out. `groups` limits
        the table to so many groups, those with the most documents first. A document counts in each
        value of a column that holds several, as the categories of a wiki do, and the table then has
        the 20 largest groups by default. "year" is that of the articles' timestamp if no column has
        that name. Numbers that nearly all differ, as lengths do, are put into `groups` or 10 groups
        of about as many documents, each named by its least number.

        Raises KeyError if there is no such column; ValueError if it does not group documents.
        """
        rows = self._rows
        found = topics_over(rows, self.doc_topic, self._n_tokens, column, period, groups)
        n_topics = found.share.shape[1]
        (name,) = free_names([column], OF_MEANS)
        return as_table(
            {
                name: [group for group in found.groups for _ in range(n_topics)],
                "topic": [k for _ in found.groups for k in range(n_topics)],
                "share": found.share.ravel(),
                "standard_error": found.standard_error.ravel(),
                "documents": np.repeat(found.n_documents, n_topics),
            }
        )

    def typical(self, topic: int, n_documents: int = WORDS) -> Any:
        """Return a table of the training documents with the largest share of a topic, as in the
        report: the shortest quarter is left out (see `evaluation.typical_documents`).

        Raises IndexError if there is no such topic.
        """
        n_topics = self.model.topics.n_topics
        if not 0 <= topic < n_topics:
            raise IndexError(
                f"there is no topic {topic}: they are numbered from 0 to {n_topics - 1}"
            )
        is_training = np.flatnonzero(self._parts == "train")
        shares = self.doc_topic[is_training, topic]
        (found,) = typical_documents(shares[:, None], self._n_tokens[is_training], n_documents)
        chosen, rows = is_training[found], self._rows
        columns: dict[str, Any] = {
            "id": [rows.ids[d] for d in chosen],
            "title": [rows.titles[d] for d in chosen],
            "share": shares[found],
            "tokens": self._n_tokens[chosen],
        }
        return as_table(
            columns
            | _renamed(
                {
                    name: [each[rows.row_of[d]] for d in chosen]
                    for name, each in rows.columns.items()
                }
            )
        )

    @cached_property
    def pictures(self) -> Pictures:
        """Figures of the report by their names, such as "topic-map": a notebook shows them."""
        with bars(shown=not self.quiet):
            return pictures_of(self.loaded, effective_n_jobs(-1))

    def pyldavis(self) -> dict[str, Any]:
        """Return the arguments of `pyLDAvis.prepare`; see `pipeline.exports.pyldavis`."""
        return pyldavis(self.loaded)

    def save(self, path: str | os.PathLike[str]) -> Run:
        """Copy the run to a new directory, with its texts, and return the run there.

        The directory is like one of the command line: `python -m pipeline report PATH` reads it.
        Raises FileExistsError if there is something at the path.
        """
        target = Path(path)
        if target.exists():
            raise FileExistsError(f"{target} exists: choose another path")
        target.parent.mkdir(parents=True, exist_ok=True)
        made = target.with_name(f".{target.name}.part")
        shutil.rmtree(made, ignore_errors=True)
        try:
            shutil.copytree(self.path, made, ignore=shutil.ignore_patterns("lock"))
            store = self.loaded.store
            if store.exists and store.path.name.startswith(PREFIX):
                inside = made / store.path.name
                if not inside.exists():
                    copy_store(store.path, inside)
            made.rename(target)
        finally:
            shutil.rmtree(made, ignore_errors=True)
        return Run(target.absolute(), quiet=self.quiet)

    def __repr__(self) -> str:
        topics = self.model.topics
        return (
            f"<Run {self.name}: {topics.n_topics} topics, {topics.n_words:,} words, "
            f"{self.corpus.n_docs:,} documents, {self._place}>"
        )

    def _repr_html_(self) -> str:
        """Return a plain table of the topics, for notebooks."""
        rows = [
            (row["topic"], _percent(row["prevalence"]), " ".join(row["words"]))
            for row in topic_rows(self.model, WORDS)
        ]
        sizes = (
            f"{self.corpus.n_docs:,} documents, {self.corpus.n_tokens:,} tokens, "
            f"{self.corpus.n_words:,} words"
        )
        about = f"{self.name}: {sizes}; seed {self.seed}; {self._place}"
        return html_table(("topic", "share", "words"), rows, about)

    @property
    def _place(self) -> str:
        return "temporary: .save(path) keeps it" if self.is_temporary else f"in {self.path}"

    @cached_property
    def _rows(self) -> DocumentRows:
        return document_rows(self.loaded)

    @cached_property
    def _n_tokens(self) -> Any:
        return np.asarray(self.corpus.counts.sum(axis=1), dtype=np.int64)

    @cached_property
    def _parts(self) -> Any:
        settings = self.settings
        return np.array(
            [part_of(each, settings.validation, settings.test) for each in self.corpus.doc_ids]
        )


def _share_columns(shares: Floats) -> dict[str, Floats]:
    return {f"topic_{k}": of_topic for k, of_topic in enumerate(shares.T)}


def _renamed(columns: Mapping[str, Sequence[Any]]) -> dict[str, Sequence[Any]]:
    """Return columns with names that those of tables of documents do not have."""
    return dict(zip(free_names(columns, OF_DOCUMENTS), columns.values(), strict=True))


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share:.1%}"


def _or_nan(value: float | None) -> float:
    return float("nan") if value is None else value
