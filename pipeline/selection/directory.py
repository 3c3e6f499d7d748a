"""Directory of a selection: `RUNS/select-NAME/`, a run for each K, which share one corpus.

settings.toml      settings that the runs share, as given, and the first seed
topics-5/, …       the runs; topics-5-2 is the second of that K, with the next seed
select.json        the result; select.svg and select.png show it as a plot
lock               held by the process that selects
"""

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import tomli_w

from corpora.articles.remote import is_url
from corpora.errors import CorpusFormatError
from corpora.files import atomic_write_text
from corpora.lock import lock_holder
from models import seed_from
from pipeline.errors import UsageError
from pipeline.runs.run_directory import NOT_IDENTITY, SAMPLE_STORE, RunDirectory
from pipeline.setting_sources import as_table, from_table, read_table
from pipeline.settings import TrainSettings
from pipeline.settings.field import BEST_MODEL, STREAMED_MODEL
from pipeline.training.trainers import decided_as_begun, decided_eta

SETTINGS = "settings.toml"
OF_ONE_RUN = (*NOT_IDENTITY, "topics")
"""Settings in which the runs of a selection differ, or that do not change results."""


class SelectDirectory:
    """Files of one selection. `training` is shared by its runs; its seed is each K's first."""

    def __init__(self, path: Path, training: TrainSettings) -> None:
        self.path, self.training = path, training

    def settings_of(self, n_topics: int, number: int) -> TrainSettings:
        """Settings of run `number`, counted from 0, with `n_topics` topics."""
        assert self.training.seed is not None
        name = f"topics-{n_topics}" + (f"-{number + 1}" if number else "")
        return replace(
            self.training,
            topics=n_topics,
            seed=self.training.seed + number,
            run=name,
            runs=str(self.path),
            cluster="",  # a run is the same wherever it is trained
        )

    def run_of(self, settings: TrainSettings) -> RunDirectory:
        """Directory of the run with these settings, begun or not."""
        return RunDirectory(self.path / settings.run)

    def run_with_corpus(self) -> RunDirectory | None:
        """Run whose bags of words are complete; None if there is none yet."""
        return next((run for run in self._runs() if run.has_corpus), None)

    def prepare(self, settings: TrainSettings) -> RunDirectory:
        """Begin a run on the corpus of an earlier run, so that it is not counted again.

        The first run counts it. A run that has its corpus is left as it is.
        """
        run, source = self.run_of(settings), self.run_with_corpus()
        if source is None or run.has_corpus:
            return run
        known = source.provenance()
        decided = source.settings()
        names = ("articles", "annotation", "input")
        shared: dict[str, Any] = {name: known[name] for name in names if name in known}
        same = ("articles", "documents", "spacy_model")
        settings = replace(settings, **{name: getattr(decided, name) for name in same})
        run.create(settings, shared)
        if not decided.counts:
            _link(source.verified(source.bigrams_path), run.bigrams_path)
            run.record(run.bigrams_path)
        _link_corpus(source.corpus_path, run.corpus_path)
        return run

    def has_known(self, about: Mapping[str, str]) -> bool:
        """Whether its runs, if there are any, have read the input of the entry `about`."""
        source = self.run_with_corpus()
        return source is None or source.provenance().get("input") == about

    def with_articles(self, store: str) -> "SelectDirectory":
        """Return the selection whose runs read their texts from a store."""
        return SelectDirectory(self.path, replace(self.training, articles=store))

    def create(self) -> None:
        """Write the settings; the directory must exist, and its lock be held."""
        table = {n: v for n, v in as_table(self.training).items() if n not in OF_ONE_RUN}
        atomic_write_text(self.path / SETTINGS, tomli_w.dumps({"train": table}))

    def _runs(self) -> Sequence[RunDirectory]:
        return [RunDirectory(each.parent) for each in sorted(self.path.glob("*/provenance.json"))]


def open_selection(training: TrainSettings, name: str, n_seeds: int) -> SelectDirectory:
    """Return the selection to continue or to begin; nothing is written.

    A named selection continues if it was begun with the same settings, except the numbers of
    topics: more of them can be added. Without a name it is called after the model, with a number
    if one with other settings exists. Settings may change as long as no run has a corpus. The
    `n_seeds` runs of each K have successive seeds.

    Raises UsageError if a named selection was begun with other settings, and has a corpus.
    """
    articles = training.articles or SAMPLE_STORE
    articles = articles if is_url(articles) else os.path.normpath(articles)
    if articles == SAMPLE_STORE or training.input:  # the store of an input comes later
        articles = ""
    asked = replace(training, articles=articles)
    number = 1
    while True:
        called = name or (asked.model if number == 1 else f"{asked.model}-{number}")
        path = Path(asked.runs) / f"select-{called}"
        if not (path / SETTINGS).exists():
            break
        begun = _settings_in(path)
        found = SelectDirectory(path, replace(begun, runs=asked.runs, threads=asked.threads))
        same = replace(
            decided_as_begun(begun, asked),
            seed=begun.seed if asked.seed is None else asked.seed,
        )
        shared = [each for each in vars(begun) if each not in OF_ONE_RUN]
        if asked.input and begun.input:
            shared.remove("articles")
        other = next((s for s in shared if getattr(same, s) != getattr(begun, s)), None)
        if other is None:
            return found
        if found.run_with_corpus() is None and (name or lock_holder(path) is None):
            break  # it has no corpus: its settings may still change
        if name:
            raise UsageError(
                f"{path} was begun with {other} = {getattr(begun, other)}, not "
                f"{getattr(same, other)}: choose another --name, or leave the setting out"
            )
        number += 1
    asked = decided_eta(asked)
    return SelectDirectory(path, replace(asked, seed=_first_seed(asked.seed, n_seeds)))


def settings_begun(training: TrainSettings, name: str, n_seeds: int) -> TrainSettings | None:
    """Return what the runs of the selection share that `training` would go on with, by whatever
    model; None if there is none.
    """
    if name:
        path = Path(training.runs) / f"select-{name}"
        return _settings_in(path) if (path / SETTINGS).exists() else None
    for model in (BEST_MODEL, STREAMED_MODEL):
        found = open_selection(replace(training, model=model), name, n_seeds)
        if found.run_with_corpus() is not None:
            return found.training
    return None


def _first_seed(seed: int | None, n_seeds: int) -> int:
    try:
        first = seed_from(seed)
        seed_from(first + n_seeds - 1)
    except ValueError as error:
        raise UsageError(str(error)) from error
    return first


def _settings_in(path: Path) -> TrainSettings:
    try:
        table = read_table(path / SETTINGS, "train")
    except UsageError as error:
        raise CorpusFormatError(str(error)) from error
    return from_table(TrainSettings, table, str(path / SETTINGS))


def _link_corpus(source: Path, target: Path) -> None:
    """Link the files of a corpus, and of the corpora of its parts, which are directories in it."""
    target.mkdir(exist_ok=True)
    for directory in sorted(each for each in source.iterdir() if each.is_dir()):
        _link_corpus(directory, target / directory.name)
    # The header comes last: it marks the corpus as complete.
    files = [each for each in source.iterdir() if each.suffix in (".npy", ".json")]
    for file in sorted(files, key=lambda each: each.suffix == ".json"):
        if not file.name.startswith("."):  # a temporary file
            _link(file, target / file.name)


def _link(source: Path, target: Path) -> None:
    """Make `target` a hard link to `source`, or a copy where links are not supported.

    Files are never changed in place, only replaced.
    """
    target.unlink(missing_ok=True)
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
