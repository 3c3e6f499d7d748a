"""Held-out likelihood as a column of the table of `evaluate --measures`."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from corpora.errors import CorpusFormatError
from evaluation import LikelihoodEstimate, ZeroProbabilityError
from evaluation.arrays import Ints
from evaluation.figure import Figure, figure_of
from models.parallel import effective_n_jobs
from pipeline.cache.partial_scores import PartialScores
from pipeline.cluster.cluster import Cluster
from pipeline.runs.any_model import AnyModel
from pipeline.scoring.evaluate import check_families
from pipeline.scoring.score import (
    LoadedModel,
    default_method,
    log_warnings,
    score_all,
    scored_rows,
    scored_words,
)
from pipeline.settings import EvaluateSettings
from pipeline.text.held_out import HeldOut


def likelihood_figures(
    settings: EvaluateSettings,
    models: Sequence[AnyModel],
    documents: HeldOut,
    group_of: Ints,
    cluster: Cluster | None,
    most: int | None = None,
) -> tuple[dict[str, Figure], str, int]:
    """Return nats a word by the name of the model, the method, and the number of tokens scored.

    Only words that all models with a likelihood know are scored, in `most` evenly spaced documents
    at most. Errors are over groups of documents (D,). Models without a likelihood have figures that
    say why.
    """
    figures = {each.name: Figure.none(each.no_likelihood) for each in models if each.likely is None}
    loaded = [
        LoadedModel(each.name, each.run, each.likely) for each in models if each.likely is not None
    ]
    if not loaded:
        return figures, "", 0
    if settings.method is None:
        settings = replace(settings, method=default_method(loaded))
    check_families(settings, loaded)
    try:
        words = scored_words(loaded, documents)
    except CorpusFormatError:
        none = Figure.none("no word of the documents is known to all models")
        return figures | dict.fromkeys([each.name for each in loaded], none), "", 0
    if most is not None:
        rows = scored_rows(documents.corpus, words, most)
        documents = replace(documents, corpus=documents.corpus.rows(rows))
        group_of = np.unique(group_of[rows], return_inverse=True)[1]
    n_threads = effective_n_jobs(settings.threads)
    known = PartialScores(settings, [each.model for each in loaded], documents, words)
    estimates: dict[str, LikelihoodEstimate] = {}
    with known.saved():
        try:
            estimates = score_all(settings, loaded, documents, words, n_threads, cluster, known)
        except ZeroProbabilityError:
            estimates = {}
    for each in loaded if not estimates else ():
        try:
            estimates |= score_all(settings, [each], documents, words, n_threads, cluster)
        except ZeroProbabilityError as error:
            figures[each.name] = Figure.none(str(error).removeprefix(f"{each.name}: "))
    log_warnings(estimates)
    for name, estimate in estimates.items():
        figures[name] = _nats_a_word(estimate, group_of)
    n_tokens = next((each.total_tokens for each in estimates.values()), 0)
    return figures, str(settings.method), n_tokens


def _nats_a_word(estimate: LikelihoodEstimate, group_of: Ints) -> Figure:
    scored = estimate.is_scored
    loss = np.where(scored, -estimate.log_likelihood, 0.0)
    n_tokens = np.where(scored, estimate.n_tokens, 0)
    if not n_tokens.any():
        return Figure.none("no document has a word that all models know")

    def nats(kept: np.ndarray) -> float:
        n_kept = n_tokens[kept].sum()
        return float(loss[kept].sum() / n_kept) if n_kept else float("nan")

    return figure_of(nats, group_of)
