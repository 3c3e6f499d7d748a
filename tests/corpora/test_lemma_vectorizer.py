"""The transformer counts what the pipeline's text stage counts, and is one of scikit-learn's."""

import pickle

import numpy as np
import pytest
import spacy
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks

from corpora import (
    ArticleStore,
    Bigrams,
    Corpus,
    EmptyVocabularyError,
    LemmaVectorizer,
    MissingModelError,
    Pruning,
    TextSettings,
    TokenStore,
    learn_vocabulary,
)
from corpora.articles.article import Article
from corpora.tokens.bigrams import PairsOfBlock
from corpora.tokens.spacy_model import find_model
from models import GibbsLDA

CHECKS = [
    estimator_checks.check_estimator_cloneable,
    estimator_checks.check_estimator_repr,
    estimator_checks.check_estimator_tags_renamed,
    estimator_checks.check_get_feature_names_out_error,
    estimator_checks.check_get_params_invariance,
    estimator_checks.check_mixin_order,
    estimator_checks.check_no_attributes_set_in_init,
    estimator_checks.check_parameters_default_constructible,
    estimator_checks.check_set_params,
    estimator_checks.check_valid_tag_types,
]
"""The checks of scikit-learn that make no arrays of numbers: `check_estimator` skips all of them
for estimators of texts."""
TEXTS = [
    "The cats were chasing two mice, and the mice ran.",
    "Dogs chase cats. New York has dogs!",
    "",
    "New York is a city; cities have dogs and cats.",
    "In New York, mice chase nobody.",
] * 3
SETTINGS = {
    "parts_of_speech": ("NOUN", "PROPN", "VERB"),
    "bigrams": "npmi",
    "min_df": 3,
    "max_df": 0.9,
}


@pytest.fixture(scope="module")
def fitted():
    return LemmaVectorizer(**SETTINGS).fit(TEXTS)


def test_lemmas_and_bigrams_are_counted(fitted):
    words = fitted.get_feature_names_out().tolist()
    assert words == sorted(words)
    rows = fitted.transform(TEXTS[:3]).toarray()
    found = [{word: int(n) for word, n in zip(words, row, strict=True) if n} for row in rows]
    assert found[0] == {"cat": 1, "chase": 1, "mouse": 2, "run": 1}
    assert found[1] == {"cat": 1, "chase": 1, "dog": 1, "new_york": 1}
    assert found[2] == {}


def test_counts_are_those_of_the_text_stage(fitted, tmp_path):
    store = ArticleStore(tmp_path / "store")
    store.append(Article(i + 1, 0, "", "", "", "en", "", text) for i, text in enumerate(TEXTS))
    tokens = TokenStore(
        store, tmp_path / "tokens", TextSettings(parts_of_speech=SETTINGS["parts_of_speech"])
    )
    list(tokens.fill())
    rule = Bigrams({})
    bigrams = rule.from_counts(map(PairsOfBlock(rule, bool), tokens), threshold=0.5, scoring="npmi")
    joined = [bigrams.join(block) for block in tokens]
    vocabulary = learn_vocabulary(joined, bool, Pruning(3, 0.9))
    corpus = Corpus.from_blocks(joined, vocabulary)
    assert fitted.vocabulary_ == corpus.vocabulary
    assert (fitted.transform(TEXTS) != corpus.counts).nnz == 0


def test_it_is_an_estimator_of_scikit_learn():
    for check in CHECKS:
        check("LemmaVectorizer", LemmaVectorizer(min_df=1))
    again = clone(LemmaVectorizer(**SETTINGS))
    assert again.get_params()["min_df"] == 3
    with pytest.raises(NotFittedError):
        again.transform(TEXTS)


def test_a_pipeline_from_texts_to_topics_can_be_pickled():
    pipeline = make_pipeline(LemmaVectorizer(**SETTINGS), GibbsLDA(2, n_iter=5, random_state=0))
    shares = pipeline.fit(TEXTS).transform(TEXTS)
    assert shares.shape == (15, 2)
    assert np.array_equal(pickle.loads(pickle.dumps(pipeline)).transform(TEXTS), shares)


def test_processes_change_nothing(monkeypatch):
    monkeypatch.setattr("corpora.lemma_vectorizer.TEXTS_OF_BLOCK", 4)
    one, several = (LemmaVectorizer(analyzer="blank:en", **SETTINGS, n_jobs=n) for n in (1, 2))
    assert (several.fit_transform(TEXTS) != one.fit_transform(TEXTS)).nnz == 0
    assert several.vocabulary_ == one.vocabulary_


def test_a_language_or_a_function_may_read_the_texts(fitted):
    nlp = spacy.load(find_model(""))
    by_spacy = LemmaVectorizer(analyzer=nlp, **SETTINGS)
    assert (by_spacy.fit_transform(TEXTS) != fitted.transform(TEXTS)).nnz == 0
    by_function = LemmaVectorizer(analyzer=str.split, bigrams="none", min_df=1, max_df=1.0)
    assert by_function.fit_transform(["b a b", "", "c a"]).toarray().tolist() == [
        [1, 2, 0],
        [0, 0, 0],
        [1, 0, 1],
    ]
    assert by_function.vocabulary_ == ("a", "b", "c")


def test_a_language_without_a_model_has_its_tokenizer(caplog):
    counted = LemmaVectorizer(language="sv", min_df=1, max_df=1.0).fit(["Katten jagar hunden", ""])
    assert counted.vocabulary_ == ("hunden", "jagar", "katten")
    assert "no spaCy model of language sv" in caplog.text


def test_data_frames(fitted):
    pd = pytest.importorskip("pandas")
    frame = clone(fitted).set_output(transform="pandas").fit_transform(pd.Series(TEXTS))
    assert list(frame.columns) == list(fitted.vocabulary_)
    assert (frame.to_numpy() == fitted.transform(TEXTS).toarray()).all()
    with pytest.raises(TypeError, match="one column of a DataFrame"):
        clone(fitted).fit(pd.DataFrame({"text": TEXTS}))
    with pytest.raises(ValueError, match="pandas"):
        clone(fitted).set_output(transform="polars")


@pytest.mark.parametrize(
    ("settings", "texts", "error", "message"),
    [
        ({}, "one text", ValueError, "not one string"),
        ({}, {"text": "one"}, TypeError, "one column of a dict"),
        ({}, ["a", None], TypeError, "text 1 is no string but None"),
        ({}, ["a", 1.5], TypeError, "text 1 is no string but 1.5"),
        ({}, [], EmptyVocabularyError, "no words"),
        ({}, ["the of"], EmptyVocabularyError, "no words"),
        ({"min_df": 0.5}, TEXTS, TypeError, "min_df must be a whole number"),
        ({"min_df": 0}, TEXTS, ValueError, "min_df must be at least 1"),
        ({"max_df": 2.0}, TEXTS, ValueError, "max_df is a share of the documents, .* at most 1"),
        ({"min_df": 99}, TEXTS, EmptyVocabularyError, "min_df = 99 documents.*lower min_df"),
        ({"analyzer": str.lower}, TEXTS, TypeError, "must return a list of words, not '"),
        ({"analyzer": len}, TEXTS, TypeError, r"must return a list of words, not \d+"),
        ({"analyzer": lambda _: [5]}, TEXTS, TypeError, "words, which are strings, not 5"),
        ({"max_features": True}, TEXTS, TypeError, "max_features must be a whole number"),
        ({"bigrams": "some"}, TEXTS, ValueError, "bigrams must be"),
        ({"analyzer": 5}, TEXTS, TypeError, "analyzer must be"),
        ({"analyzer": "no_such_model"}, TEXTS, MissingModelError, "no_such_model"),
        ({"parts_of_speech": "NOUN"}, TEXTS, ValueError, "must be a list"),
        ({"stop_words": "the"}, TEXTS, ValueError, "must be a list"),
        ({"n_jobs": 0}, TEXTS, ValueError, "n_jobs"),
    ],
)
def test_bad_input_is_named(settings, texts, error, message):
    with pytest.raises(error, match=message):
        LemmaVectorizer(**settings).fit(texts)


def test_a_language_without_components_gives_the_words_of_its_blank_model():
    texts = ["The rivers of Egypt flood.", "A river flooded Egypt."]
    every = {"min_df": 1, "max_df": 1.0}
    words = LemmaVectorizer(analyzer=spacy.blank("en"), **every).fit(texts).vocabulary_
    assert words == LemmaVectorizer(analyzer="blank:en", **every).fit(texts).vocabulary_
    assert {"rivers", "egypt", "flooded"} <= set(words)
