"""`pipeline.train`: texts or a data frame in, a run out."""

from __future__ import annotations

import difflib
import os
import tempfile
from dataclasses import fields, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpora.articles.remote import is_url
from corpora.formats import UnknownFormatError
from corpora.inputs import find_input
from corpora.inputs.frames import articles_of
from corpora.inputs.matrices import CountsInMemory, are_counts, corpus_of
from pipeline.errors import UsageError
from pipeline.progress import bars
from pipeline.python_names import python_names
from pipeline.runs.infer_table import TEXTS
from pipeline.runs.run import Run
from pipeline.runs.run_directory import RunDirectory
from pipeline.setting_sources import from_table
from pipeline.settings import AUTO, TrainSettings
from pipeline.settings.field import BEST_MODEL
from pipeline.text.inputs import COLUMNS, NamedInput, refuse_text_settings
from pipeline.text.text_store import stored_texts
from pipeline.training.default_model import choose_model
from pipeline.training.setting_checks import check_settings
from pipeline.training.train import train as train_run

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

NOT_HERE = {
    **dict.fromkeys(("articles", "input", "counts"), "the texts are given"),
    "follow": "nothing is being downloaded",
    "follow_after": "nothing is being downloaded",
}
"""Settings of the command that have no use here, with the reason."""


def train(
    texts: Any,
    topics: int = 50,
    *,
    model: str = TrainSettings.model,
    text_column: str = "",
    id_column: str = "",
    format: str = "",  # noqa: A002 - the name of the command's option
    vocabulary: str | Sequence[str] | None = None,
    language: str = "en",
    run: str | None = None,
    runs: str | Path | None = None,
    seed: int | None = None,
    quiet: bool = False,
    **settings: Any,
) -> Run:
    """Learn the topics of texts or counts, as the command `train` does.

    Parameters
    ----------
    texts
        List of strings, or data frame or series of pandas or polars; also a list of mappings, one a
        row, or a mapping of columns; or a path of texts or counts, as the command takes. Each row
        is a document, unless `documents` says otherwise. Counts may be a matrix of NumPy or scipy,
        documents × words, AnnData or a `corpora.Corpus`.
    topics
        Number of topics.
    model
        Model and trainer: "gibbs" or "online" for LDA, "gamma-poisson" or "poisson-mrf"; "auto" is
        "gibbs" where its tokens fit into half of the memory.
    text_column, id_column
        Columns of texts and ids. By default `text`, or the only column of strings; and `id`, or the
        number of the row, from 1. Other columns come along.
    format
        Format of a path, if its content does not tell it.
    vocabulary
        Words of the columns of a matrix; of counts at a path the file that has them.
    language
        Language of the texts, as the code of a Wikipedia: it decides the spaCy model.
    run, runs
        Name of the run, and the folder for it. Without both the run is in a temporary directory
        that is deleted with the object; `Run.save` keeps it. A run that exists is gone on with.
    seed
        Random seed; it fixes the result to the bit. By default one is drawn and recorded.
    quiet
        Whether to show no progress.
    **settings
        Other settings of the command `train` by their names, such as `no_below=2`.

    Raises
    ------
    TypeError
        If there is no setting of that name, or it has no use here; or a matrix has no words.
    CorpusFormatError
        If a column is not there, or a row is malformed.
    pipeline.errors.UsageError
        If a value is impossible.
    """
    _check_names(settings)
    given = {**_listed(settings), "topics": topics, "model": model}
    given = {"documents": "article", **given}
    if seed is not None:
        given["seed"] = seed
    with python_names():  # before the texts are read: a wrong value shows at once
        checked = from_table(TrainSettings, given, "train")
        model = choose_model(checked)[0] or BEST_MODEL if checked.model == AUTO else checked.model
        # Without articles it would be the sample.
        check_settings(replace(checked, model=model, articles=TEXTS))
    temporary = None
    if run is None and runs is None:
        temporary = tempfile.TemporaryDirectory(prefix="wikitopics-", ignore_cleanup_errors=True)
        runs = temporary.name
    folder = Path(TrainSettings.runs if runs is None else runs)
    columns = {"text_column": text_column, "id_column": id_column}
    with bars(shown=not quiet), python_names():
        named = None
        if are_counts(texts):
            named = _held(texts, vocabulary, {**columns, "format": format})
            given["counts"] = named.path
        else:
            how = _read_by(texts, format, vocabulary)
            given |= _named_or_stored(texts, folder, language, columns | how)
        if run is not None:
            given["run"] = run
        if given.get("counts") and "documents" not in settings:
            del given["documents"]  # which is about texts
        asked = from_table(TrainSettings, {**given, "runs": str(folder)}, "train")
        if named is not None:
            refuse_text_settings(asked, "the input")
        path = Path(train_run(asked, given, named=named)["path"])
    directory = RunDirectory(path)
    if not {TEXTS, "input"} & directory.provenance().keys():
        directory.update_provenance({TEXTS: {**columns, "language": language}})
    return Run(path, quiet=quiet, temporary=temporary)


def _held(
    counts: Any, vocabulary: str | Sequence[str] | None, how: Mapping[str, str]
) -> NamedInput:
    """Return counts in memory as an input."""
    if any(how.values()):
        name = next(name for name, value in how.items() if value)
        raise TypeError(f"train() has no use for {name}: counts have no columns of texts")
    if isinstance(vocabulary, str):
        raise TypeError("the vocabulary of a matrix is a list of strings, not one string")
    found = CountsInMemory.of(corpus_of(counts, vocabulary))
    return NamedInput(found, dict.fromkeys(COLUMNS, ""))


def _read_by(
    texts: Any, format_name: str, vocabulary: str | Sequence[str] | None
) -> dict[str, str]:
    """Return the settings that say how a path is read."""
    if not isinstance(texts, str | PathLike) and (format_name or vocabulary is not None):
        name = "format" if format_name else "vocabulary"
        raise TypeError(f"train() has no use for {name}: the texts are given")
    if vocabulary is not None and not isinstance(vocabulary, str | PathLike):
        raise TypeError('the vocabulary of counts at a path is a file, or "numbers"')
    given = {"format": format_name, "vocabulary": os.fspath(vocabulary or "")}
    return {name: value for name, value in given.items() if value}


def _named_or_stored(
    texts: Any, runs: Path, language: str, how: Mapping[str, str]
) -> dict[str, str]:
    """Return settings that say what is read: a path, or the store of texts in memory."""
    if not isinstance(texts, str | PathLike):
        articles = articles_of(texts, **how, language=language)
        return {"articles": str(stored_texts(articles, runs))}
    path = os.fspath(texts)
    if not is_url(path) and not os.path.exists(path):  # noqa: PTH110 - a text may be too long
        raise FileNotFoundError(
            f"there is no file {path[:60]!r}; for a single text give a list, [text]"
        )
    try:
        found = find_input(path, **how, language=language)
    except UnknownFormatError as error:  # as the command says it
        raise UsageError(str(error)) from error
    if found.kind == "texts" and language != "en":  # of which the command knows nothing
        return {"articles": str(stored_texts(found.articles(), runs))}
    if found.kind == "store":
        return {"articles": path}
    return {"counts" if found.kind == "counts" else "input": path, **how}


def _check_names(settings: Mapping[str, Any]) -> None:
    """Raise TypeError for names that are no settings, or that have no use for texts."""
    known = [each.name for each in fields(TrainSettings) if each.name not in NOT_HERE]
    for name in settings:
        if name in NOT_HERE:
            raise TypeError(f"train() has no use for {name}: {NOT_HERE[name]}; leave it out")
        if name not in known:
            near = difflib.get_close_matches(name, known, 3)
            hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(known)}"
            raise TypeError(f"train() has no setting {name!r}: {hint}")


def _listed(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings with lists as the command has them, separated by commas; None left out."""
    return {
        name: ",".join(map(str, value)) if isinstance(value, list | tuple) else value
        for name, value in settings.items()
        if value is not None
    }
