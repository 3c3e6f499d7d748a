import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpora.tokens.fast.lexicon import Lexicon
from tests.corpora.tokens.fast.english import english

COLUMNS = ["NORM", "PREFIX", "SUFFIX", "SHAPE", "SPACY", "IS_SPACE"]
PIECES = st.sampled_from(
    [
        *(" ", "  ", "\n", "\n\n", "\t", "\r\n", "\x1c", "\x85", "\xa0", " ", "　"),
        *("a", "can't", "I'm", "U.S.", "e.g.", "(b)", "c.", "d,", ":)", ":", ")", "8", "-D", "xD"),
        *("…", "–", "“q”", "3.14km", "http://x.org/a?b=c", "C++", "don't.", "'s", "'", '"', "o_O"),
        *("''", "'''", "dogs' ''T''", "(=", "):", "(", "=", "'S", "b", ". O", "o", "< 3"),
        *("separator", "naïve", "İ", "ß", "日本", "हिन्दी", "a/b", "x-y-z", "$5", "5%", "@me", "#1"),
    ]
)


def attributes_as_embedding(attributes):
    """The attributes themselves, folded so that single precision holds them."""
    return (attributes % np.uint64(2**20)).astype(np.float32)


@pytest.fixture(scope="module")
def nlp():
    return english()


@pytest.mark.slow
@settings(max_examples=120, deadline=None)
@given(texts=st.lists(st.lists(PIECES, max_size=12).map("".join), max_size=4))
def test_tokens_and_their_attributes_are_those_of_whole_texts(nlp, texts):
    lexicon = Lexicon(nlp, attributes_as_embedding, COLUMNS, len(COLUMNS))
    for _ in range(2):  # new, and known
        rows, start = lexicon.rows_of(texts)
        assert len(start) == len(texts) + 1
        for t, text in enumerate(texts):
            doc, of_text = nlp.tokenizer(text), rows[start[t] : start[t + 1]]
            assert [lexicon.words[f] for f in lexicon.form_of[of_text]] == [w.text for w in doc]
            expected = attributes_as_embedding(doc.to_array(COLUMNS))
            np.testing.assert_array_equal(lexicon.embedding[of_text], expected.reshape(-1, 6))
            assert lexicon.is_stop[of_text].tolist() == [word.is_stop for word in doc]


@pytest.mark.parametrize(
    "text",
    [
        *("The dogs' ''Title'' was sold.", "the Beatles' '''Help!''' album", "x = (=y)", ": ):\"'"),
        *("ol ''When", "( ( ^_^ ) : - ) 8 -)) x. O.o"),
    ],
)
def test_rules_that_match_across_a_space(nlp, text):
    lexicon = Lexicon(nlp, attributes_as_embedding, COLUMNS, len(COLUMNS))
    rows, _ = lexicon.rows_of([text])
    words = [lexicon.words[form] for form in lexicon.form_of[rows]]
    assert words == [token.text for token in nlp.tokenizer(text)]


@settings(max_examples=40, deadline=None)
@given(text=st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=60))
def test_any_text(nlp, text):
    lexicon = Lexicon(nlp, attributes_as_embedding, COLUMNS, len(COLUMNS))
    rows, _ = lexicon.rows_of([text])
    words = [lexicon.words[form] for form in lexicon.form_of[rows]]
    assert words == [token.text for token in nlp.tokenizer(text)]


def test_many_words_are_embedded_the_same_in_any_company(nlp):
    words = [f"word{i}" for i in range(600)]
    together = Lexicon(nlp, attributes_as_embedding, COLUMNS, len(COLUMNS))
    rows, _ = together.rows_of([" ".join(words)])
    assert (together.n_rows, together.n_chunks) == (600, 600)
    apart = Lexicon(nlp, attributes_as_embedding, COLUMNS, len(COLUMNS))
    for start in range(0, 600, 7):
        apart.rows_of([" ".join(words[start : start + 7]) + " "])
    again, _ = apart.rows_of([" ".join(words)])
    np.testing.assert_array_equal(together.embedding[rows], apart.embedding[again])


def test_what_is_forgotten_is_learned_again(nlp):
    lexicon = Lexicon(nlp, attributes_as_embedding, COLUMNS, len(COLUMNS))
    before, _ = lexicon.rows_of(["It isn't so."])
    lexicon.clear()
    assert (lexicon.n_rows, lexicon.n_chunks) == (0, 0)
    after, _ = lexicon.rows_of(["It isn't so."])
    np.testing.assert_array_equal(before, after)


def test_frequent_words_are_kept(nlp):
    lexicon = Lexicon(nlp, attributes_as_embedding, COLUMNS, len(COLUMNS))
    lexicon.rows_of(["It isn't so. rare1 It isn't new. rare2", "It is (so). rare3"])
    texts = ["It isn't so.", "rare2 is new. It isn't"]
    expected = described(lexicon, texts)
    forms = [*lexicon.words]
    kept = lexicon.keep_frequent(3)
    assert [forms[form] for form in kept] == lexicon.words
    assert lexicon.words == ["It", "is", "n't", ".", "new"]
    assert (lexicon.n_chunks, lexicon.n_rows) == (3, 5)
    assert described(lexicon, texts) == expected
    assert lexicon.n_chunks == 7


def described(lexicon, texts):
    """Words of texts, with their embeddings and whether they are stop words."""
    rows, start = lexicon.rows_of(texts)
    words = [lexicon.words[form] for form in lexicon.form_of[rows]]
    return words, start.tolist(), lexicon.embedding[rows].tolist(), lexicon.is_stop[rows].tolist()


def test_nothing_may_be_kept(nlp):
    lexicon = Lexicon(nlp, attributes_as_embedding, COLUMNS, len(COLUMNS))
    expected = described(lexicon, ["It isn't so."])
    assert len(lexicon.keep_frequent(0)) == lexicon.n_rows == lexicon.n_chunks == 0
    assert described(lexicon, ["It isn't so."]) == expected
