"""Corpus of a run: its parts, its vocabulary, and the words that pruning removed."""

from typing import Any

import numpy as np

from corpora.hash_split import article_keys
from corpora.tokens.bigrams import DELIMITER
from pipeline.report.sections import CorpusSection, PartRow, PruningRow
from pipeline.runs.loaded_run import LoadedRun
from pipeline.settings import TrainSettings


def corpus_section(run: LoadedRun) -> CorpusSection:
    """Return the sizes of the parts of a run's corpus, and the words that pruning removed.

    Raises CorpusFormatError if the run's bigrams are missing or were changed.
    """
    settings, corpus = run.settings, run.corpus
    removed = run.provenance.get("pruning")
    joined = {DELIMITER.join(pair) for pair in run.bigrams.scores}
    return CorpusSection(
        store=settings.counts or settings.input or settings.articles,
        unit="document" if settings.counts else settings.documents,
        parts=tuple(
            PartRow(
                name=name,
                articles=len(np.unique(article_keys(part.doc_ids))),
                documents=part.n_docs,
                tokens=part.n_tokens,
                unknown=int(part.n_unknown.sum()),
            )
            for name, part in run.parts._asdict().items()
        ),
        words=corpus.n_words,
        words_before=None if removed is None else removed["n_words"],
        pruning=() if removed is None else _rules(removed, settings),
        bigrams=len(joined.intersection(corpus.vocabulary)),
        **_origin(settings),
    )


def _origin(settings: TrainSettings) -> dict[str, str]:
    """Return the field `origin` of a run that has not read a store."""
    if settings.counts:
        return {"origin": "Counts of"}
    return {"origin": "Texts of"} if settings.input else {}


def _rules(removed: dict[str, Any], settings: TrainSettings) -> tuple[PruningRow, ...]:
    """Return the three rules in the order in which they apply."""
    unit = settings.documents
    return (
        PruningRow(
            f"in fewer than {settings.no_below:,} {unit}{'s' * (settings.no_below > 1)} (no_below)",
            removed["n_rare"],
        ),
        PruningRow(
            f"in more than {settings.no_above:.0%} of the {unit}s (no_above)",
            removed["n_common"],
            tuple(removed["commonest"]),
        ),
        PruningRow(f"beyond the {settings.keep_n:,} commonest (keep_n)", removed["n_beyond"]),
    )
