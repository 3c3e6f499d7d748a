"""From texts to topics by scikit-learn's tools, with texts of the built-in sample."""

import pickle

import joblib
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline

from corpora import LemmaVectorizer
from downloader.sources import read_source
from evaluation import log_likelihood
from models import GaP, GibbsLDA, OnlineLDA

pytestmark = pytest.mark.usefixtures("annotated_once")
NUMBERS = [1, 6]
GRID = {"gibbslda__n_topics": NUMBERS}


@pytest.fixture(scope="module")
def texts():
    articles = read_source("sample", "", limit=6)
    return [text[:1200] for article in articles for _, text in article.sections()]


def make(model=None, **settings):
    model = GibbsLDA(5, n_iter=40, random_state=0) if model is None else model
    return make_pipeline(LemmaVectorizer(min_df=3), model, **settings)


@pytest.fixture(scope="module")
def fitted(texts):
    return make().fit(texts)


@pytest.fixture(scope="module")
def search(texts):
    return GridSearchCV(make(), GRID, cv=3).fit(texts)


def test_a_pipeline_is_its_steps(texts, fitted):
    vectorizer = LemmaVectorizer(min_df=3)
    counts = vectorizer.fit_transform(texts)
    model = GibbsLDA(5, n_iter=40, random_state=0).fit(counts)
    assert len(texts) > 30
    assert counts.shape[1] > 100
    assert_array_equal(fitted.transform(texts), model.transform(counts))
    assert fitted.score(texts) == model.score(counts)
    assert list(fitted[:-1].get_feature_names_out()) == list(vectorizer.vocabulary_)
    assert list(fitted.get_feature_names_out()) == [f"gibbslda{k}" for k in range(5)]


def test_new_texts_need_no_known_word(fitted):
    shares = fitted.transform(["zzyzx qwerty", "", "The war of the army"])
    assert shares.shape == (3, 5)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert_array_equal(shares[0], shares[1])


def test_grid_search_takes_the_number_that_predicts_held_out_words_best(texts, search):
    expected = np.empty((len(NUMBERS), 3))
    for fold, (train, test) in enumerate(KFold(3).split(texts)):
        for i, n_topics in enumerate(NUMBERS):
            pipeline = make().set_params(gibbslda__n_topics=n_topics).fit([texts[d] for d in train])
            counts = pipeline[:-1].transform([texts[d] for d in test])
            held_out = log_likelihood(pipeline[-1], counts, "completion", random_state=0)
            expected[i, fold] = -held_out.nats_per_word
    found = np.array([search.cv_results_[f"split{fold}_test_score"] for fold in range(3)]).T
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    best = NUMBERS[int(expected.mean(axis=1).argmax())]
    assert search.best_params_ == {"gibbslda__n_topics": best}
    assert best > 1  # one topic, the words' frequencies, is worse than any that learned something
    assert search.best_score_ == pytest.approx(expected.mean(axis=1).max())


@pytest.mark.slow
def test_processes_and_a_cache_change_no_score(texts, search, tmp_path):
    several = {"n_jobs": 2, "estimator__lemmavectorizer__n_jobs": 2}
    for settings in (several, {"estimator": make(memory=str(tmp_path))}):
        other = clone(search).set_params(**settings).fit(texts)
        assert_array_equal(
            other.cv_results_["mean_test_score"], search.cv_results_["mean_test_score"]
        )
        assert_array_equal(other.transform(texts), search.transform(texts))
    assert any(tmp_path.rglob("*.pkl"))


def test_other_trainers_are_scored_too(texts):
    for model in (OnlineLDA(5, random_state=0), GaP(5, n_iter=20, random_state=0)):
        scores = cross_val_score(make(model), texts, cv=2)
        assert (np.isfinite(scores) & (scores < 0)).all()
        assert (cross_val_score(make(model), texts, cv=2) == scores).all()


def test_a_clone_is_unfitted_and_learns_the_same(texts, fitted):
    copy = clone(fitted)
    assert not hasattr(copy[0], "vocabulary_")
    assert not hasattr(copy[-1], "state_")
    assert_array_equal(copy.fit_transform(texts), fitted.transform(texts))


def test_a_pickled_pipeline_reads_texts(texts, fitted, tmp_path):
    joblib.dump(fitted, tmp_path / "pipeline.joblib")
    for other in (pickle.loads(pickle.dumps(fitted)), joblib.load(tmp_path / "pipeline.joblib")):
        assert_array_equal(other.transform(texts), fitted.transform(texts))
        assert other.score(texts) == fitted.score(texts)
