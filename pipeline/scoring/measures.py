"""Models of any program by all measures: `evaluate --measures`.

A row is a model, or several models of other seeds, MODEL+MODEL: its figures are their means, with
the variance over seeds in the error. All models are judged by the same documents, and errors over
documents leave out the same groups of them, so that differences are paired.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from corpora import Corpus
from evaluation.arrays import Ints
from evaluation.figure import Figure, groups_of, mean_over_seeds
from evaluation.topics.agreement import model_agreement
from evaluation.topics.distance import normalised_rows
from evaluation.topics.quality import exclusivity_figure
from evaluation.topics.reference.index import ReferenceIndex
from evaluation.topics.word_coherence import word_coherence
from evaluation.topics.word_diversity import word_diversity
from models.described.topics import TOP_WORDS, DescribedTopics
from models.parallel import effective_n_jobs
from models.topics import TopicWords
from pipeline.cluster.connection import cluster_of
from pipeline.errors import UsageError
from pipeline.runs.any_model import AnyModel
from pipeline.runs.loaded_run import LoadedRun
from pipeline.scoring.document_labels import labels_of, names_of, scored_store
from pipeline.scoring.evaluate import check_settings
from pipeline.scoring.judged import Judged, judged_rows
from pipeline.scoring.label_figures import LabelFigures, label_figures
from pipeline.scoring.likelihood_figures import likelihood_figures
from pipeline.setting_sources import check_least
from pipeline.settings import EvaluateSettings
from pipeline.text.held_out import HeldOut, held_out

MEASURES = ("likelihood", "coherence", "diversity", "exclusivity", "stability", "labels")
N_DIVERSE = 25  # Words of a topic for diversity, as in Dieng, Ruiz & Blei 2020
LEAST_DIVERSE = 5
"""Words of its shortest topic below which a model has no diversity, if others have more."""
LIKELIHOOD, COHERENCE = "nats a word", "c_npmi"
STABILITY = {"cosine": "cosine", "rank_biased_overlap": "rbo", "share": "found again"}
"""Figures of agreement, and their names in the table."""
LOWER_IS_BETTER = frozenset({LIKELIHOOD})


@dataclass(frozen=True, eq=False)
class Judgement:
    """Figures of rows by measures."""

    documents: HeldOut
    reference: ReferenceIndex | None  # Where coherence is counted; None: in the documents
    rows: Sequence[Judged]
    figures: dict[str, dict[str, Figure]]  # By name of the row, and by measure
    method: str  # Estimator of the likelihood; empty without
    n_tokens: int  # Tokens that the likelihood is of
    labels: LabelFigures | None
    n_groups: int
    n_diverse: int  # Words of a topic that diversity is of
    unseen_pairs: dict[str, float]  # Share of pairs of top words in no document together, by row
    known_words: dict[str, float]
    """Share of top words that occur where coherence is counted, by row."""


def judge(settings: EvaluateSettings, names: Sequence[str]) -> Judgement:
    """Score models of any program by all measures asked for, on the same documents.

    Raises UsageError if a measure is not known or lacks what it needs, or there are no documents;
    what `any_model` raises if a model cannot be read.
    """
    measures_of(settings)
    check_settings(settings, names)
    check_least(settings, words=2)
    if settings.words > TOP_WORDS:
        # Pairs grow with the square: 50 words have 1,225 a topic, of 1.6 kB each.
        raise UsageError(
            f"--words must be at most {TOP_WORDS}, the words that are told of a topic, found "
            f"{settings.words}"
        )
    if settings.reference:
        index_at(settings.reference)  # before models are read
    return judge_rows(settings, judged_rows(settings, names))


def judge_rows(
    settings: EvaluateSettings, rows: Sequence[Judged], scored: int | None = None
) -> Judgement:
    """Score models that were read; the likelihood is of at most `scored` of the documents.

    Raises UsageError if a measure is not known or lacks what it needs, or there are no documents.
    """
    asked = measures_of(settings)
    index = index_at(settings.reference) if settings.reference else None
    models = list({each.name: each for row in rows for each in row.members}.values())
    runs = [each.run for each in models if each.run is not None]
    figures: dict[str, dict[str, Figure]] = {each.name: {} for each in models}
    method, n_tokens, labelled = "", 0, None
    with cluster_of(settings.cluster) as cluster:
        words = tuple(dict.fromkeys(word for row in rows for word in row.words))
        n_threads = effective_n_jobs(settings.threads)
        documents = held_out(settings, runs, words, n_threads, cluster)
        if not documents.corpus.n_docs:
            raise UsageError(
                f"{documents.source} has no document that training did not see: give other "
                "documents, --documents INPUT"
            )
        group_of = groups_of(documents.article_of, seed=settings.seed)
        if "likelihood" in asked:
            found, method, n_tokens = likelihood_figures(
                settings, models, documents, group_of, cluster, scored
            )
            for name, figure in found.items():
                figures[name][LIKELIHOOD] = figure
    # Diversity falls with the number of words: it is of as many for all models.
    n_diverse = _diverse_words(models)
    unseen = _of_topics(settings, asked, models, documents, group_of, index, n_diverse, figures)
    if "labels" in asked:
        labelled = _labelled(settings, models, runs, documents, group_of)
        for name, own in labelled.by_model.items():
            figures[name].update(own)
    of_rows = {
        row.name: {
            measure: mean_over_seeds([figures[each.name][measure] for each in row.members])
            for measure in figures[row.members[0].name]
        }
        for row in rows
    }
    if "stability" in asked:
        for name, own in _stability(rows, settings.words).items():
            of_rows[name].update(own)
    known = _known_words(documents.corpus if index is None else index)
    return Judgement(
        documents=documents,
        reference=index,
        rows=rows,
        figures=of_rows,
        method=method,
        n_tokens=n_tokens,
        labels=labelled,
        n_groups=int(group_of.max()) + 1,
        n_diverse=n_diverse,
        unseen_pairs={
            row.name: float(np.mean([unseen.get(each.name, 0.0) for each in row.members]))
            for row in rows
        },
        known_words={row.name: _known_share(row, known, settings.words) for row in rows},
    )


def measures_of(settings: EvaluateSettings) -> tuple[str, ...]:
    """Return the measures asked for, in the order of `MEASURES`; of "all" without labels, if none
    are given.

    Raises UsageError if one is not known, or a setting is of the likelihood or of labels alone.
    """
    asked = {each.strip() for each in settings.measures.split(",") if each.strip()}
    unknown = sorted(asked - {*MEASURES, "all"})
    if unknown or not asked:
        raise UsageError(
            f"--measures: {unknown[0] if unknown else 'nothing'} is no measure: give all, or some "
            f"of {', '.join(MEASURES)}"
        )
    if "labels" in asked and not settings.labels:
        raise UsageError("--measures labels needs --labels COLUMN, or a table of id and label")
    if settings.labels and not asked & {"labels", "all"}:
        raise UsageError("--labels are for the measure labels: add it to --measures")
    if settings.reference and not asked & {"coherence", "all"}:
        raise UsageError("--reference is for the measure coherence: add it to --measures")
    for option in ("certify", "per_document"):
        if getattr(settings, option):
            name = option.replace("_", "-")
            raise UsageError(f"--{name} is of the likelihood alone: leave --measures out")
    if "all" in asked:
        asked = {*MEASURES} - (set() if settings.labels else {"labels"})
    return tuple(each for each in MEASURES if each in asked)


def index_at(path: str) -> ReferenceIndex:
    """Open the index of --reference.

    Raises UsageError if there is no such file; CorpusFormatError if it is no index, or damaged.
    """
    if not Path(path).is_file():
        raise UsageError(
            f"--reference {path}: there is no such file; `python -m pipeline index` makes one"
        )
    return ReferenceIndex.open(path)


def _of_topics(
    settings: EvaluateSettings,
    asked: Sequence[str],
    models: Sequence[AnyModel],
    documents: HeldOut,
    group_of: Ints,
    index: ReferenceIndex | None,
    n_diverse: int,
    figures: dict[str, dict[str, Figure]],
) -> dict[str, float]:
    """Add coherence, diversity and exclusivity, those asked for, to the figures of each model.

    Return the share of pairs of top words that are in no window, by model, if they were counted.
    """
    unseen = {}
    corpus: Corpus | ReferenceIndex = documents.corpus if index is None else index
    for each in models:
        own, topics = figures[each.name], each.described
        if "coherence" in asked:
            counted = word_coherence(topics.words, corpus, group_of, COHERENCE, settings.words)
            own[COHERENCE], unseen[each.name] = counted.figure, counted.unseen_pairs
        if "diversity" in asked:
            own["diversity"] = _diversity(topics, n_diverse)
        if "exclusivity" in asked:
            own["exclusivity"] = _exclusivity(topics, settings.words)
    return unseen


def _diverse_words(models: Sequence[AnyModel]) -> int:
    """Return the number of top words of which the diversity of all models is."""
    shortest = [_shortest(each.described) for each in models]
    return min((N_DIVERSE, *([n for n in shortest if n >= LEAST_DIVERSE] or shortest)))


def _shortest(topics: DescribedTopics) -> int:
    """Return the words of the topic with the fewest, topics without words left out."""
    return min((len(some) for some in topics.words if some), default=N_DIVERSE)


def _diversity(topics: DescribedTopics, n_words: int) -> Figure:
    shortest = _shortest(topics)
    if shortest < n_words:
        number = f"{shortest} word{'' if shortest == 1 else 's'}"
        return Figure.none(f"one of its topics has {number}, diversity is of {n_words} of each")
    return word_diversity(topics.words, n_words)


def _labelled(
    settings: EvaluateSettings,
    models: Sequence[AnyModel],
    runs: Sequence[LoadedRun],
    documents: HeldOut,
    group_of: Ints,
) -> LabelFigures:
    store = scored_store(settings, runs)
    names = names_of(documents, store)
    labels = labels_of(settings, documents, store, names)
    return label_figures(settings, models, documents, group_of, names, labels)


def _known_words(corpus: Corpus | ReferenceIndex) -> set[str]:
    """Return the words that occur in documents."""
    used = np.zeros(len(corpus.vocabulary), dtype=bool)
    if isinstance(corpus, ReferenceIndex):
        used[corpus.word_tokens > 0] = True
    else:
        used[np.unique(corpus.counts.indices)] = True
    return {word for word, is_used in zip(corpus.vocabulary, used, strict=True) if is_used}


def _known_share(row: Judged, known: set[str], n_words: int) -> float:
    """Return the share of top words that are known; NaN without top words."""
    tops = [w for each in row.members for some in each.described.words for w in some[:n_words]]
    return sum(word in known for word in tops) / len(tops) if tops else float("nan")


def _exclusivity(topics: DescribedTopics, n_words: int) -> Figure:
    if topics.topic_word is None:
        return Figure.none("word lists have no weights")
    if (topics.topic_word < 0).any():
        return Figure.none("weights are negative")
    return exclusivity_figure(TopicWords(normalised_rows(topics.topic_word, "topic_word")), n_words)


def _stability(rows: Sequence[Judged], n_words: int) -> dict[str, dict[str, Figure]]:
    """Return the agreement of the models of each row; of rows with each other if all have one."""
    found = {}
    if all(len(row.members) == 1 for row in rows) and len(rows) > 1:
        of_all = model_agreement([row.members[0].described for row in rows], n_words=n_words)
        for n, row in enumerate(rows):
            found[row.name] = {shown: of_all.of_model(n, name) for name, shown in STABILITY.items()}
        return found
    for row in rows:
        if len(row.members) == 1:
            why = Figure.none("one model: name those of other seeds with it, MODEL+MODEL")
            found[row.name] = dict.fromkeys(STABILITY.values(), why)
            continue
        among = model_agreement([each.described for each in row.members], n_words=n_words)
        found[row.name] = {shown: getattr(among, name) for name, shown in STABILITY.items()}
    return found
