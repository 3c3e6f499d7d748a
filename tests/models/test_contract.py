"""What every trainer and every kind of topics keeps to, whatever its family.

Trainers, their settings and the topics are those of `tests.small_models`.
"""

import copy
import inspect
import pickle
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from evaluation import log_likelihood
from evaluation.methods import scoring_of
from models import ModelFormatError, SavedModel, load_model, save_model
from models.counts import whole_numbers
from models.families import arrays_of, family_of, topics_of_arrays
from models.saved import read_arrays, write_arrays
from pipeline.training.checkpoint import Checkpoint
from tests.small_models import (
    CASES,
    CHECKED_QUICKLY,
    LOWEST,
    SINGLE_THREADED,
    TOPICS,
    WAYS,
    documents,
    make_blocks_small,
    may_have_zeros,
    model_of,
    training_counts,
)

pytestmark = [
    pytest.mark.usefixtures("fifth_family"),
    pytest.mark.filterwarnings("ignore:Number of distinct clusters"),
]
EVERY_TRAINER = pytest.mark.parametrize("case", CASES, ids=str)
EVERY_WAY = pytest.mark.parametrize("case", [*CASES, *WAYS], ids=str)
EVERY_FAMILY = pytest.mark.parametrize("family", TOPICS)
COUNTS = training_counts()
BAD = (-1.0, np.nan, np.inf, -np.inf)


@cache
def fitted(case):
    """The estimator trained on `COUNTS`, which all tests share and none trains further."""
    return case.build().fit(COUNTS)


def assert_same(found, expected, values_of):
    assert type(found) is type(expected)
    for name, value in values_of(expected).items():
        assert_array_equal(getattr(found, name), value, err_msg=name)


def assert_same_training(found, expected):
    assert_same(found.state_, expected.state_, vars)
    assert_same(found.topics_, expected.topics_, arrays_of)
    assert_array_equal(found.transform(COUNTS), expected.transform(COUNTS))
    if hasattr(expected, "score"):
        assert found.score(COUNTS) == expected.score(COUNTS)


def learners(estimator):
    return [getattr(estimator, name) for name in ("fit", "partial_fit") if hasattr(estimator, name)]


# --- trainers: the same bits ----------------------------------------------------------------------


@EVERY_WAY
def test_threads_change_no_bit(case, monkeypatch):
    pools = make_blocks_small(monkeypatch)
    expected = case.build(n_jobs=1).fit(COUNTS)
    expected.transform(COUNTS)
    assert not pools
    for n_jobs in (2, 3):
        assert_same_training(case.build(n_jobs=n_jobs).fit(COUNTS), expected)
    assert {2, 3} <= pools or case.spec.name in SINGLE_THREADED, "one block, so one thread"


def copied(state, _):
    return copy.deepcopy(state)


def saved(state, directory):
    Checkpoint("corpus", state).save(directory / "checkpoint.npz")
    return Checkpoint.load(directory / "checkpoint.npz", "corpus").state


@EVERY_WAY
def test_resumed_after_any_step_it_ends_with_the_same_bits(case, tmp_path):
    """From a state that was copied, and after the next step from one that was saved."""
    whole = case.build()
    first = whole.resume(COUNTS, None).state_
    states, steps = [saved(first, tmp_path)], []
    for step in whole.iterate(COUNTS, state=first):
        steps.append(step)
        states.append((saved, copied)[len(steps) % 2](whole.state_, tmp_path))
    assert len(steps) > 2
    whole.finish()
    states.append(saved(whole.state_, tmp_path))
    assert_same_training(whole, fitted(case))
    for done, state in enumerate(states):
        rest = case.build(random_state=None)
        assert list(rest.iterate(COUNTS, state=state)) == steps[done:]
        assert rest.finish() in {False, done < len(states) - 1}
        assert_same_training(rest, whole)
    assert_same_training(case.build().resume(COUNTS, states[-1]), whole)


@EVERY_TRAINER
def test_seeds(case):
    expected = fitted(case)
    assert expected.seed_ == 0
    for make in (np.random.default_rng, np.random.RandomState):
        one, other = (case.build(random_state=make(3)).fit(COUNTS) for _ in range(2))
        assert_same_training(one, other)
    drawn = case.build(random_state=None).fit(COUNTS)
    assert drawn.random_state is None
    assert_same_training(case.build(random_state=drawn.seed_).fit(COUNTS), drawn)
    assert len({drawn.seed_, case.build(random_state=None).fit(COUNTS).seed_}) == 2
    here, there = arrays_of(expected.topics_), arrays_of(drawn.topics_)
    assert any(not np.array_equal(here[name], there[name]) for name in here)


@EVERY_TRAINER
def test_fit_is_iterate_to_the_end_and_starts_afresh(case):
    stepped = case.build()
    steps = list(stepped.iterate(COUNTS))
    stepped.finish()
    assert_same_training(stepped, fitted(case))
    seen = [step.n_documents for step in steps]
    assert seen == sorted(seen)
    again = case.build()
    assert again.fit(training_counts(30, 7, seed=1)) is again
    assert_same_training(again.fit(COUNTS), fitted(case))


def in_parts():
    """Counts of `COUNTS` as entries that are out of order, doubled and zero."""
    counts = COUNTS.tocoo()
    halves = [counts.data // 2, counts.data - counts.data // 2]
    rows, columns = (np.tile(each, 2) for each in counts.coords)
    order, start = np.lexsort((-columns, rows)), np.concatenate(([0], np.cumsum(np.bincount(rows))))
    return sparse.csr_array(
        (np.concatenate(halves)[order], columns[order], start), shape=COUNTS.shape
    )


def wide():
    """Counts of `COUNTS` with indices of 64 bits."""
    arrays = (COUNTS.data, COUNTS.indices.astype(np.int64), COUNTS.indptr.astype(np.int64))
    return sparse.csr_array(arrays, shape=COUNTS.shape)


FORMS = {
    "dense": COUNTS.toarray,
    "lists": lambda: COUNTS.toarray().tolist(),
    "csc": COUNTS.tocsc,
    "coo": COUNTS.tocoo,
    "matrix": lambda: sparse.csr_matrix(COUNTS),
    "wide": wide,
    "in parts": in_parts,
    **{
        np.dtype(kind).name: lambda kind=kind: COUNTS.astype(kind)
        for kind in (np.uint8, np.int64, np.float32, np.float64)
    },
}


def arrays_in(counts):
    if not sparse.issparse(counts):
        return [np.asarray(counts)]
    names = ("data", "indices", "indptr", "row", "col")
    return [getattr(counts, name) for name in names if hasattr(counts, name)]


@EVERY_TRAINER
def test_counts_of_any_form_are_the_same_documents(case):
    expected = fitted(case).transform(COUNTS)
    for name, form in FORMS.items():
        counts = form()
        arrays = arrays_in(counts)
        kept = copy.deepcopy(arrays)
        for array in arrays:
            array.setflags(write=False)
        found = case.build().fit(counts)
        assert_same(found.topics_, fitted(case).topics_, arrays_of)
        assert_array_equal(found.transform(counts), expected, name)
        for array, before in zip(arrays_in(counts), kept, strict=True):
            assert_array_equal(array, before, name)


@EVERY_TRAINER
def test_a_copy_of_what_was_fitted_is_the_same(case):
    expected = fitted(case)
    for carried in (pickle.loads(pickle.dumps(expected)), copy.deepcopy(expected)):
        assert_same_training(carried, expected)
        assert carried.seed_ == expected.seed_


# --- trainers: what comes of training -------------------------------------------------------------


@EVERY_TRAINER
def test_topics_of_a_fitted_estimator(case):
    topics = fitted(case).topics_
    assert family_of(topics) in TOPICS
    assert topics.topic_word.shape == (3, 10)
    for array in (*arrays_of(topics).values(), topics.word_topic):
        assert not array.flags.writeable
    shares = topics.proportions(COUNTS)
    assert shares.shape == (40, 3)
    assert_allclose(shares.sum(axis=1), 1.0)
    assert_array_equal(fitted(case).transform(COUNTS), topics.transform(COUNTS))
    names = list(fitted(case).get_feature_names_out())
    assert names == [f"{type(fitted(case)).__name__.lower()}{k}" for k in range(3)]


@EVERY_WAY
def test_training_is_finished_once(case):
    estimator = case.build()
    with pytest.raises(NotFittedError):
        estimator.finish()
    for _ in estimator.iterate(COUNTS):
        pass
    before = estimator.topics_.topic_word
    assert estimator.finish() != np.array_equal(estimator.topics_.topic_word, before)
    assert not estimator.finish()
    assert_same_training(estimator, fitted(case))


@EVERY_WAY
def test_the_schedule_is_what_training_makes(case):
    for estimator in (case.build(), case.build(**{case.spec.passes: 1})):
        schedule, passes = estimator.schedule, [step.n_passes for step in estimator.iterate(COUNTS)]
        assert passes == sorted(passes)
        assert passes[-1] <= schedule.max_passes
        can_end_before = schedule.n_stages > 1
        if not can_end_before or getattr(estimator, case.spec.passes) == 1:
            assert passes[-1] == schedule.max_passes


@EVERY_TRAINER
def test_once_topics_may_be_validated_they_always_may(case):
    estimator = case.build()
    with pytest.raises(NotFittedError):
        _ = estimator.is_ready
    ready = [estimator.resume(COUNTS, None).is_ready]
    for _ in estimator.iterate(COUNTS):
        ready.append(estimator.is_ready)
        assert not ready[-1] or estimator.topics_.n_topics == 3
    assert ready == sorted(ready)
    assert ready[-1]
    n_stages = estimator.schedule.n_stages + estimator.schedule.n_before
    if hasattr(estimator, "burn_in") or n_stages > 1:
        assert not ready[1]


@EVERY_TRAINER
def test_what_carries_no_tokens(case):
    counts = np.insert(COUNTS.toarray(), [0, 0, 7, 40], 0, axis=0)
    found = case.build().fit(counts)
    if case.spec.needs_document_per_topic:
        assert_same_training(found, fitted(case))
    assert np.isfinite(found.transform(counts)).all()
    shares = found.topics_.proportions(counts)
    assert_allclose(shares.sum(axis=1), 1.0)
    assert_array_equal(shares[[1, 9, 43]], shares[[0, 0, 0]])
    counts = COUNTS.toarray()
    counts[:, [3, 9]] = 0
    found = case.build().fit(counts)
    assert np.isfinite(found.topics_.topic_word).all()
    assert np.isfinite(found.transform(COUNTS)).all()


@EVERY_TRAINER
def test_fewer_documents_with_tokens_than_topics(case):
    counts = np.zeros((9, 4), dtype=np.int32)
    case.build(3).fit(counts + np.eye(9, 4, dtype=np.int32))
    counts[[1, 5, 7], [0, 1, 2]] = 2
    for given, n_filled in ((counts, 3), (np.zeros_like(counts), 0)):
        if case.spec.needs_document_per_topic:
            message = rf"4 topics need as many documents .* n_samples = {n_filled}"
            with pytest.raises(ValueError, match=message):
                case.build(4).fit(given)
        else:
            topics = case.build(4).fit(given).topics_
            assert np.isfinite(topics.topic_word).all()
            assert_allclose(topics.proportions(given).sum(axis=1), 1.0)


@EVERY_TRAINER
def test_the_score_is_held_out_log_likelihood_a_word_by_completion(case):
    can_be_completed = "completion" in scoring_of(fitted(case)).names
    assert hasattr(fitted(case), "score") == can_be_completed
    if not can_be_completed:
        return
    held_out = training_counts(25, seed=1)
    expected = log_likelihood(fitted(case), held_out, "completion", random_state=0)
    for counts in (held_out, held_out.toarray(), held_out.astype(float)):
        assert fitted(case).score(counts) == pytest.approx(-expected.nats_per_word, rel=1e-13)
    fractions = held_out * 0.75
    assert fitted(case).score(fractions) == fitted(case).score(whole_numbers(fractions, None))
    with pytest.raises(ValueError, match="no document has a token"):
        fitted(case).score(held_out * 0)


@EVERY_TRAINER
def test_the_score_is_finite_for_words_that_were_never_seen(case):
    if not hasattr(fitted(case), "score"):
        return
    seen = COUNTS.toarray()
    seen[:, [3, 9]] = 0
    estimator = case.build().fit(seen)
    score, without = estimator.score(COUNTS), estimator.score(seen)
    assert np.isfinite([score, without]).all()
    assert score < without < 0
    if not estimator.topics_.topic_word[:, 9].any():  # it costs the same, whatever the model
        document = np.eye(1, 10, 9, dtype=int)
        assert estimator.score(document) == pytest.approx(np.log(1e-6 / 10))


# --- trainers: what is refused --------------------------------------------------------------------


@EVERY_TRAINER
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_bad_counts_are_refused(case, container):
    trained = copy.deepcopy(fitted(case))
    more = [getattr(trained, name) for name in ("transform", "score") if hasattr(trained, name)]
    for bad in BAD:
        counts = COUNTS.toarray().astype(float)
        counts[3, 4] = bad
        for call in (case.build().fit, *learners(trained), *more):
            with pytest.raises(ValueError, match=r"Negative|NaN|inf"):
                call(container(counts))


@EVERY_TRAINER
def test_counts_words_and_states_of_other_data_are_refused(case):
    trained = copy.deepcopy(fitted(case))
    names = [n for n in ("transform", "partial_fit", "score") if hasattr(trained, n)]
    for n_words in (1, 9, 11):
        for name in names:
            with pytest.raises(ValueError, match=rf"{n_words} features.*10 features"):
                getattr(trained, name)(training_counts(n_words=n_words))
    assert_same_training(trained, fitted(case))
    for counts, n_topics in ((training_counts(n_words=9), 3), (COUNTS, 4)):
        with pytest.raises(ValueError, match=r"the state (is of|assigns)"):
            case.build(n_topics).resume(counts, copy.deepcopy(fitted(case).state_))


NO_INTEGERS = (True, 2.5, 2.0, "3", np.nan)
NO_NUMBERS = ("0.5", None, [0.5], True)


def kinds_of(parameter):
    """Names of the types of a setting, whose annotation is a type or a string."""
    kind = parameter.annotation
    return (kind if isinstance(kind, str) else inspect.formatannotation(kind)).split(" | ")


def bad_settings():
    """Settings that no trainer takes, as its signature says what they are."""
    for case in CASES:
        for name, parameter in inspect.signature(case.spec.estimator).parameters.items():
            kinds, bad = kinds_of(parameter), []
            if name == "n_jobs":
                bad = [0, 1.5, "2", True]
            elif kinds[0] == "int":
                lowest = LOWEST.get(name, 1)
                bad = [lowest - 1, -9, *NO_INTEGERS] + ([] if "None" in kinds else [None])
            elif kinds == ["float"]:
                bad = [-1.0, np.nan, *NO_NUMBERS]
            elif kinds == ["str"]:
                bad = ["no such", None, ["random"]]
            if bad:
                yield pytest.param(case, name, bad, id=f"{case}-{name}")


@pytest.mark.parametrize(("case", "name", "bad"), list(bad_settings()))
def test_a_bad_setting_is_named(case, name, bad):
    for value in bad:
        estimator = case.build(**{name: value})
        calls = [lambda f=f: f(COUNTS) for f in learners(estimator)]
        for call in (estimator.check_settings, *calls, lambda e=estimator: e.resume(COUNTS, None)):
            with pytest.raises((ValueError, TypeError), match=name):
                call()
        assert not hasattr(estimator, "state_")


@EVERY_TRAINER
def test_lowest_settings_are_taken(case):
    kinds = inspect.signature(case.spec.estimator).parameters
    lowest = {
        name: LOWEST.get(name, 1)
        for name, parameter in kinds.items()
        if kinds_of(parameter)[0] == "int" and name != "n_jobs"
    }
    assert {"n_topics", case.spec.passes} <= set(lowest)
    case.build(**lowest).check_settings()


@EVERY_TRAINER
def test_a_bad_seed_is_refused(case):
    for bad in ("0", 1.5, [1], True, -1):
        for call in learners(case.build(random_state=bad)):
            with pytest.raises(ValueError, match=r"random_state|seed"):
                call(COUNTS)


@EVERY_TRAINER
def test_nothing_but_settings_before_it_is_fitted(case):
    names = list(inspect.signature(case.spec.estimator).parameters)
    settings = {name: object() for name in names}
    estimator = case.spec.estimator(**settings)
    assert (vars(estimator), estimator.get_params()) == (settings, settings)
    estimator = case.build()
    assert vars(clone(fitted(case))) == vars(estimator)
    assert clone(estimator).set_params(n_topics=7).n_topics == 7
    learned = [n for n in dir(type(estimator)) if n[0] != "_" and n[-1] == "_"]
    assert {"topics_", "seed_"} <= set(learned)
    calls = [getattr(estimator, n) for n in ("transform", "score") if hasattr(estimator, n)]
    for use in (
        *(lambda name=name: getattr(estimator, name) for name in learned),
        *(lambda call=call: call(COUNTS) for call in calls),
    ):
        with pytest.raises(NotFittedError):
            use()


# --- trainers: scikit-learn -----------------------------------------------------------------------


def of_two_topics(*, quickly):
    """Estimators of every trainer by its quick settings and, slowly, by another way too."""
    another_way = {} if quickly else {way.spec.name: way for way in WAYS[::-1]}
    cases = [case for case in CASES if (case.spec.name in CHECKED_QUICKLY) == quickly]
    return [case.build(2) for case in (*cases, *another_way.values())]


@parametrize_with_checks(of_two_topics(quickly=True))
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(of_two_topics(quickly=False))
def test_scikit_learn_contract_of_all(estimator, check):
    check(estimator)


# --- topics ---------------------------------------------------------------------------------------


@EVERY_FAMILY
def test_shares_of_topics(family):
    model, counts = model_of(TOPICS[family]), documents(90)
    shares, scores = model.proportions(counts), model.transform(counts)
    assert shares.shape == scores.shape == (90, 3)
    assert (shares >= 0).all()
    assert np.isfinite(scores).all()
    assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-12)
    if model.score_shape is None:
        assert_allclose(scores.sum(axis=1), 1.0, rtol=1e-12)
    assert_array_equal(shares[0], shares[-1])  # of no tokens
    for form in (counts.toarray(), counts.tocsc(), counts.toarray().tolist(), counts.astype(float)):
        assert_array_equal(model.transform(form), scores)
        assert_array_equal(model.proportions(form), shares)
    assert model.transform(counts[:0]).shape == (0, 3)


@EVERY_FAMILY
@pytest.mark.parametrize("n_topics", [4, pytest.param(60, marks=pytest.mark.slow)])
def test_a_document_is_the_same_bits_in_any_company(family, n_topics):
    model, counts = model_of(TOPICS[family], n_topics, 12), documents(90, 12)
    order = np.random.default_rng(3).permutation(90)
    for call in (model.transform, model.proportions):
        together = call(counts)
        for n_jobs in (2, 3, -1):
            assert_array_equal(call(counts, n_jobs=n_jobs), together)
        assert_array_equal(call(counts[order], n_jobs=2), together[order])
        for d in range(90):
            assert_array_equal(call(counts[[d]])[0], together[d])


@EVERY_FAMILY
def test_counts_that_topics_refuse(family):
    model = model_of(TOPICS[family])
    for call in (model.transform, model.proportions):
        for n_words in (1, 5, 7):
            with pytest.raises(ValueError, match=f"counts has {n_words} words, the model 6"):
                call(np.ones((2, n_words)))
        for bad in BAD:
            with pytest.raises(
                ValueError, match=r"counts must be finite|counts must not be negative"
            ):
                call(np.array([[1.0, 2.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, bad, 0.0, 1.0]]))


@EVERY_FAMILY
def test_what_all_families_answer_to(family):
    model = model_of(TOPICS[family])
    assert (model.n_topics, model.n_words, model.word_share.sum()) == (3, 6, pytest.approx(1.0))
    assert_array_equal(model.word_topic, model.topic_word.T)
    assert_array_equal(model.top_words(2)[:, 0], model.topic_word.argmax(axis=1))
    order = np.array([4, 0, 3, 5, 1, 2])
    moved, counts = model.with_words(order), documents()
    assert_allclose(  # sums over words are in another order, in single precision
        moved.proportions(counts[:, order]), model.proportions(counts), rtol=1e-6, atol=1e-9
    )
    again = moved.with_words(np.argsort(order))
    for name, array in arrays_of(model).items():
        assert_allclose(getattr(again, name), array, rtol=1e-14)


@EVERY_FAMILY
def test_smoothing(family):
    model = model_of(TOPICS[family])
    assert_same(model.smoothed(0.0), model, arrays_of)
    if not may_have_zeros(TOPICS[family]):
        with pytest.raises(ValueError, match="not smoothed"):
            model.smoothed(0.25)
        return
    smoothed, total = model.smoothed(0.25), model.topic_word.sum(axis=1, keepdims=True)
    assert_allclose(smoothed.topic_word, 0.75 * model.topic_word + 0.25 * total / 6)
    for bad in (-0.1, 1.0, np.nan):
        with pytest.raises(ValueError, match="smoothing must be from 0 to below 1"):
            model.smoothed(bad)


@EVERY_FAMILY
def test_saved_and_taken_apart_to_the_bit(family, tmp_path):
    model = model_of(TOPICS[family])
    path, again = tmp_path / "model.npz", tmp_path / "again.npz"
    save_model(path, SavedModel(model, tuple("abcdef")))
    loaded = load_model(path)
    assert (family_of(loaded.topics), loaded.header["family"]) == (family, family)
    assert_same(loaded.topics, model, arrays_of)
    save_model(again, loaded)
    assert again.read_bytes() == path.read_bytes()
    header, arrays = read_arrays(path, "wikitopics model")
    for name in arrays_of(model):
        write_arrays(
            path, "wikitopics model", header, {n: a for n, a in arrays.items() if n != name}
        )
        with pytest.raises(ModelFormatError, match=name):
            load_model(path)
    arrays = arrays_of(model_of(TOPICS[family]), "best_")
    again = topics_of_arrays(family, {**arrays, "other": np.ones(2)}, "best_")
    assert_same(again, model_of(TOPICS[family]), arrays_of)
    with pytest.raises(KeyError):
        topics_of_arrays(family, arrays)


@EVERY_FAMILY
def test_pickled_it_is_the_same_and_no_larger_for_what_was_asked_of_it(family):
    model = model_of(TOPICS[family])
    size = len(pickle.dumps(model))
    assert model.word_topic.shape == (6, 3)
    model.transform(np.eye(6, dtype=int))
    pickled = pickle.dumps(model)
    assert len(pickled) == size
    again = pickle.loads(pickled)
    assert type(again) is type(model)
    for name, array in arrays_of(model).items():
        found = getattr(again, name)
        assert found.tobytes() == array.tobytes()
        assert (found.dtype, found.flags.writeable) == (array.dtype, False)
        assert not array.flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 1
