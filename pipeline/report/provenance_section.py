"""Origin of a run: the command that repeats it, its settings, versions and text sources."""

import json
import shlex
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from corpora.articles import attribution
from corpora.articles.attribution import UNKNOWN, Attribution, read_attribution
from corpora.articles.remote import is_url
from corpora.files import sha256_of
from pipeline.report.sections import ProvenanceSection
from pipeline.runs.loaded_run import LoadedRun
from pipeline.settings import TrainSettings

COMMAND = "command"
"""Name of the entry with the command that repeats the run, which the page shows separately."""


def provenance_section(run: LoadedRun) -> ProvenanceSection:
    """Return provenance.json and the store's ATTRIBUTION as text.

    If the store is gone, the attribution that the run recorded replaces the sources.
    """
    known = run.provenance
    settings_file = run.directory.verified(run.directory.settings_path)
    begun_with: dict[str, Any] = tomllib.loads(settings_file.read_text("utf-8"))["train"]
    articles, corpus, annotation = (
        known.get(name, {}) for name in ("articles", "corpus", "annotation")
    )
    seconds = known.get("seconds", {})
    entries = {
        COMMAND: train_command(begun_with, known.get("seed")),
        "begun": known.get("started"),
        "finished": known.get("finished"),
        "seed": known.get("seed"),
        "articles": articles.get("number"),
        "store": articles.get("store"),
        "input": known.get("input", {}).get("path"),
        "input, stamp": known.get("input", {}).get("stamp"),
        "spaCy model": annotation.get("spacy_model"),
        "corpus, SHA-256": corpus.get("hash"),
        "model, SHA-256": sha256_of(run.directory.model_path.read_bytes()),
        "documents seen in training": known.get("documents_seen"),
        **{f"seconds: {stage}": f"{taken:.1f}" for stage, taken in seconds.items()},
        **{f"version: {name}": version for name, version in known.get("versions", {}).items()},
    }
    found = None if run.settings.counts else _attribution_in(run.store.path)
    sources = sorted(found.sources) if found else []
    if run.settings.input:  # own texts need not say whose they are
        sources = [each for each in sources if each.site or each.license]
    if not found:
        entries["attribution"] = articles.get("attribution")
    return ProvenanceSection(
        entries=tuple((name, _text(value)) for name, value in entries.items() if value is not None),
        settings=tuple((name, _text(value)) for name, value in applying(begun_with).items()),
        sources=tuple(
            (each.language or UNKNOWN, each.site or UNKNOWN, each.license or UNKNOWN)
            for each in sources
        ),
    )


def applying(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that apply to the run's model."""
    model = settings["model"]
    of = {each.name: each.metadata["of"] for each in fields(TrainSettings)}
    return {name: value for name, value in settings.items() if not of[name] or model in of[name]}


def train_command(settings: Mapping[str, Any], seed: int | None) -> str:
    """Return the command that repeats a run: settings other than the defaults, quoted for a shell.

    >>> train_command({"model": "gibbs", "topics": 25, "stop_words": "a b", "follow": False}, 7)
    "python -m pipeline train --model gibbs --stop-words 'a b' --seed 7"
    """
    defaults = {
        each.name: each.default for each in fields(TrainSettings) if each.default is not MISSING
    }
    words = ["python", "-m", "pipeline", "train"]
    if given := settings.get("input"):
        words += [f"./{given}"] if str(given).startswith("-") else [str(given)]
    for name, value in applying(settings).items():
        option = "--" + name.replace("_", "-")
        if name in ("seed", "input") or value == defaults[name]:
            continue
        if name == "articles" and given:  # read from the input
            continue
        if name == "documents" and settings.get("counts"):
            continue
        if value is True:
            words.append(option)
        elif str(value).startswith("-"):
            words.append(f"{option}={value}")  # else argparse reads an option
        else:
            words += [option, str(value)]
    if seed is not None:
        words += ["--seed", str(seed)]
    return shlex.join(words)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}" if value >= 10_000 else str(value)
    return json.dumps(value, ensure_ascii=False)


def _attribution_in(store: Path) -> Attribution | None:
    """Return the sources that a store names; None without any, or if a remote store fails."""
    try:
        return read_attribution(store / attribution.FILE)
    except OSError:
        if not is_url(store):
            raise
        return None
