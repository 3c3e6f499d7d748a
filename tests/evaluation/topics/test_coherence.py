import math
import warnings

import numpy as np
import pytest
from gensim.corpora import Dictionary
from gensim.models import CoherenceModel
from hypothesis import given
from hypothesis import strategies as st

from corpora import Corpus
from evaluation import RunningText, coherence
from evaluation.topics.coherence import WINDOW_SIZES
from evaluation.topics.cooccurrence import count_windows
from models import LDATopics
from tests.corpora.tokens.blocks import block_of_runs
from tests.oracles.window_coherence import count, topic_coherence, windows_of

MEASURES = tuple(WINDOW_SIZES)
WORDS = tuple("abcdef")
DOCUMENTS = st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=30), min_size=1, max_size=8)
TOPICS = st.lists(st.permutations("abcdefxy").map(lambda words: words[:4]), min_size=1, max_size=4)


def text_of(documents, kind=RunningText):
    names = [str(d) for d in range(len(documents))]
    block = block_of_runs([[document] for document in documents], names, names)
    return kind.from_blocks([block], WORDS)


def corpus_of(documents):
    return text_of(documents, Corpus)


@given(DOCUMENTS, TOPICS, st.sampled_from(MEASURES), st.sampled_from([1.0, 0.01]))
def test_running_text_against_loops(documents, topics, measure, smoothing):
    found = coherence(topics, text_of(documents), measure, smoothing=smoothing)
    windows = windows_of(documents, WINDOW_SIZES[measure])
    known = [[word for word in topic if word in WORDS] for topic in topics]
    expected = [topic_coherence(windows, topic, measure, smoothing) for topic in known]
    np.testing.assert_allclose(found.per_topic, expected, atol=1e-12)
    assert found.n_windows == len(windows)
    assert found.window == ("document" if measure == "u_mass" else "sliding")
    assert found.window_size == WINDOW_SIZES[measure]


@given(DOCUMENTS, TOPICS, st.sampled_from(MEASURES))
def test_counts_against_loops(documents, topics, measure):
    found = coherence(topics, corpus_of(documents), measure)
    # A document without a word of the vocabulary is empty in the counts.
    windows = windows_of([[w for w in each if w in WORDS] for each in documents], None)
    known = [[word for word in topic if word in WORDS] for topic in topics]
    expected = [topic_coherence(windows, topic, measure) for topic in known]
    np.testing.assert_allclose(found.per_topic, expected, atol=1e-12)
    assert (found.window, found.window_size, found.n_windows) == ("document", None, len(windows))


@given(DOCUMENTS, st.integers(1, 12))
def test_windows_of_any_size_against_loops(documents, size):
    topics = np.array([[0, 1, 2], [2, 5, 3]])
    found = count_windows(text_of(documents), topics, size).total
    windows = windows_of(documents, size)
    for k, topic in enumerate(topics):
        for i, a in enumerate(topic):
            assert found.n_word[k, i] == count(windows, WORDS[a])
            for j, b in enumerate(topic):
                assert found.n_both[k, i, j] == count(windows, WORDS[a], WORDS[b])


@given(DOCUMENTS, TOPICS, st.sampled_from(["c_npmi", "c_v"]))
def test_bounds(documents, topics, measure):
    values = coherence(topics, text_of(documents), measure).per_topic
    values = values[np.isfinite(values)]
    assert np.all((values >= -1 - 1e-12) & (values <= 1 + 1e-12))


@given(DOCUMENTS, TOPICS, st.sampled_from(["c_uci", "c_npmi", "c_v"]), st.randoms())
def test_the_order_of_words_matters_to_u_mass_alone(documents, topics, measure, random):
    shuffled, text = [random.sample(topic, len(topic)) for topic in topics], text_of(documents)
    one, other = (coherence(each, text, measure).per_topic for each in (topics, shuffled))
    np.testing.assert_allclose(one, other, atol=1e-12)


def test_by_hand():
    # a is in 3 documents of 4, b in 2, both in 1.
    corpus = corpus_of([["a", "b"], ["a", "c"], ["a"], ["b"]])

    def value(words, measure):
        return float(coherence([list(words)], corpus, measure).per_topic[0])

    assert value("ab", "u_mass") == pytest.approx(math.log(2 / 3))
    assert value("ba", "u_mass") == pytest.approx(math.log(2 / 2))
    assert value("ab", "c_uci") == pytest.approx(math.log(2 * 4 / (3 * 2)))
    npmi = math.log(1 * 4 / (3 * 2)) / math.log(4)
    assert value("ab", "c_npmi") == pytest.approx(npmi)
    # Vectors (1, npmi) and (npmi, 1): both have the same angle to their sum, on the diagonal.
    assert value("ab", "c_v") == pytest.approx((1 + npmi) / math.sqrt(2 * (1 + npmi**2)))
    # 11 tokens: two windows of 10. a is in the first, b in both, f in the second.
    text = text_of([["a", "b", *["g"] * 8, "f"]])
    assert coherence([["a", "b"]], text, "c_npmi").per_topic == pytest.approx([0.0])
    assert coherence([["a", "f"]], text, "c_npmi").per_topic == [-1.0]
    assert coherence([["a", "f"]], text, "c_v").n_windows == 1
    text, topic = text_of([["a"], ["b"], ["c"], ["d"], ["e"]] * 2), [["a", "b"]]
    assert coherence(topic, text, "c_npmi").per_topic == [-1.0]
    assert coherence(topic, text, "u_mass").per_topic == pytest.approx([math.log(1 / 2)])
    assert coherence(topic, text, "c_uci").per_topic == pytest.approx([math.log(10 / 4)])
    assert coherence(topic, text, "c_v").per_topic == [0.0]  # a sum of vectors without length


def test_words_that_are_strangers_or_everywhere():
    # n words that never meet: vectors of 1 and n - 1 times -1, whose sum is 2 - n everywhere.
    documents = [[word] for word in WORDS]
    found = coherence([list(WORDS)], text_of(documents), "c_v").per_topic[0]
    assert found == pytest.approx((6 - 2) / 6)
    assert coherence([list(WORDS)], text_of(documents), "c_npmi").per_topic == [-1.0]
    text = text_of([["a", "b"], ["b", "a", "g"]])
    for measure, expected in (("c_npmi", 1.0), ("c_v", 1.0), ("u_mass", math.log(3 / 2))):
        assert coherence([["a", "b"]], text, measure).per_topic == pytest.approx([expected])


@pytest.mark.parametrize("measure", MEASURES)
def test_words_that_never_occur_are_left_out(measure):
    documents = [["a", "b"], ["a"], ["b", "c"]]
    topics = [["a", "b", "c", "e"], ["d", "a", "e", "f"], ["unheard", "b", "of", "a"]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for corpus in (text_of(documents), corpus_of(documents)):
            found = coherence(topics, corpus, measure)
            assert found.n_pairs.tolist() == [3, 0, 1]
            assert math.isnan(found.per_topic[1])
            assert (found.n_topics, found.mean) == (2, pytest.approx(np.nanmean(found.per_topic)))
            spread = abs(found.per_topic[0] - found.per_topic[2]) / 2
            assert found.standard_error == pytest.approx(spread)
            alone = coherence([["a", "b", "c"]], corpus, measure).per_topic[0]
            assert found.per_topic[0] == pytest.approx(alone)


@pytest.mark.parametrize("measure", MEASURES)
def test_an_empty_corpus_says_nothing(measure):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = coherence([["a", "b"], ["c", "d"]], text_of([[], []]), measure)
    assert math.isnan(found.mean)
    assert math.isnan(found.standard_error)
    assert (found.n_topics, found.n_windows) == (0, 0)


def gensim_of(documents, topics, measure):
    dictionary = Dictionary([*documents, list(WORDS)])
    bags = [dictionary.doc2bow(document) for document in documents]
    given = {"topics": topics, "texts": documents, "corpus": bags, "dictionary": dictionary}
    model = CoherenceModel(**given, coherence=measure, topn=len(topics[0]), processes=1)
    return [float(value) for value in model.get_coherence_per_topic()]


def without_repeats(seed):
    """Texts without a word twice, with two fillers after every word, so that windows part them."""
    rng, texts = np.random.default_rng(seed), []
    for d in range(40):
        chosen = rng.permutation(list(WORDS))[: rng.integers(2, 7)]
        texts.append([w for i, word in enumerate(chosen) for w in (word, f"g{d}-{i}", f"h{d}-{i}")])
    return texts


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("measure", ["c_uci", "c_npmi", "c_v"])
def test_gensim_agrees_where_words_meet_and_none_is_in_a_window_twice(measure, seed):
    documents, topics = without_repeats(seed), [list("abcd"), list("fedc")]
    found = coherence(topics, text_of(documents), measure, smoothing=1e-12 * 1000)
    np.testing.assert_allclose(found.per_topic, gensim_of(documents, topics, measure), atol=1e-6)


@given(DOCUMENTS, TOPICS)
def test_gensim_agrees_on_u_mass_with_its_own_smoothing(documents, topics):
    documents = [*documents, list(WORDS)]  # so that none of them has no document
    topics = [[word for word in topic if word in WORDS][:2] for topic in topics]
    smoothing = 1e-12 * len([document for document in documents if document])
    found = coherence(topics, text_of(documents), "u_mass", smoothing=smoothing)
    expected = gensim_of([d for d in documents if d], topics, "u_mass")
    np.testing.assert_allclose(found.per_topic, expected, rtol=1e-9, atol=1e-9)


def test_what_gensim_gets_wrong_is_still_so():
    # Should one of these fail, look over the list at the top of evaluation/topics/coherence.py.
    assert gensim_of([["a"], ["b"], *[["g"]] * 98], [["a", "b"]], "c_npmi")[0] > -0.7
    assert gensim_of([["a", "b"]] * 9, [["a", "b"]], "c_npmi")[0] < 0.1
    repeated = ["a", "a", *["g"] * 9, "b"]  # windows: aag…, ag…, g…b
    with_gensim = gensim_of([repeated, ["b", "a"]], [["a", "b"]], "c_npmi")[0]
    right = coherence([["a", "b"]], text_of([repeated, ["b", "a"]]), "c_npmi").mean
    assert right == pytest.approx(math.log(1 * 4 / (3 * 2)) / math.log(4))
    assert with_gensim != pytest.approx(right, abs=0.05)


def test_models_of_coherent_topics_score_higher():
    topic_word = np.array([[0.4, 0.3, 0.2, 0.1, 0, 0], [0, 0, 0.1, 0.2, 0.3, 0.4]])
    model, documents = LDATopics(topic_word, np.full(2, 0.1)), without_repeats(0)
    for corpus in (text_of(documents), corpus_of(documents)):
        by_model = coherence(model, corpus, "c_v", n_words=3)
        by_words = coherence([list("abc"), list("fed")], corpus, "c_v")
        assert by_model.per_topic.tolist() == by_words.per_topic.tolist()
    rng, themes = np.random.default_rng(0), [list("abc"), list("def")]
    drawn = [(rng.choice(themes[d % 2], 12), rng.choice(list("abcdef"), 3)) for d in range(60)]
    documents = [[str(word) for word in (*own, *any_)] for own, any_ in drawn]
    for measure in ("u_mass", "c_uci", "c_npmi"):  # c_v fails here: see its definition
        good = coherence(["abc", "def"], text_of(documents), measure)
        assert good.mean > coherence(["adb", "ecf"], text_of(documents), measure).mean, measure


def test_bad_input():
    for topics, arguments, complaint in (
        ([["a", "b"]], {"measure": "c_w2v"}, "'c_w2v' is no coherence measure: use one of u_mass"),
        ([["a", "b"]], {"smoothing": 0}, "smoothing must be positive"),
        ([["a", "b"]], {"smoothing": math.nan}, "smoothing must be positive"),
        ([["a", "b"]], {"n_words": 1}, "n_words must be at least 2"),
        ([["a", "b"], ["a", "b", "c"]], {}, r"as many words each, found \[2, 3\]"),
        ([], {}, "as many words each"),
        ([["a"]], {}, "two words at least"),
        ([["a", "b"], ["c", "c"]], {}, "topic 1 has a word twice: c c"),
        (LDATopics(np.full((1, 5), 0.2), np.ones(1)), {}, "over 5 words, the corpus over 6"),
    ):
        with pytest.raises(ValueError, match=complaint):
            coherence(topics, text_of([["a", "b"]]), **arguments)
