"""Table 1 of Inouye et al. 2015: words and dependencies of three topics.

Dependencies are ranked by Φ, as in the paper, and by their effect on the counts.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np

from models import SavedModel
from models.poisson_mrf.topic_matrices import map_assignment
from models.poisson_mrf.topic_model import LPMRFTopicModel
from models.poisson_mrf.topics import LPMRFTopics
from models.saved import ModelFormatError
from pipeline.cache.keys import key_of
from pipeline.errors import UsageError
from pipeline.figures.word_graph import dependency_figure
from pipeline.progress import Progress
from pipeline.reproduce.claims import finding
from pipeline.reproduce.counts import words_of_counts
from pipeline.reproduce.experiment import Experiment, Figure, Found, data_note
from pipeline.reproduce.inouye2015.dependencies import (
    KINDS,
    WITHIN,
    Compared,
    Topic,
    compared,
    missing_words,
    training_part,
)
from pipeline.reproduce.tables import Column, Headline, Table, grouped, text_table
from pipeline.runs.topics import topic_rows
from pipeline.runs.word_dependencies import SORTED_BY, strongest_dependencies
from pipeline.training.checkpoint import CHECKPOINT_SECONDS, Checkpoint

if TYPE_CHECKING:
    from pipeline.cache.results import ResultCache
    from pipeline.reproduce.claims import Finding
    from pipeline.reproduce.counts import Named
    from pipeline.reproduce.settings import ReproduceSettings

NAME = "lpmrf-dependencies"
KIND = "experiment-" + NAME
N_TOPICS = 3
PROTOCOL: dict[str, Any] = {"assignments": "moves", "partition": "envelope"}
PENALTY, LENGTH_SCALE = 0.00885867, 1.5
"""λ and c of the published model of Classic3."""
SAMPLE_PENALTY = 0.1
"""λ for the built-in sample, which has fewer and longer documents."""
QUICK_SAMPLE = {"n_samples": 20, "n_temperatures": 20}
"""Annealing for the built-in sample at the scale quick; otherwise as published."""
N_SHOWN = 10
"""Words and dependencies of each sign, as in the paper."""
HALF = 5
"""Published entries of ten that must be found."""


@dataclass(frozen=True, eq=False)
class Learned:
    """A model and what it was learned from."""

    corpus: Named
    """Nine tenths of the documents."""
    model: SavedModel
    penalty: float
    length_scale: float
    seconds: float
    """Seconds of training, including those before an interruption."""
    compared: dict[str, list[Compared]]
    """Comparison with the published table by each of `SORTED_BY`; empty if words are missing."""


def run(settings: ReproduceSettings, cache: ResultCache) -> Found:
    """Train by the published protocol; an interrupted training resumes."""
    whole = words_of_counts(settings)
    corpus = whole._replace(counts=training_part(whole.counts))
    penalty = PENALTY if settings.counts else SAMPLE_PENALTY
    if settings.penalty is not None:
        penalty = settings.penalty
    length_scale = LENGTH_SCALE if settings.length_scale is None else settings.length_scale
    for name, number in (("--penalty", penalty), ("--length-scale", length_scale)):
        if not number > 0:
            raise UsageError(f"{name} must be positive, found {number}")
    is_quick = settings.scale == "quick" and not settings.counts
    trainer = LPMRFTopicModel(
        N_TOPICS,
        **PROTOCOL | (QUICK_SAMPLE if is_quick else {}),
        penalty=penalty,
        length_scale=length_scale,
        random_state=settings.seed,
        n_jobs=settings.threads,
    )
    counts = corpus.counts
    topics, seconds = _trained(trainer, corpus, cache)
    split = map_assignment(topics, counts, n_jobs=settings.threads)
    prevalence = split.lengths.sum(axis=0) / max(split.lengths.sum(), 1)
    model = SavedModel(topics, corpus.words, prevalence=prevalence)
    found = (
        {} if missing_words(corpus.words) else {by: compared(_all(model, by)) for by in SORTED_BY}
    )
    made = Learned(corpus, model, penalty, length_scale, seconds, found)
    return Found(as_json(made), made)


def _trained(
    trainer: LPMRFTopicModel, corpus: Named, cache: ResultCache
) -> tuple[LPMRFTopics, float]:
    """Train from the cached checkpoint; return the topics and the seconds spent."""
    settings = {name: value for name, value in trainer.get_params().items() if name != "n_jobs"}
    key = key_of(KIND, settings=settings, counts=corpus.counts)
    try:
        checkpoint = Checkpoint.load(cache.path(KIND, key), key)
    except ModelFormatError:  # damaged
        checkpoint = Checkpoint(key)
    before, started = checkpoint.seconds, time.monotonic()
    saved, is_saved = started, True
    try:
        with Progress(f"{corpus.name}: training", None, "rounds") as progress:
            for step in trainer.iterate(corpus.counts, state=checkpoint.state):
                progress.update(1, step.stage)
                checkpoint.state = trainer.state_
                now = time.monotonic()
                checkpoint.seconds = before + now - started
                is_saved = now >= saved + CHECKPOINT_SECONDS
                if is_saved:
                    cache.write(KIND, key, checkpoint.save)
                    saved = now
    except ValueError as error:  # too few documents
        raise UsageError(f"{corpus.name}: {error}") from error
    if not is_saved:
        cache.write(KIND, key, checkpoint.save)
    topics = trainer.topics_
    assert isinstance(topics, LPMRFTopics)
    return topics, checkpoint.seconds


def _all(model: SavedModel, by: str) -> list[Topic]:
    """Return all words and dependencies of each topic, strongest first."""
    topics: Any = model.topics
    rows = strongest_dependencies(model, len(topics.edge_weight), by)
    assert rows is not None
    order = topics.top_words(topics.n_words)
    return [
        Topic(
            tuple(model.vocabulary[w] for w in order[k]),
            tuple((each.first, each.second) for each in rows[k].positive),
            tuple((each.first, each.second) for each in rows[k].negative),
        )
        for k in range(topics.n_topics)
    ]


def as_json(found: Learned) -> dict[str, Any]:
    """Return a row for each topic, and the published entries that are found again."""
    topics: Any = found.model.topics
    by_effect = {row["topic"]: row for row in topic_rows(found.model, 1, N_SHOWN, "effect")}
    signs = np.bincount(topics.edge_topic, minlength=N_TOPICS)
    return {
        "name": NAME,
        "corpus": found.corpus.name,
        "documents": found.corpus.counts.shape[0],
        "words": found.corpus.counts.shape[1],
        "tokens": int(found.corpus.counts.sum()),
        "penalty": found.penalty,
        "length_scale": found.length_scale,
        "seconds": found.seconds,
        "rows": [
            row
            | {
                "dependencies": int(signs[row["topic"]]),
                "positive_by_effect": by_effect[row["topic"]]["positive"],
                "negative_by_effect": by_effect[row["topic"]]["negative"],
            }
            for row in topic_rows(found.model, N_SHOWN, N_SHOWN)
        ],
        "published": [
            {
                "published_topic": each.published,
                "topic": each.topic,
                "by": by,
                "kind": kind,
                "of": len(each.places[kind]),
                "found": {str(within): each.found(kind, within) for within in WITHIN},
                "places": [
                    {
                        "published": place.what if kind == "words" else list(place.what),
                        "place": place.place,
                    }
                    for place in each.places[kind]
                ],
            }
            for by, topics_of in found.compared.items()
            for each in topics_of
            for kind in KINDS
            if kind != "words" or by == SORTED_BY[0]
        ],
        "missing_words": missing_words(found.corpus.words),
    }


def _findings(found: Learned) -> list[Finding]:
    """Decide which of the published entries are found again."""
    if not found.compared:
        return []
    return [
        finding(
            f"{kind}-found",
            f"of each topic, at least {HALF} of its {N_SHOWN} published {what} are among our first "
            f"{within}",
            (
                f"published topic {each.published + 1}"
                for each in found.compared[SORTED_BY[0]]
                if each.found(kind, within) < HALF
            ),
            "Table 1: words and dependencies of three topics.",
        )
        for kind, what, within in (
            ("words", "words", WITHIN[0]),
            ("positive", "positive dependencies", WITHIN[1]),
            ("negative", "negative dependencies", WITHIN[1]),
        )
    ]


def _published_pairs(result: Any) -> dict[int, tuple[int, set[frozenset[str]]]]:
    """Return number, words and pairs of the published topic for each topic that is compared."""
    found: dict[int, tuple[int, set[frozenset[str]]]] = {}
    for each in result["published"]:
        _, known = found.setdefault(each["topic"], (each["published_topic"], set()))
        for place in each["places"]:
            what = place["published"]
            known.add(frozenset([what] if isinstance(what, str) else what))
    return found


def _columns(row: Any, known: set[frozenset[str]]) -> dict[str, list[str]]:
    """Return the columns of a topic's table; published entries have a star."""

    def star(*words: str) -> str:
        return "*" if frozenset(words) in known else ""

    columns = {"top words": [word + star(word) for word in row["words"]]}
    for title, name, sign in (
        ("positive, by Φ", "positive", "+"),
        ("by effect", "positive_by_effect", "+"),
        ("negative, by Φ", "negative", "−"),
        ("by effect ", "negative_by_effect", "−"),
    ):
        columns[title] = [
            f"{each['first']}{sign}{each['second']}{star(each['first'], each['second'])}"
            for each in row[name]
        ]
    return columns


def tables(result: Any) -> list[Table]:
    """Return the comparison with the published table, and a table for each topic."""
    marked = _published_pairs(result)
    topics = []
    for row in result["rows"]:
        number, known = marked.get(row["topic"], (None, set()))
        columns = _columns(row, known)
        like = "" if number is None else f" Table 1 has it as topic {number + 1}; * is there too."
        topics.append(
            text_table(
                f"Topic {row['topic']}, {row['prevalence']:.1%} of tokens",
                ("", *columns),
                [
                    (str(n + 1), *cells)
                    for n, cells in enumerate(zip_longest(*columns.values(), fillvalue=""))
                ],
                note=f"{row['dependencies']:,} dependencies, the strongest by Φ and by effect, "
                f"Φ √(p p').{like}",
            )
        )
    note = (
        f"{result['corpus']}: {result['documents']:,} training documents, {result['words']:,} "
        f"words, {result['tokens']:,} tokens; λ = {result['penalty']:g}, c = "
        f"{result['length_scale']:g}."
    )
    if not result["published"]:
        missing = result["missing_words"]
        note += (
            f" Not compared with the published table, of Classic3: {len(missing)} of its words are "
            f"not in the vocabulary, such as {', '.join(missing[:5])}."
        )
        return [replace(topics[0], note=f"{note} {topics[0].note}"), *topics[1:]]
    found = Table(
        "Of what is published of a topic, among our first",
        (
            Column("published topic", lambda each: each["published_topic"] + 1),
            *(Column("our topic", "topic"), Column("ranked by", "by"), Column("kind", "kind")),
            Column("published", "of"),
            *(Column(str(within), f"found.{within}") for within in WITHIN),
        ),
        result["published"],
        note,
        headings=4,
    )
    return [found, *topics]


def headline(result: Any) -> Headline:
    """Return how many of the published entries are among the first of ours."""
    within = WITHIN[-1]
    what = f"published words, positive, negative dependencies among our first {within}"
    found = {
        kind: [row for row in rows if row["by"] == "weight"]
        for kind, rows in grouped(result["published"], "kind").items()
    }
    if not found:
        return Headline(what, "not compared: words of the table are missing", "30, 30, 30")
    return Headline(
        what,
        ", ".join(str(sum(row["found"][str(within)] for row in rows)) for rows in found.values()),
        ", ".join(str(sum(row["of"] for row in rows)) for rows in found.values()),
    )


def _draw(figure: Any, _: Any, found: Learned) -> None:
    dependency_figure(found.model, topic_rows(found.model, N_SHOWN, N_SHOWN))(figure)


EXPERIMENT = Experiment(
    name=NAME,
    where="Table 1",
    shows="The top words and the strongest dependencies of three topics.",
    run=run,
    tables=tables,
    headline=headline,
    findings=lambda found: _findings(found.drawn),
    figures=(Figure("", "The strongest dependencies of each topic as a graph of words", _draw),),
    data=lambda result: data_note(
        "Classic3", *([result["corpus"]] if result["missing_words"] else [])
    ),
)
