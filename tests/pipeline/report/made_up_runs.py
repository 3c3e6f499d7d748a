"""Finished runs of made-up documents, drawn from known topics, without articles or training."""

from dataclasses import replace

import numpy as np
from scipy import sparse

from corpora import Corpus
from models import FixedLengthPoissonMRF, GammaPoissonTopics, LDATopics, LPMRFTopics
from models.saved import SavedModel, save_model
from pipeline.runs.loaded_run import LoadedRun
from pipeline.runs.run_directory import RunDirectory
from pipeline.settings import TrainSettings

WORDS = tuple(f"word{w:02d}" for w in range(40))
ALPHA = 0.3
N_TOPICS = 3


def true_topics():
    rng = np.random.default_rng(1)
    return LDATopics(rng.dirichlet(np.full(len(WORDS), 0.2), N_TOPICS), np.full(N_TOPICS, ALPHA))


def blurred(topics, share):
    return LDATopics((1 - share) * topics.topic_word + share / topics.n_words, topics.alpha)


def as_gamma_poisson(topics):
    """The same topics in the other family, for documents of some 40 tokens."""
    n = topics.n_topics
    return GammaPoissonTopics(topics.topic_word, topics.alpha, np.full(n, 1 - 1 / (1 + 40.0)))


def as_poisson_mrf(topics):
    """The same topics as Poisson MRFs without dependencies, whose partition functions are 1."""
    none = sparse.csr_array((topics.n_words, topics.n_words))
    fields = [FixedLengthPoissonMRF(np.log(row), none) for row in topics.topic_word]
    return LPMRFTopics.of_fields(fields, np.zeros((topics.n_topics, 61)), topics.alpha)


def made_up_corpus(n_articles=120, n_sections=1, seed=0):
    """Documents of 30 tokens, `n_sections` of each article, which have their topics in common."""
    rng, topics = np.random.default_rng(seed), true_topics()
    counts, ids = [], []
    for article in range(n_articles):
        theta = rng.dirichlet(topics.alpha)
        for section in range(n_sections):
            counts.append(rng.multinomial(30, theta @ topics.topic_word))
            ids.append(f"en:{article}" + (f"#{section}" if n_sections > 1 else ""))
    n_unknown = np.full(len(ids), 10)
    return Corpus(np.array(counts), WORDS, tuple(ids), n_unknown=n_unknown)


def made_up_run(directory, name, topics, corpus=None, words=WORDS, **settings):
    """A run `name` in `directory`/runs, with this model and this corpus; test share 0.3."""
    run = RunDirectory(directory / "runs" / name)
    asked = TrainSettings(
        articles="articles",
        run=name,
        model="gibbs",
        topics=topics.n_topics,
        seed=0,
        documents="article",
        spacy_model="blank:en",
        test=0.3,
    )
    run.create(replace(asked, **settings), {})
    corpus = made_up_corpus() if corpus is None else corpus
    corpus.save(run.corpus_path)
    model = SavedModel(topics, words, {"settings": {}, "seed": 0, "versions": {}})
    save_model(run.model_path, model)
    return LoadedRun(run)


def loaded(run, **known):
    result = LoadedRun(run)
    vars(result).update(known)
    return result
