import gzip
import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse

from corpora import CorpusFormatError
from corpora.formats import read_mallet_state
from models import LDATopics, ModelFormatError
from models.lda.foreign import (
    gensim_model,
    ldac_model,
    mallet_state_model,
    mallet_weights_model,
    sklearn_model,
    tomotopy_model,
)

STATE = """#doc source pos typeindex type topic
#alpha : 0.5 1.25\x20
#beta : 0.01
0 NA 0 0 cat 1
0 NA 1 2 dog 0
0 NA 2 0 cat 1
1 my file.txt 0 5 bird 0
1 my file.txt 1 2 dog 0
"""
WORDS = ("cat", "dog", "bird")
COUNTS = ((0, 2, 1), (2, 0, 0))
WEIGHTS = "".join(f"{k}\t{WORDS[w]}\t{COUNTS[k][w] + 0.01}\n" for k in range(2) for w in range(3))
KEYS = "0\t0.5\tdog bird \n1\t1.25\tcat \n"
BETA = """ -0.6931471806 -1.3862943611 -1.3862943611
 -100.0000000000 -0.0000000000 -100.0000000000
"""
OTHER = "num_topics 2\nnum_terms 3\nalpha 0.2500000000\n"


def small_corpus():
    return np.random.default_rng(0).poisson(0.7, size=(40, 15))


def rows_of(counts, beta):
    return [[(n + beta) / (sum(row) + beta * len(row)) for n in row] for row in counts]


def write(path, text):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize("compress", [gzip.compress, bytes])
def test_a_state_of_mallet(tmp_path, compress):
    path = write(tmp_path / "state.gz", compress(STATE.encode()))
    found = mallet_state_model(path)
    assert found.vocabulary == WORDS
    assert_allclose(found.topics.topic_word, rows_of(COUNTS, 0.01), rtol=1e-14)
    assert found.topics.alpha.tolist() == [0.5, 1.25]
    again = LDATopics.from_mallet(read_mallet_state(path))
    assert (again.topic_word == found.topics.topic_word).all()


def test_a_topic_without_tokens_has_even_words(tmp_path):
    state = STATE.replace("0.5 1.25", "0.5 1.25 0.75")
    found = mallet_state_model(write(tmp_path / "state", state))
    assert_allclose(found.topics.topic_word[2], [1 / 3] * 3)


def test_a_damaged_state(tmp_path):
    for text, complaint in (
        (STATE.replace("#alpha : 0.5 1.25 \n", ""), "state: the state does not say alpha and beta"),
        (STATE.replace("#beta : 0.01\n", ""), "state: the state does not say alpha and beta"),
        (STATE[: STATE.index("0 NA")], "no tokens"),
        (STATE.replace("0.5 1.25", "0.5"), "line 4: topic must be a whole number from 0 to 0"),
        (STATE.replace("0.5 1.25", "0.5 0"), "line 2: expected positive numbers"),
        (STATE.replace("0.5 1.25", "0.5 -1"), "line 2: expected positive numbers"),
        (STATE.replace("0.01", "nan"), "line 3: expected positive numbers"),
        (STATE.replace("dog 0\n0 NA", "dog\n0 NA"), "line 5: "),
        (STATE.replace("2 dog 0\n0 NA", "0 dog 0\n0 NA"), "line 5: type 0 is 'dog' here"),
    ):
        with pytest.raises((ModelFormatError, CorpusFormatError), match=complaint) as caught:
            mallet_state_model(write(tmp_path / "state", text))
        assert "state" in str(caught.value)


@pytest.mark.parametrize("alpha", [KEYS, STATE, gzip.compress(STATE.encode())])
def test_weights_of_mallet(tmp_path, alpha):
    path = write(tmp_path / "weights.txt", WEIGHTS)
    found = mallet_weights_model(path, write(tmp_path / "alpha", alpha))
    assert found.vocabulary == WORDS
    assert_allclose(found.topics.topic_word, rows_of(COUNTS, 0.01), rtol=1e-14)
    assert found.topics.alpha.tolist() == [0.5, 1.25]


def test_weights_of_mallet_with_words_and_numbers_of_its_own(tmp_path):
    lines = WEIGHTS.splitlines()
    text = "\n".join([*lines[:3], "0\tunseen\t0.01", *lines[3:], "1\tunseen\t0.01"])
    path = write(tmp_path / "weights.txt", text)
    found = mallet_weights_model(path, write(tmp_path / "state", STATE))
    assert found.vocabulary == (*WORDS, "unseen")
    expected = rows_of([(*row, 0) for row in COUNTS], 0.01)
    assert_allclose(found.topics.topic_word, expected, rtol=1e-14)
    path = write(tmp_path / "weights.txt", "0\ta b\t1.0E-4\n0\tc\t3.0E-4\n")
    found = mallet_weights_model(path, write(tmp_path / "keys", "0\t5.0E-2\tc \n"))
    assert found.vocabulary == ("a b", "c")
    assert_allclose(found.topics.topic_word, [[0.25, 0.75]])
    assert found.topics.alpha.tolist() == [0.05]


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_any_weights(tmp_path_factory, data):
    n_topics, n_words = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 5))
    row = st.lists(st.integers(0, 10**6), min_size=n_words, max_size=n_words)
    counts = data.draw(st.lists(row, min_size=n_topics, max_size=n_topics))
    beta, directory = data.draw(st.floats(1e-3, 10)), tmp_path_factory.mktemp("weights")
    entries = ((k, w, n) for k, row in enumerate(counts) for w, n in enumerate(row))
    lines = "".join(f"{k}\tw{w}\t{n + beta!r}\n" for k, w, n in entries)
    keys = write(directory / "keys", "".join(f"{k}\t0.5\tw0 \n" for k in range(n_topics)))
    found = mallet_weights_model(write(directory / "weights", lines), keys)
    assert_allclose(found.topics.topic_word, rows_of(tuple(map(tuple, counts)), beta), rtol=1e-12)


def test_damaged_weights(tmp_path):
    for text, complaint in (
        ("", "weights: no weights: the file is empty"),
        (WEIGHTS.replace("0\tbird", "bird"), "line 3: expected TOPIC<tab>WORD<tab>WEIGHT"),
        (WEIGHTS.replace("0\tbird", "0\tcat"), "line 3: topic 0 has 'cat' twice"),
        (WEIGHTS.replace("1\tdog", "1\tfish"), "line 5: expected word 1 of topic 0, 'dog', found"),
        (WEIGHTS.replace("1\tdog", "2\tdog"), "line 5: expected topic 1, of 3 words, found '2'"),
        (WEIGHTS[WEIGHTS.index("1\t") :], "line 1: expected topic 0, of 0 words, found '1'"),
        (WEIGHTS.replace("2.01", "-2.01"), r"line \d: the weight must be a number, not negative"),
        (WEIGHTS.replace("2.01", "many"), r"line \d: the weight must be a number"),
        (WEIGHTS.replace("2.01", "Infinity"), r"line \d: the weight must be a number"),
        (WEIGHTS[: WEIGHTS.rindex("1\t")], "line 5: topic 1 ends after 2 of 3 words"),
        ("0\ta\t0.0\n0\tb\t0.0\n", "line 2: no word of topic 0 has a weight above 0"),
    ):
        keys = write(tmp_path / "keys", KEYS)
        with pytest.raises(CorpusFormatError, match=complaint):
            mallet_weights_model(write(tmp_path / "weights", text), keys)


def test_weights_and_an_alpha_of_another_model(tmp_path):
    for alpha, complaint in (
        (KEYS[: KEYS.index("1\t")], "1 topics, .*weights has 2: are they of one model"),
        (KEYS + "2\t0.1\tfish\n", "3 topics, .*weights has 2"),
        (KEYS.replace("0.5", "0"), "line 1: alpha must be a positive number"),
        (KEYS.replace("1.25", "-1"), "line 2: alpha must be a positive number"),
        (STATE.replace("0.5 1.25", "0.5 1.25 3"), "3 topics, .*weights has 2"),
        (STATE.replace("bird 0", "bird 1"), "topic 0 has 2 tokens in .*alpha, but 3 in .*weights"),
        (STATE.replace("#beta : 0.01\n", ""), "does not say alpha and beta"),
    ):
        path = write(tmp_path / "weights", WEIGHTS)
        with pytest.raises((ModelFormatError, CorpusFormatError), match=complaint):
            mallet_weights_model(path, write(tmp_path / "alpha", alpha))


@pytest.mark.parametrize("named", ["", "final.beta", "final.other"])
def test_a_model_of_ldac(tmp_path, named):
    write(tmp_path / "final.beta", BETA)
    write(tmp_path / "final.other", OTHER)
    found = ldac_model(tmp_path / named)
    assert found.vocabulary == ()
    assert_allclose(found.topics.topic_word[0], [0.5, 0.25, 0.25], rtol=1e-9)
    assert_allclose(found.topics.topic_word[1], [math.exp(-100), 1, math.exp(-100)], rtol=1e-9)
    assert found.topics.alpha.tolist() == [0.25, 0.25]


def test_a_model_of_ldac_with_an_alpha_for_each_topic_and_half_a_model(tmp_path):
    write(tmp_path / "x.beta", BETA.replace("-100.0000000000", "-inf"))
    write(tmp_path / "x.other", OTHER.replace("alpha", "alpha  0.5 "))
    found = ldac_model(tmp_path / "x.beta")
    assert found.topics.alpha.tolist() == [0.5, 0.25]
    assert found.topics.topic_word[1].tolist() == [0, 1, 0]
    write(tmp_path / "final.beta", BETA)
    with pytest.raises(FileNotFoundError, match=r"final\.other"):
        ldac_model(tmp_path)


def test_a_damaged_model_of_ldac(tmp_path):
    for beta, other, complaint in (
        ("", OTHER, "final.beta: no topics"),
        (BETA.splitlines()[0], OTHER, "final.other, line 1: num_topics is 2, but .*beta has 1 to"),
        (BETA, OTHER.replace("terms 3", "terms 4"), "other, line 2: num_terms is 4, but .* 3 word"),
        (BETA, OTHER.replace("alpha 0.25", "alpha -0.25"), "line 3: alpha must be a positive"),
        (BETA, OTHER.replace("alpha 0.25", "alpha nan "), "line 3: alpha must be a positive"),
        (BETA, OTHER.replace("alpha 0.25", "alpha 1 2 3"), "line 3: alpha must be a .* or 2 of"),
        (BETA, OTHER.replace("alpha 0.2500000000\n", ""), "other: no line with alpha"),
        (BETA, OTHER.replace("topics 2", "topics two"), "line 1: expected NAME NUMBER"),
        (BETA, OTHER + "alpha 3\n", "line 4: 'alpha' is in line 3 already"),
        (BETA.replace("-0.6931", "-1.6931"), OTHER, r"beta, line 1: .* they sum to 0\.6839"),
        (BETA.replace("-0.6931", "0.6931"), OTHER, "line 1: .* but they are not"),
        (BETA.replace("-0.69314", "nan"), OTHER, "line 1: "),
        (BETA.replace("-0.69314", "abc"), OTHER, "line 1: expected logarithms"),
        (BETA + " -0.5 -0.5\n", OTHER, "line 3: expected 3 words, found 2"),
    ):
        write(tmp_path / "final.beta", beta)
        write(tmp_path / "final.other", other)
        with pytest.raises(CorpusFormatError, match=complaint):
            ldac_model(tmp_path)


def gensim_lda(**settings_):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from gensim.matutils import Sparse2Corpus
        from gensim.models import LdaModel

        corpus = Sparse2Corpus(sparse.csc_array(small_corpus()), documents_columns=False)
        return LdaModel(corpus, num_topics=3, random_state=0, **settings_)


def test_words_of_gensim():
    theirs = gensim_lda(id2word={i: f"w{14 - i}" for i in range(15)}, alpha="asymmetric")
    found = gensim_model(theirs)
    assert found.vocabulary == tuple(f"w{14 - i}" for i in range(15))
    assert_allclose(found.topics.topic_word, theirs.get_topics(), rtol=1e-5)
    assert_allclose(found.topics.alpha, theirs.alpha, rtol=1e-6)
    assert gensim_model(gensim_lda()).vocabulary == ()


def test_words_of_sklearn():
    from sklearn.decomposition import LatentDirichletAllocation
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.pipeline import make_pipeline

    bare = LatentDirichletAllocation(3, doc_topic_prior=0.2, random_state=0, max_iter=2)
    with pytest.raises(ValueError, match="has not been fitted"):
        sklearn_model(bare)
    found = sklearn_model(bare.fit(small_corpus()))
    assert found.vocabulary == ()
    expected = bare.components_ / bare.components_.sum(axis=1, keepdims=True)
    assert_allclose(found.topics.topic_word, expected, rtol=1e-12)
    assert_allclose(found.topics.alpha, 0.2)

    bare.feature_names_in_ = np.array([f"w{i}" for i in range(15)])
    assert sklearn_model(bare).vocabulary == tuple(f"w{i}" for i in range(15))

    pipeline = make_pipeline(CountVectorizer(), LatentDirichletAllocation(2, max_iter=2))
    pipeline.fit(["dog cat dog", "bird cat"])
    assert sklearn_model(pipeline).vocabulary == ("bird", "cat", "dog")
    assert sklearn_model(pipeline).topics.n_words == 3
    with pytest.raises(TypeError, match="found a CountVectorizer"):
        sklearn_model(pipeline[:1])
    with pytest.raises(TypeError, match="found a dict"):
        sklearn_model({})


def tomotopy_lda():
    tomotopy = pytest.importorskip("tomotopy")
    model = tomotopy.LDAModel(k=3, alpha=0.2, eta=0.05, seed=1, min_cf=3, rm_top=1)
    rng = np.random.default_rng(0)
    for _ in range(40):
        model.add_doc([f"w{i}" for i in rng.integers(0, 60, 30) ** 2 // 60])
    return model


def test_words_of_tomotopy():
    theirs = tomotopy_lda()
    with pytest.raises(ValueError, match="train it first"):
        tomotopy_model(theirs)
    theirs.optim_interval = 2
    theirs.train(20, workers=1)
    found = tomotopy_model(theirs)
    # The control: here the vocabulary that is used is not the whole one, and neither is sorted.
    assert found.vocabulary == tuple(theirs.used_vocabs) != tuple(theirs.vocabs)
    assert list(found.vocabulary) != sorted(found.vocabulary)
    # By its own counts: how often each word of the documents is in each topic.
    n_kw = {}
    for doc in theirs.docs:
        for word, topic in zip(doc.words, doc.topics, strict=True):
            key = topic, theirs.vocabs[word]
            n_kw[key] = n_kw.get(key, 0) + 1
    counts = tuple(tuple(n_kw.get((k, word), 0) for word in found.vocabulary) for k in range(3))
    assert_allclose(found.topics.topic_word, rows_of(counts, theirs.eta), rtol=1e-4)
    assert_allclose(found.topics.alpha, theirs.alpha)
    assert len(set(found.topics.alpha)) == 3  # learned


def test_other_models_of_tomotopy_are_no_lda():
    tomotopy = pytest.importorskip("tomotopy")
    for kind in ("HDPModel", "DMRModel", "CTModel", "SLDAModel"):
        with pytest.raises(TypeError, match=f"expected a tomotopy LDAModel, found a {kind}"):
            LDATopics.from_tomotopy(getattr(tomotopy, kind)())
