"""Run directory: `runs/NAME/`, all files of one training run.

settings.toml      settings as resolved
provenance.json    versions, seed, hashes, source of the articles, results
corpus/            bags of words to learn from
bigrams.tsv        pairs of words that are joined
vocabulary.txt     words, one a line, if the run follows a download
metrics.jsonl      a line for each validation check
checkpoints/       state to resume from
model.npz          the finished model
topics.txt         its topics, for reading
lock               held by the process that trains
"""

import json
import platform
from collections.abc import Iterable
from dataclasses import fields, replace
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import tomli_w

from corpora import ArticleStore
from corpora.articles.manifest import ShardEntry
from corpora.articles.remote import is_url, normalized
from corpora.corpus_files import check_of
from corpora.errors import CorpusFormatError, MissingExtraError, UnsupportedVersionError
from corpora.files import atomic_write_text, sha256_of
from corpora.tokens.store import describe
from pipeline.errors import UsageError
from pipeline.setting_sources import as_table, from_table, read_table
from pipeline.settings import TrainSettings
from pipeline.settings.field import BEST_MODEL, STREAMED_MODEL
from pipeline.text.inputs import COLUMNS, input_changed
from pipeline.text.settings import text_settings
from pipeline.text.text_store import PREFIX
from pipeline.training.trainers import decided_as_begun
from pipeline.version import software_version

FORMAT = "wikitopics run"
VERSION = 1

NOT_IDENTITY = ("run", "runs", "threads", "cluster")  # Settings that do not change results

NAMES_OF_INPUT = (*TrainSettings.EXCLUSIVE, *COLUMNS)
"""Settings that together say what is read: if one is given, all are."""

SAMPLE_STORE = "articles-sample"  # Store of the built-in sample


class RunDirectory:
    """Files of one run."""

    def __init__(self, path: Path) -> None:
        self.path, self.corpus_path = path, path / "corpus"
        self.settings_path, self.provenance_path = path / "settings.toml", path / "provenance.json"
        self.bigrams_path, self.vocabulary_path = path / "bigrams.tsv", path / "vocabulary.txt"
        self.metrics_path, self.model_path = path / "metrics.jsonl", path / "model.npz"
        self.checkpoint_path = path / "checkpoints" / "latest.npz"

    @property
    def has_corpus(self) -> bool:
        """Whether the bags of words are complete."""
        return (self.corpus_path / "header.json").exists()

    @property
    def has_vocabulary(self) -> bool:
        """Whether the words of a run that follows a download are fixed."""
        return self.exists and self.vocabulary_path.name in self.provenance().get("sha256", {})

    @property
    def words_hash(self) -> str:
        """Hash of bigrams and vocabulary, once both are fixed."""
        known = self.provenance()["sha256"]
        files = (self.bigrams_path, self.vocabulary_path)
        return sha256_of("".join(known[path.name] for path in files).encode())

    @property
    def is_settled(self) -> bool:
        """Whether files depend on the settings, so that these may not change any more."""
        return self.has_corpus or self.has_vocabulary

    @property
    def exists(self) -> bool:
        """Whether a run was begun here."""
        return self.provenance_path.exists()

    def create(self, settings: TrainSettings, entries: dict[str, Any]) -> None:
        """Begin a run: write the directory, its settings and the provenance known by now."""
        self.checkpoint_path.parent.mkdir(parents=True, exist_ok=True)
        atomic_write_text(self.settings_path, tomli_w.dumps({"train": as_table(settings)}))
        about = {"format": FORMAT, "version": VERSION, "started": _now(), "seed": settings.seed}
        hashes = {self.settings_path.name: sha256_of(self.settings_path.read_bytes())}
        self.update_provenance({**about, "versions": versions(), "sha256": hashes, **entries})

    def settings(self) -> TrainSettings:
        """Settings of the run."""
        path = self.verified(self.settings_path)
        try:
            return from_table(TrainSettings, read_table(path, "train"), str(path))
        except UsageError as error:
            raise CorpusFormatError(str(error)) from error

    def articles_changed(self) -> bool:
        """Whether the store's articles, or the input, have changed since the run was begun.

        False if the store or the input is gone, or its URL cannot be read at the moment.
        """
        provenance = self.provenance()
        if "input" in provenance:
            return input_changed(provenance["input"])
        known = provenance.get("articles", {})
        try:
            store = ArticleStore(known.get("store", ""))
            if not store.exists:
                return False
            return bool([entry.sha256 for entry in store.entries] != known.get("shards"))
        except (OSError, MissingExtraError):
            if not is_url(known.get("store", "")):
                raise
            return False

    def record(self, path: Path) -> None:
        """Record the hash of a text file in the provenance, for `verified`."""
        known = self.provenance().get("sha256", {})
        self.update_provenance({"sha256": {**known, path.name: sha256_of(path.read_bytes())}})

    def verified(self, path: Path) -> Path:
        """Return `path` if the file has its recorded hash.

        Raises CorpusFormatError if the file is missing or was changed.
        """
        expected = self.provenance().get("sha256", {}).get(path.name)
        if not path.is_file():
            raise CorpusFormatError(f"{path} is missing: the run cannot be used")
        if expected and sha256_of(path.read_bytes()) != expected:
            raise CorpusFormatError(f"{path} was changed: its SHA-256 is not the run's")
        return path

    def provenance(self) -> dict[str, Any]:
        """Content of provenance.json.

        Raises UnsupportedVersionError if a newer version of this software wrote it;
        CorpusFormatError if the file is missing or damaged.
        """
        path = self.provenance_path
        try:
            provenance = json.loads(path.read_text("utf-8"))
            found, version = provenance["format"], int(provenance["version"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise CorpusFormatError(f"{path}: not a run's provenance: {error}") from error
        if found != FORMAT:
            raise CorpusFormatError(f"{path}: expected a {FORMAT}, found {found!r}")
        if version > VERSION:
            raise UnsupportedVersionError(
                f"{self.path} was written by a newer wikitopics (run format {version}, this one "
                f"reads {VERSION}): upgrade wikitopics to use it"
            )
        if provenance.get("check") != check_of(provenance):
            raise CorpusFormatError(f"{path} was changed: its check does not fit")
        return dict(provenance)

    def update_provenance(self, entries: dict[str, Any]) -> None:
        """Add entries to the provenance."""
        provenance = {**(self.provenance() if self.exists else {}), **entries}
        provenance["check"] = check_of(provenance)
        text = json.dumps(provenance, indent=2, ensure_ascii=False) + "\n"
        atomic_write_text(self.provenance_path, text)

    def finish(self, entries: dict[str, Any]) -> None:
        """Add results to the provenance, and mark the run as finished."""
        self.update_provenance({**entries, "finished": _now()})

    def metrics(self) -> list[dict[str, Any]]:
        """Validation checks that `write_metrics` wrote; empty if there were none."""
        path = self.metrics_path
        try:
            lines = path.read_text("utf-8").splitlines()
            return [json.loads(line, parse_constant=_no_json) for line in lines]
        except FileNotFoundError:
            return []
        except ValueError as error:
            raise CorpusFormatError(f"{path}: not JSON lines: {error}") from error

    def write_metrics(self, metrics: list[dict[str, Any]]) -> None:
        """Write all validation checks, one JSON object a line."""
        text = "".join(json.dumps(line) + "\n" for line in metrics)
        atomic_write_text(self.metrics_path, text)


def open_run(settings: TrainSettings, given: dict[str, Any]) -> tuple[RunDirectory, TrainSettings]:
    """Return the run to resume or to begin, and its settings.

    A named run that exists continues with its own settings. Once it has a corpus (or, if it follows
    a download, its words), the settings in `given` must be the same. Without a name the run is
    called after model and topics, with a number if a run with other settings, or finished on other
    articles, has that name.

    Raises UsageError if the settings differ from those that the run was begun with.
    """
    root = Path(settings.runs)
    if settings.articles:
        settings = replace(settings, articles=normalized(settings.articles))
    if any(name in given for name in NAMES_OF_INPUT):
        given = {**given, **dict.fromkeys(NAMES_OF_INPUT)}
    if settings.run:
        run = RunDirectory(root / settings.run)
        if run.exists:
            begun = run.settings()
            if not run.is_settled:
                # No file depends on its settings yet: pruning that left no word can be changed.
                asked = {name: getattr(settings, name) for name in (*given, *NOT_IDENTITY)}
                return run, _mended(begun, asked)
            same = _decided_as(begun, settings)
            _refuse_others(begun, same, given)
            here = {name: getattr(settings, name) for name in NOT_IDENTITY}
            settings = replace(begun, **here)
        return run, settings
    base, number = f"{settings.model}-{settings.topics}", 1
    while True:
        name = base if number == 1 else f"{base}-{number}"
        run = RunDirectory(root / name)
        named = replace(settings, run=name)
        if not run.exists:
            return run, named
        begun = run.settings()
        same = _decided_as(begun, named)
        done_with_others = run.model_path.exists() and run.articles_changed()
        if _identity(begun) == _identity(same) and not done_with_others:
            return run, same
        number += 1


def settings_begun(settings: TrainSettings) -> TrainSettings | None:
    """Return the settings of the run that `settings` would go on with, by whatever model.

    None if there is none. It is the run that they name, or else the one of the first model whose
    run has the same settings otherwise.
    """
    if settings.run:
        run = RunDirectory(Path(settings.runs) / settings.run)
        return run.settings() if run.exists else None
    for model in (BEST_MODEL, STREAMED_MODEL):
        run, begun = open_run(replace(settings, model=model), {})
        if run.exists:
            return begun
    return None


def find_run(runs: str, name: str) -> RunDirectory:
    """Find the run of that name, or at that path.

    Raises UsageError if there is no such run.
    """
    for path in (Path(runs) / name, Path(name)):
        run = RunDirectory(path)
        if run.exists:
            run.provenance()
            return run
    there = sorted(each.parent.name for each in Path(runs).glob("*/provenance.json"))
    known = f"there are {', '.join(there)}" if there else "there are none yet"
    raise UsageError(f"no run {name!r} in {runs}: {known}; `python -m pipeline train` makes one")


def about_articles(
    settings: TrainSettings, entries: Iterable[ShardEntry], *, settled: bool
) -> dict[str, Any]:
    """Entries of the provenance about the articles; `settled`: no more articles will come."""
    entries = tuple(entries)
    articles: dict[str, Any] = {
        "store": settings.articles,
        "number": sum(entry.articles for entry in entries),
        "shards": [entry.sha256 for entry in entries],
        "settled": settled,
    }
    if not settings.input and not Path(settings.articles).name.startswith(PREFIX):
        articles["attribution"] = (
            "Text by Wikipedia contributors, CC BY-SA; the store names the revision of each "
            "article."
        )
    about: dict[str, Any] = {"articles": articles}
    if settings.documents != "auto" and settings.spacy_model:
        # Otherwise the articles that decide these have not come yet.
        about["annotation"] = json.loads(describe(text_settings(settings)))
    return about


def versions() -> dict[str, str]:
    """Versions of the software that numbers depend on."""
    packages = ("gensim", "numba", "numpy", "scikit-learn", "scipy", "spacy")
    found = {package: metadata.version(package) for package in packages}
    return {"wikitopics": software_version(), "python": platform.python_version(), **found}


def _decided_as(begun: TrainSettings, settings: TrainSettings) -> TrainSettings:
    """Return settings whose open values are decided as in the run that was begun."""
    articles = settings.articles or SAMPLE_STORE
    if settings.input:  # its store depends on the state of the input
        articles = begun.articles
    return replace(
        decided_as_begun(begun, settings),
        articles="" if settings.counts else articles,
        documents=begun.documents if settings.documents == "auto" else settings.documents,
        spacy_model=settings.spacy_model or begun.spacy_model,
        seed=begun.seed if settings.seed is None else settings.seed,
    )


def _mended(begun: TrainSettings, asked: dict[str, Any]) -> TrainSettings:
    """Return a run's settings with changes; settings that the new model lacks become defaults."""
    model = asked.get("model", begun.model)
    defaults: dict[str, Any] = {
        each.name: each.default
        for each in fields(TrainSettings)
        if model not in each.metadata["of"] and begun.model in each.metadata["of"]
    }
    trainer = asked.get("trainer", begun.trainer)
    if (model, trainer) != (begun.model, begun.trainer):
        defaults["eta"] = "auto"  # not the other model's number
    return replace(begun, **defaults | asked)


def _refuse_others(begun: TrainSettings, same: TrainSettings, given: Iterable[str]) -> None:
    """Raise UsageError if a setting that was given is not the one that the run was begun with."""
    for name in given:
        if name not in NOT_IDENTITY and getattr(begun, name) != getattr(same, name):
            value = _shown(same, name).removeprefix(f"{name} = ")
            raise UsageError(
                f"run {same.run!r} was begun with {_shown(begun, name)}, not {value}: choose "
                "another --run, or leave the setting out to go on with it"
            )


def _shown(settings: TrainSettings, name: str) -> str:
    """Return a setting as `name = value`; the one that says what is read, if `name` is empty."""
    if name in TrainSettings.EXCLUSIVE:
        name = next((each for each in TrainSettings.EXCLUSIVE if getattr(settings, each)), name)
    return f"{name} = {getattr(settings, name)}"


def _identity(settings: TrainSettings) -> dict[str, Any]:
    return {n: v for n, v in as_table(settings).items() if n not in NOT_IDENTITY}


def _no_json(name: str) -> None:
    """Refuse NaN and infinity: Python reads them, but they are no JSON."""
    raise ValueError(f"{name} is no number of JSON")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
