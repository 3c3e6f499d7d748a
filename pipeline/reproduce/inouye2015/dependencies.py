"""Inouye et al. 2015, Table 1: words and dependencies of three topics of Classic3.

A topic has its ten most probable words, and the ten positive and ten negative dependencies between
words that are strongest by Φ. Ours are ranked by Φ, and by their effect on the counts. Topics of a
new training are in another order: they are matched to the published ones by their words.
"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import zip_longest
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from models import SavedModel
from models.poisson_mrf.topic_matrices import map_assignment
from models.poisson_mrf.topic_model import LPMRFTopicModel
from models.poisson_mrf.topics import LPMRFTopics
from models.saved import ModelFormatError
from pipeline.cache import keys
from pipeline.cache.results import ResultCache
from pipeline.errors import UsageError
from pipeline.figures.word_graph import dependency_figure
from pipeline.progress import Progress
from pipeline.reproduce.claims import Finding, Findings
from pipeline.reproduce.counts import Named, words_of_counts
from pipeline.reproduce.experiment import Experiment, Figure, Found, data_note, number, plain
from pipeline.reproduce.inouye2015.published import CHOSEN, authors_split
from pipeline.reproduce.settings import ReproduceSettings
from pipeline.reproduce.tables import Column, Headline, Table, grouped
from pipeline.runs.topic_rows import topic_rows
from pipeline.runs.word_dependencies import SORTED_BY, strongest_dependencies
from pipeline.training.checkpoint import CHECKPOINT_SECONDS, Checkpoint

NAME = "lpmrf-dependencies"
N_TOPICS = 3
PROTOCOL: dict[str, Any] = {"assignments": "moves", "partition": "envelope"}
SAMPLE_PENALTY = 0.1  # λ for the built-in sample, which has fewer and longer documents
QUICK_SAMPLE = {"n_samples": 20, "n_temperatures": 20}  # Annealing for the sample at scale quick
N_SHOWN = 10  # Words and dependencies of each sign, as in the paper
WITHIN = (12, 50)  # Ranks down to which published entries are counted
HALF = 5  # Published entries of ten that must be found
CLAIMS = {"words": "words"} | {kind: f"{kind} dependencies" for kind in ("positive", "negative")}


class Topic(NamedTuple):
    """Words of a topic, and pairs of words of either sign; the strongest first."""

    words: tuple[str, ...]
    positive: tuple[tuple[str, ...], ...]
    negative: tuple[tuple[str, ...], ...]


def _topic(words: str, positive: str, negative: str) -> Topic:
    def pairs(text: str, sign: str) -> tuple[tuple[str, ...], ...]:
        return tuple(tuple(pair.split(sign)) for pair in text.split())

    return Topic(tuple(words.split()), pairs(positive, "+"), pairs(negative, "-"))


# Table 1: library science, medicine and aeronautics. It cuts "hypothermia" short.
PUBLISHED = (
    _topic(
        "information library research system libraries book systems data use scientific",
        "states+united point+view test+tests primary+secondary recall+precision dissemination+sdi "
        "direct+access language+natural years+five term+long",
        "paper-book libraries-retrieval library-chemical libraries-language system-published "
        "information-citations information-citation chemical-document library-scientists "
        "library-scientific",
    ),
    _topic(
        "patients cases normal cells treatment children found results blood disease",
        "term+long positive+negative cooling+hypothermia system+central atmosphere+height "
        "function+functions methods+suitable stress+reaction low+rates case+report",
        "cells-patient patients-animals patients-rats hormone-protein growth-parathyroid "
        "patients-lens patients-mice patients-dogs hormone-tumor patients-child",
    ),
    _topic(
        "flow pressure boundary results theory method layer given number presented",
        "supported+simply account+taken agreement+good moment+pitching non+linear lower+upper "
        "tunnel+wind time+dependent level+noise purpose+note",
        "flow-shells number-numbers flow-shell wing-hypersonic solutions-turbulent mach-reynolds "
        "flow-stresses theoretical-drag general-buckling made-conducted",
    ),
)


def _run(settings: ReproduceSettings) -> Found:
    """Train by the published protocol; an interrupted training continues."""
    whole = words_of_counts(settings, NAME)
    corpus = whole._replace(counts=authors_split(whole.counts)[0])
    penalty, length_scale = CHOSEN["topics", N_TOPICS]
    penalty = penalty if settings.counts else SAMPLE_PENALTY
    chosen = {"penalty": penalty, "length_scale": length_scale}
    for name, otherwise in chosen.items():
        chosen[name] = number(getattr(settings, name), otherwise)
        if not chosen[name] > 0:
            raise UsageError(f"--{name.replace('_', '-')} must be positive, found {chosen[name]}")
    is_quick = settings.scale == "quick" and not settings.counts
    protocol = PROTOCOL | chosen | (QUICK_SAMPLE if is_quick else {})
    common: dict[str, Any] = {"random_state": settings.seed, "n_jobs": settings.threads}
    trainer = LPMRFTopicModel(N_TOPICS, **protocol, **common)
    topics, seconds = _trained(trainer, corpus)
    lengths = map_assignment(topics, corpus.counts, n_jobs=settings.threads).lengths
    prevalence = lengths.sum(axis=0) / max(lengths.sum(), 1)
    model = SavedModel(topics, corpus.words, prevalence=prevalence)
    return Found(as_json(corpus, model, chosen | {"seconds": seconds}), model)


def _trained(trainer: LPMRFTopicModel, corpus: Named) -> tuple[LPMRFTopics, float]:
    """Train from the cached checkpoint; return the topics, and the seconds of all training."""
    cache, kind = ResultCache(), keys.EXPERIMENT + NAME
    settings = {name: value for name, value in trainer.get_params().items() if name != "n_jobs"}
    key = keys.key_of(kind, settings=settings, counts=corpus.counts)
    try:
        checkpoint = Checkpoint.load(cache.path(kind, key), key)
    except ModelFormatError:  # damaged
        checkpoint = Checkpoint(key)
    saved = last = time.monotonic()
    try:
        with Progress(f"{corpus.name}: training", None, "rounds") as progress:
            for step in trainer.iterate(corpus.counts, state=checkpoint.state):
                progress.update(1, step.stage)
                now = time.monotonic()
                checkpoint.state = trainer.state_
                checkpoint.seconds += now - last
                last = now
                if now >= saved + CHECKPOINT_SECONDS:
                    cache.write(kind, key, checkpoint.save)
                    saved = now
    except ValueError as error:  # too few documents
        raise UsageError(f"{corpus.name}: {error}") from error
    if saved < last:
        cache.write(kind, key, checkpoint.save)
    topics: Any = trainer.topics_
    return topics, checkpoint.seconds


def as_json(corpus: Named, model: SavedModel, spent: dict[str, float]) -> dict[str, Any]:
    """Return a row for each topic, and where the published entries are in ours. These are not
    compared if words of the published table are not in the vocabulary.
    """
    topics: Any = model.topics
    by_effect = {row["topic"]: row for row in topic_rows(model, 1, N_SHOWN, "effect")}
    n_dependencies = np.bincount(topics.edge_topic, minlength=N_TOPICS)
    rows, (documents, words) = topic_rows(model, N_SHOWN, N_SHOWN), corpus.counts.shape
    for row in rows:
        row["dependencies"] = int(n_dependencies[row["topic"]])
        for sign in ("positive", "negative"):
            row[f"{sign}_by_effect"] = by_effect[row["topic"]][sign]
    found = {"name": NAME, "corpus": corpus.name, "documents": documents, "words": words}
    found |= {"tokens": int(corpus.counts.sum()), **spent, "rows": rows}
    missing = missing_words(corpus.words)
    by_all = () if missing else SORTED_BY
    published = [row for by in by_all for row in compared(rankings(model, by), by)]
    return found | {"published": published, "missing_words": missing}


def rankings(model: SavedModel, by: str) -> list[Topic]:
    """Return all words and dependencies of each topic, the strongest first."""
    topics: Any = model.topics
    rows = strongest_dependencies(model, len(topics.edge_weight), by)
    assert rows is not None
    found = []
    for words, row in zip(topics.top_words(topics.n_words), rows, strict=True):
        signs = row.positive, row.negative
        pairs = (tuple((each.first, each.second) for each in of_sign) for of_sign in signs)
        found.append(Topic(tuple(model.vocabulary[w] for w in words), *pairs))
    return found


def missing_words(vocabulary: Iterable[str]) -> list[str]:
    """Return the words of the published table that a vocabulary does not have."""
    entries = (each for topic in PUBLISHED for kind in topic for each in kind)
    return sorted({word for each in entries for word in _unordered(each)} - set(vocabulary))


def matched(topics: Sequence[Topic]) -> list[int]:
    """Return the topic that each published one is compared with, no topic twice. They share as many
    words as possible among the first `WITHIN`; the first count more.
    """

    def shared(ours: Topic, theirs: Topic) -> float:
        return sum(len({*theirs.words} & {*ours.words[:within]}) / within for within in WITHIN)

    table = [[shared(ours, theirs) for ours in topics] for theirs in PUBLISHED]
    chosen: list[int] = linear_sum_assignment(np.array(table), maximize=True)[1].tolist()
    return chosen


def compared(topics: Sequence[Topic], by: str = SORTED_BY[0]) -> list[dict[str, Any]]:
    """Return a row for each published topic and kind of entry: their ranks in the matched topic.
    `topics` have all of their words and pairs, ranked `by`. Ranks count from 1, None if an entry is
    missing. Words are compared once, as their rank is the same by all.
    """
    kinds = Topic._fields if by == SORTED_BY[0] else ("positive", "negative")
    found = []
    for n, k in enumerate(matched(topics)):
        for kind in kinds:
            published = getattr(PUBLISHED[n], kind)
            ranking = map(_unordered, getattr(topics[k], kind))
            rank_of = {each: rank for rank, each in enumerate(ranking, start=1)}
            ranks = [rank_of.get(_unordered(each)) for each in published]
            places = zip(published, ranks, strict=True)
            row = {"published_topic": n, "topic": k, "by": by, "kind": kind, "of": len(published)}
            known = [rank for rank in ranks if rank is not None]
            row["found"] = {str(within): sum(rank <= within for rank in known) for within in WITHIN}
            row["places"] = [{"published": each, "place": rank} for each, rank in places]
            found.append(plain(row))
    return found


def _unordered(each: str | Sequence[str]) -> frozenset[str]:
    """Return the words of an entry: one word, or a pair in either order."""
    return frozenset([each] if isinstance(each, str) else each)


def _findings(result: Any) -> Findings:
    rows = grouped(result["published"], "by", "kind")
    for kind, what in CLAIMS.items() if rows else ():
        within = WITHIN[kind != "words"]
        few = [row for row in rows[SORTED_BY[0], kind] if row["found"][str(within)] < HALF]
        yield Finding(
            f"{kind}-found",
            f"of each topic, at least {HALF} of its {N_SHOWN} published {what} are among our first "
            f"{within}",
            [f"published topic {row['published_topic'] + 1}" for row in few],
            "Table 1: words and dependencies of three topics.",
        )


def _tables(result: Any) -> list[Table]:
    number_of = {row["topic"]: row["published_topic"] for row in result["published"]}
    topics = [_topic_table(row, number_of.get(row["topic"])) for row in result["rows"]]
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
    columns = (
        Column("published topic", lambda row: row["published_topic"] + 1),
        *(Column("our topic", "topic"), Column("ranked by", "by"), Column("kind", "kind")),
        *(Column("published", "of"), *(Column(str(n), f"found.{n}") for n in WITHIN)),
    )
    title = "Of what is published of a topic, among our first"
    return [Table(title, columns, result["published"], note, headings=4), *topics]


def _topic_table(row: Any, n: int | None) -> Table:
    """Return words and dependencies of a topic, with stars if the published topic has them."""
    published = () if n is None else PUBLISHED[n]
    known = {_unordered(each) for kind in published for each in kind}

    def shown(sign: str, *words: str) -> str:
        return sign.join(words) + ("*" if frozenset(words) in known else "")

    def pairs(kind: str, sign: str) -> list[str]:
        return [shown(sign, each["first"], each["second"]) for each in row[kind]]

    heads = ("", "top words", "positive, by Φ", "by effect", "negative, by Φ", "by effect ")
    columns = tuple(Column(head, itemgetter(n)) for n, head in enumerate(heads))
    ours = (
        [shown("", word) for word in row["words"]],
        *(pairs(kind, "+") for kind in ("positive", "positive_by_effect")),
        *(pairs(kind, "−") for kind in ("negative", "negative_by_effect")),
    )
    cells = enumerate(zip_longest(*ours, fillvalue=""), start=1)
    note = f"{row['dependencies']:,} dependencies, the strongest by Φ and by effect, Φ √(p p')."
    if n is not None:
        note += f" Table 1 has it as topic {n + 1}; * is there too."
    title = f"Topic {row['topic']}, {row['prevalence']:.1%} of tokens"
    return Table(title, columns, [(rank, *each) for rank, each in cells], note)


def _headline(result: Any) -> Headline:
    within = WITHIN[-1]
    what = f"published words, positive, negative dependencies among our first {within}"
    rows = [row for row in result["published"] if row["by"] == SORTED_BY[0]]
    if not rows:
        return Headline(what, "not compared: words of the table are missing", "30, 30, 30")
    found = grouped(rows, "kind").values()
    ours = ", ".join(str(sum(row["found"][str(within)] for row in each)) for each in found)
    return Headline(what, ours, ", ".join(str(sum(row["of"] for row in each)) for each in found))


def _draw(figure: Any, result: Any, model: SavedModel) -> None:
    dependency_figure(model, result["rows"])(figure)


EXPERIMENT = Experiment(
    NAME,
    "Table 1",
    "The top words and the strongest dependencies of three topics.",
    *(_run, _tables, _headline, _findings),
    (Figure("", "The strongest dependencies of each topic as a graph of words", _draw),),
    data=lambda result: data_note("Classic3", result["corpus"]) if result["missing_words"] else "",
)
