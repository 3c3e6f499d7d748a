"""One model as many programs keep it, documents to score, and what `evaluate` says of them."""

import gzip
import pickle
import warnings

import joblib
import numpy as np
from scipy import sparse

from corpora import Corpus, read_corpus, write_corpus
from models import LDATopics, SavedModel, save_model
from tests.pipeline.support import call

ONE_MODEL = (
    *("model.npz", "plain.joblib", "plain.pkl", "small.z", "small.joblib.gz", "gensim.model"),
    *("final.beta", "lda-c", "weights.txt,keys.txt", "state.gz"),
)
"""Files of one and the same model: it is what the state counts."""
ALPHA, BETA = 0.25, 0.5
N_DOCUMENTS, N_TOKENS = 60, 40


def failed(code, *argv, cwd):
    return call("evaluate", *argv, "--threads", 1, cwd=cwd).failed(code)


def make_zoo(directory):
    """Counts of sixty made-up documents, and one model of them as many programs keep it."""
    rng = np.random.default_rng(0)
    words = tuple(f"word{w:02d}" for w in rng.permutation(30))
    topics = rng.dirichlet(np.full(30, 0.6), 3)
    doc_topic = rng.dirichlet(np.full(3, ALPHA), N_DOCUMENTS)
    counts = np.array([rng.multinomial(N_TOKENS, theta @ topics) for theta in doc_topic])
    corpus = Corpus(counts, words, tuple(f"doc {d}" for d in range(N_DOCUMENTS)))
    write_corpus(corpus, directory / "docs.jsonl")
    write_corpus(corpus, directory / "docs.mtx")
    (directory / "words.txt").write_text("".join(f"{word}\n" for word in words))
    n_kw = rng.multinomial(400, topics[0], size=3) + 1  # a state tells of words with tokens only
    write_state(directory / "state.gz", n_kw, words)
    model = LDATopics.from_weights(n_kw + BETA, ALPHA)
    save_model(directory / "model.npz", SavedModel(model, words))
    write_sklearn(directory, n_kw + BETA)
    write_gensim(directory / "gensim.model", n_kw + BETA, words)
    (directory / "lda-c").mkdir()
    for folder in (directory, directory / "lda-c"):
        rows = (" " + " ".join(f"{x:5.10f}" for x in row) for row in np.log(model.topic_word))
        (folder / "final.beta").write_text("".join(f"{row}\n" for row in rows))
        (folder / "final.other").write_text(f"num_topics 3\nnum_terms 30\nalpha {ALPHA:5.10f}\n")
    lines = (
        f"{k}\t{word}\t{n + BETA}\n"
        for k, row in enumerate(n_kw)
        for word, n in zip(words, row, strict=True)
    )
    (directory / "weights.txt").write_text("".join(lines))
    (directory / "keys.txt").write_text("".join(f"{k}\t{ALPHA}\tword01 \n" for k in range(3)))
    other = LDATopics(topics, np.full(3, ALPHA))  # what the documents are drawn from
    save_model(directory / "truth.npz", SavedModel(other, words))


def write_state(path, n_kw, words):
    tokens = [
        (w, k) for k, row in enumerate(n_kw.tolist()) for w, n in enumerate(row) for _ in range(n)
    ]
    head = f"#doc source pos typeindex type topic\n#alpha : {f'{ALPHA} ' * 3}\n#beta : {BETA}\n"
    lines = (f"0 NA {i} {w} {words[w]} {k}\n" for i, (w, k) in enumerate(tokens))
    path.write_bytes(gzip.compress((head + "".join(lines)).encode()))


def write_sklearn(directory, weights):
    from sklearn.decomposition import LatentDirichletAllocation

    lda = LatentDirichletAllocation(3, doc_topic_prior=ALPHA, max_iter=1)
    lda.fit(np.ones((2, 30), dtype=int))
    lda.components_ = weights
    joblib.dump(lda, directory / "plain.joblib")
    joblib.dump(lda, directory / "small.z", compress=3)
    joblib.dump(lda, directory / "small.joblib.gz")
    (directory / "plain.pkl").write_bytes(pickle.dumps(lda, protocol=2))


def write_gensim(path, weights, words):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from gensim.models import LdaModel

        lda = LdaModel(
            num_topics=3, id2word=dict(enumerate(words)), alpha=[ALPHA] * 3, dtype=np.float64
        )
        lda.state.sstats = weights - lda.eta
        lda.save(str(path))


def load_documents(zoo):
    return read_corpus(zoo / "docs.jsonl")


def counts_of(corpus, words, n_columns):
    """Counts of `words` in the first columns, column by column."""
    counts = np.zeros((corpus.n_docs, n_columns), dtype=np.int64)
    for j, word in enumerate(words):
        if word in corpus.vocabulary:
            counts[:, j] = corpus.counts.toarray()[:, corpus.vocabulary.index(word)]
    return sparse.csr_array(counts)
