"""A run in memory of made-up counts, whose model is of any kind."""

from pathlib import Path

import numpy as np

from corpora import Corpus
from models import SavedModel
from pipeline.runs.loaded_run import LoadedRun
from pipeline.runs.run_directory import RunDirectory
from pipeline.settings import TrainSettings
from tests.small_models import documents, model_of


def made_up_run(kind, n_docs=40, words=("ant", "bee", "cat", "doe", "eel", "fox"), **texts):
    """A run whose first and last documents have no words; `texts` are ids and titles."""
    counts = documents(n_docs, len(words), mean=2.0)
    ids = texts.get("ids", tuple(f"en:{d}" for d in range(n_docs)))
    corpus = Corpus(
        counts, words, ids, texts.get("titles", tuple(f"No {d}" for d in range(n_docs)))
    )
    topics = model_of(kind, n_words=len(words))
    share = np.array([0.2, 0.5, 0.3])
    return run_of(SavedModel(topics, words, prevalence=share), corpus)


def run_of(model, corpus, **settings):
    """A run of this model and corpus; no file of it exists."""
    run = LoadedRun(RunDirectory(Path("made-up")))
    found = TrainSettings(validation=0.2, test=0.2, seed=3, **{"eta": "0.1", **settings})
    vars(run).update(model=model, corpus=corpus, settings=found)
    return run
