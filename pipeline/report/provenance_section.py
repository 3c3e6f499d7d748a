"""Where a run came from, and whose text it is."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpora.articles import attribution
from corpora.articles.attribution import UNKNOWN, read_attribution
from pipeline.report.sections import ProvenanceSection

if TYPE_CHECKING:
    from pipeline.runs import RunDirectory
    from pipeline.settings import TrainSettings


def provenance_section(
    run: RunDirectory, settings: TrainSettings, model_hash: str
) -> ProvenanceSection:
    """What `provenance.json` and the store's ATTRIBUTION say, for people.

    Parameters
    ----------
    model_hash
        SHA-256 of model.npz.
    """
    known = run.provenance()
    articles, corpus, annotation = (
        known.get(name, {}) for name in ("articles", "corpus", "annotation")
    )
    seconds = known.get("seconds", {})
    entries = {
        "begun": known.get("started"),
        "finished": known.get("finished"),
        "seed": known.get("seed"),
        "articles": articles.get("number"),
        "store": articles.get("store"),
        "spaCy model": annotation.get("spacy_model"),
        "corpus, SHA-256": corpus.get("hash"),
        "model, SHA-256": model_hash,
        "documents seen in training": known.get("documents_seen"),
        **{f"seconds: {stage}": f"{taken:.1f}" for stage, taken in seconds.items()},
        **{f"version: {name}": version for name, version in known.get("versions", {}).items()},
    }
    found = read_attribution(Path(settings.articles) / attribution.FILE)
    sources = sorted(found.sources) if found else ()
    return ProvenanceSection(
        entries=tuple((name, _text(value)) for name, value in entries.items() if value is not None),
        settings=tuple((name, _text(value)) for name, value in _settings(run).items()),
        sources=tuple(
            (each.language or UNKNOWN, each.site or UNKNOWN, each.license or UNKNOWN)
            for each in sources
        ),
    )


def _settings(run: RunDirectory) -> dict[str, Any]:
    """As the run was begun with them, in the order of its file."""
    text = run.verified(run.settings_path).read_text("utf-8")
    return dict(tomllib.loads(text)["train"])


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}" if value >= 10_000 else str(value)
    return json.dumps(value, ensure_ascii=False)
