"""Runs with texts, tests of them, and answers of readers who find every intruder or guess."""

import json
from pathlib import Path

import numpy as np

from corpora import Article, ArticleStore, Corpus
from models import LDATopics
from pipeline.reading.answers_file import write_answers
from pipeline.reading.key_file import read_key
from tests.pipeline.report.made_up_runs import made_up_run

WORDS = tuple(f"word{w:03d}" for w in range(80))
N_ARTICLES = 60


def made_up_topics(n_topics, seed):
    rng = np.random.default_rng(seed)
    return LDATopics(rng.dirichlet(np.full(len(WORDS), 0.1), n_topics), np.full(n_topics, 0.5))


def make_runs(directory, **topics):
    """A store, and for each name a run with so many topics that has learned from it."""
    directory.mkdir(exist_ok=True)
    rng = np.random.default_rng(0)
    counts = rng.multinomial(60, rng.dirichlet(np.full(len(WORDS), 0.3), N_ARTICLES))
    ArticleStore(directory / "articles").append(
        Article(
            page_id=d + 1,
            revision_id=7,
            title=f"Title {d + 1}",
            url=f"https://en.wikipedia.org/wiki/Title_{d + 1}",
            timestamp="",
            language="en",
            license="CC BY-SA 4.0",
            text=f"Text of {d + 1}.\n== Heading ==\n" + "It goes on and on. " * 60,
        )
        for d in range(N_ARTICLES)
    )
    corpus = Corpus(counts, WORDS, tuple(f"en:{d + 1}" for d in range(N_ARTICLES)))
    for seed, (name, n_topics) in enumerate(topics.items()):
        made_up_run(directory, name, made_up_topics(n_topics, seed), corpus, WORDS)


def answer_all(key, path, reader, *, right=True, sheet=0):
    """Write the answers of a reader to all questions of a sheet."""
    test = read_key(Path(key))
    options = {}
    for i in (i for group in test.sheets[sheet] for i in group):
        intruder = test.items[i].intruder
        options[i] = 0 if intruder is None else intruder
        if not right:
            options[i] = (options[i] + 1) % len(test.items[i].question.options)
    write_answers(Path(path), test, reader, options)


def changed(path, **entries):
    """Change entries of a JSON file."""
    content = json.loads(Path(path).read_text("utf-8"))
    Path(path).write_text(json.dumps(content | entries), "utf-8")
