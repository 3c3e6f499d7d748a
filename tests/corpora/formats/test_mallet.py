from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora import formats
from corpora.errors import CorpusFormatError
from tests.corpora.formats.made_up import bags, only_file, refused, text_words

positive = st.floats(1e-300, 1e300)
sources = st.text(
    st.characters(exclude_categories=("Cs",), exclude_characters="\t\r\n"), max_size=8
)
STATE = """#doc source pos typeindex type topic
#alpha : 0.5 0.25\x20
#beta : 0.01
0 file:/my texts/a.txt 0 3 cat 1
0 file:/my texts/a.txt 1 0 dog 0
2 NA 0 3 cat 1
"""
keys = st.lists(st.tuples(positive, st.lists(text_words, max_size=4)), max_size=5).map(
    lambda rows: formats.TopicKeys(
        np.array([alpha for alpha, _ in rows]), tuple(tuple(words) for _, words in rows)
    )
)
DENSE, PAIRS = "0\ta\t0.25\t0.75", "#doc name topic proportion ..."


@st.composite
def states(draw):
    vocabulary = draw(st.lists(text_words, max_size=5, unique=True))
    n_topics, word_of = draw(st.integers(1, 4)), [*range(len(vocabulary))]
    if vocabulary:
        word_of += draw(st.lists(st.integers(0, len(vocabulary) - 1), max_size=8))
    word_of = draw(st.permutations(word_of))
    n_tokens = len(word_of)
    numbers = st.lists(st.integers(0, 5), min_size=n_tokens, max_size=n_tokens)
    doc_of = sorted(draw(numbers))
    n_docs = doc_of[-1] + 1 if doc_of else 0
    names = draw(st.lists(sources, min_size=n_docs, max_size=n_docs))
    gaps = draw(st.lists(st.integers(1, 3), min_size=len(vocabulary), max_size=len(vocabulary)))
    alpha = draw(st.none() | st.lists(positive, min_size=n_topics, max_size=n_topics))
    topic_of = [draw(st.integers(0, n_topics - 1)) for _ in range(n_tokens)]
    return formats.MalletState(
        np.array(doc_of, dtype=np.int32),
        np.array(draw(numbers), dtype=np.int32),
        np.array(word_of, dtype=np.int32),
        np.array(topic_of, dtype=np.int32),
        tuple(vocabulary),
        np.cumsum(np.array(gaps, dtype=np.int32)).astype(np.int32),
        tuple(name if d in doc_of else "NA" for d, name in enumerate(names)),
        n_topics if alpha else max(topic_of, default=-1) + 1,
        np.array(alpha) if alpha else None,
        draw(st.none() | positive),
    )


@pytest.mark.parametrize("suffix", [".gz", ""])
@given(state=states())
def test_states(suffix, state):
    with TemporaryDirectory() as directory:
        path = Path(directory, f"state{suffix}")
        formats.write_mallet_state(state, path)
        found = formats.read_mallet_state(path)
        assert only_file(path.parent) == path.name
    for name in ("doc_of", "position_of", "word_of", "topic_of", "type_indices"):
        assert getattr(found, name).tolist() == getattr(state, name).tolist()
        assert getattr(found, name).dtype == np.int32
    for name in ("vocabulary", "sources", "n_topics", "beta"):
        assert getattr(found, name) == getattr(state, name)
    assert (found.alpha is None) == (state.alpha is None)
    if state.alpha is not None and found.alpha is not None:
        assert found.alpha.tolist() == state.alpha.tolist()


@given(state=states())
def test_counts_of_a_state_against_loops(state):
    tokens = list(zip(state.doc_of, state.word_of, state.topic_of, strict=True))
    n_dk = Counter((d, k) for d, _, k in tokens)
    n_kw = Counter((k, w) for _, w, k in tokens)
    shape = (len(state.sources), state.n_topics, len(state.vocabulary))
    assert (state.n_dk.shape, state.n_kw.shape) == (shape[:2], shape[1:])
    assert all(state.n_dk[cell] == n_dk[cell] for cell in np.ndindex(shape[:2]))
    assert all(state.n_kw[cell] == n_kw[cell] for cell in np.ndindex(shape[1:]))
    corpus = state.corpus()
    words = [Counter(state.vocabulary[w] for e, w, _ in tokens if e == d) for d in range(shape[0])]
    assert bags(corpus) == [dict(bag) for bag in words]
    assert tuple(corpus.titles) == state.sources or not state.sources


def test_a_state_as_mallet_writes_it(tmp_path):
    path = tmp_path / "state"
    path.write_text(STATE)
    state = formats.read_mallet_state(path)
    assert state.sources == ("file:/my texts/a.txt", "NA", "NA")
    assert state.vocabulary == ("dog", "cat")
    assert state.type_indices.tolist() == [0, 3]
    assert state.alpha is not None
    assert (state.alpha.tolist(), state.beta) == ([0.5, 0.25], 0.01)
    assert state.n_kw.tolist() == [[1, 0], [0, 2]]
    assert state.n_dk.tolist() == [[1, 1], [0, 0], [0, 1]]
    formats.write_mallet_state(state, tmp_path / "again")
    assert (tmp_path / "again").read_text() == STATE.replace(" \n", "\n")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1 NA 0 3 cat", "expected DOC SOURCE POS TYPEINDEX TYPE TOPIC"),
        ("1 NA 0 3 cat 2", "topic must be a whole number from 0 to 1, found '2'"),
        ("1 NA 0 3 cat -1", "found '-1'"),
        ("1 NA 0 3 dog 1", "type 3 is 'dog' here"),
        ("1 NA 0 4 dog 1", "type 4 is 'dog' here"),
        ("1 NA x 3 cat 1", "pos must be"),
        (f"{10**18} NA 0 3 cat 1", "doc must be"),
        (f"{10**9} NA 0 3 cat 1", "not plausible"),
        ("0 other 2 3 cat 1", "the source of document 0"),
        ("#gamma : 3", "expected '#doc source"),
        ("#alpha : 0.5 -1", "expected positive numbers"),
        ("#alpha :", "expected positive numbers"),
        ("#beta : nan", "expected positive numbers"),
        ("1 N\udcff 0 3 cat 1", "not valid UTF-8"),
    ],
)
def test_a_bad_state_names_the_line(line, message, tmp_path):
    path, good = tmp_path / "state", STATE.rsplit("\n", 2)[0]
    path.write_bytes(f"{good}\n{line}\n".encode("utf-8", "surrogateescape"))
    refused(lambda: formats.read_mallet_state(path), f"{path}, line 6: ", message)
    path.write_text(STATE + "1 NA 0 3 cat 1\n")
    with pytest.raises(CorpusFormatError, match="line 7: document 1 comes after 2"):
        formats.read_mallet_state(path)


@given(keys=keys)
def test_topic_keys(keys):
    with TemporaryDirectory() as directory:
        path = Path(directory, "keys.txt")
        formats.write_topic_keys(keys, path)
        found = formats.read_topic_keys(path)
    assert found.alpha.tolist() == keys.alpha.tolist()
    assert found.words == keys.words


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1 0.5 a b", "expected TOPIC<tab>ALPHA<tab>WORDS"),
        ("2\t0.5\ta b", "topic must be a whole number from 1 to 1, found '2'"),
        ("1\t0\ta b", "alpha must be a positive number, found '0'"),
        ("1\tnan\ta b", "found 'nan'"),
        ("1\tx\ta b", "found 'x'"),
        ("", "expected TOPIC"),
    ],
)
def test_bad_topic_keys_name_the_line(line, message, tmp_path):
    path = tmp_path / "keys.txt"
    path.write_text(f"0\t0.5\tcat dog \n{line}\n")
    refused(lambda: formats.read_topic_keys(path), f"{path}, line 2: ", message)


@st.composite
def proportions(draw):
    shape = (draw(st.integers(1, 4)), draw(st.integers(1, 5)))
    weights = draw(hnp.arrays(np.float64, shape, elements=st.sampled_from([0.0, 1e-9, 1.0, 3.0])))
    weights[:, draw(st.integers(0, shape[1] - 1))] += 1
    names = draw(st.lists(sources, min_size=shape[0], max_size=shape[0]))
    return formats.DocTopics(tuple(names), weights / weights.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("pairs", [False, True])
@given(doc_topics=proportions())
def test_doc_topics(pairs, doc_topics):
    with TemporaryDirectory() as directory:
        path = Path(directory, "doc-topics.txt")
        formats.write_doc_topics(doc_topics, path, pairs=pairs)
        found = formats.read_doc_topics(path)
    assert found.sources == doc_topics.sources
    assert found.doc_topic.tolist() == doc_topics.doc_topic.tolist()


@pytest.mark.parametrize(
    "text",
    [
        "#doc name topic proportion ...\n0 a 1 0.75 0 0.25\n1 b 0 0.9\n",
        "#doc source topic proportion ...\n0\ta\t1\t0.75\t0\t0.25\t\n1\tb\t0\t0.9\t\n",
        "0 a 1 0.75 0 0.25\n1 b 0 0.9\n",
    ],
)
def test_pairs_as_mallet_writes_them(text, tmp_path):
    (tmp_path / "x").write_text(text)
    found = formats.read_doc_topics(tmp_path / "x")
    assert found.sources == ("a", "b")
    assert found.doc_topic.tolist() == [[0.25, 0.75], [0.9, 0.0]]


@pytest.mark.parametrize(
    ("first", "line", "message"),
    [
        (DENSE, "1\tb\t0.5\t0.25", "sum to 0.75, not to 1"),
        (DENSE, "1\tb\t0.5\t0.25\t0.25", "expected 2 proportions, found 3"),
        (DENSE, "1\tb\t0.5\tnan", "expected proportions from 0 to 1"),
        (DENSE, "1\tb\t1.5\t-0.5", "expected proportions from 0 to 1"),
        (DENSE, "1\tb\t0.5\tx", "expected proportions from 0 to 1"),
        (DENSE, "2\tb\t0.5\t0.5", "doc must be a whole number from 1 to 1, found '2'"),
        (DENSE, "1\tb", "expected DOC SOURCE PROPORTIONS"),
        (PAIRS, "0 a 1 0.75 0", "one without the other"),
        (PAIRS, "0 a 1 0.75 1 0.25", "a topic is named twice"),
        (PAIRS, "0 a 1.0 0.75", "topic must be a whole number"),
        (PAIRS, f"0 a {10**17} 0.75", "topic must be a whole number"),
        (PAIRS, "0 a 1 1.75", "expected proportions from 0 to 1"),
    ],
)
def test_bad_proportions_name_the_line(first, line, message, tmp_path):
    path = tmp_path / "x"
    path.write_text(f"{first}\n{line}\n")
    refused(lambda: formats.read_doc_topics(path), f"{path}, line 2: ", message)


@pytest.mark.parametrize("source", ["a\nb", "a\rb", "\ud800"])
def test_a_source_that_cannot_be_written(source, tmp_path):
    writers = [
        lambda: formats.write_doc_topics(
            formats.DocTopics((source,), np.ones((1, 1))), tmp_path / "x"
        ),
        lambda: formats.write_mallet_state(one_token(source), tmp_path / "x"),
    ]
    for write in writers:
        with pytest.raises(CorpusFormatError, match="source"):
            write()
    assert not only_file(tmp_path)


def one_token(source, **others):
    zero = np.zeros(1, dtype=np.int32)
    arrays = dict.fromkeys(("doc_of", "position_of", "word_of", "topic_of", "type_indices"), zero)
    return formats.MalletState(
        **arrays | {"vocabulary": ("a",), "sources": (source,), "n_topics": 1} | others
    )


@pytest.mark.parametrize(
    "others",
    [
        *({"doc_of": np.array([1])}, {"topic_of": np.array([1])}, {"word_of": np.array([-1])}),
        *({"word_of": np.array([0, 0])}, {"type_indices": np.array([0, 1])}, {"alpha": np.ones(2)}),
    ],
)
def test_a_state_that_does_not_fit_together(others):
    assert one_token("x").n_kw.tolist() == [[1]]
    with pytest.raises(ValueError, match="must"):
        one_token("x", **others)
