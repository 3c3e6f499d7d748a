import functools
import itertools
import json
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from evaluation.allocation.exact import exact
from evaluation.allocation.totals import log_marginal_by_total
from models.allocation.model import AllocationModel
from tests.oracles import allocation as oracle
from tests.shared_data import shared_file

X3, X4 = np.array([[3, 0], [3, 3]]), np.array([[4, 0], [4, 1]])
ONE = np.array([[False, True], [False, False]])


@pytest.mark.shared
@pytest.mark.parametrize(("name", "X", "mode"), [("Sp_dist", X3, 12), ("Sp_dist2", X4, 10)])
def test_what_its_authors_published(name, X, mode):
    published = json.loads(shared_file(f"published/bam_published_{name}.json").read_text())
    T, a, b = published["T"], published["a"], published["b"]
    found = [
        log_marginal_by_total(AllocationModel.nmf(2, 2, K, a, b), X, ONE, T) for K in published["K"]
    ]
    assert_allclose(np.transpose(found), published["log_PT"], rtol=0, atol=1e-8)
    assert T[np.argmax(np.sum(np.exp(found), axis=0))] == mode


@pytest.mark.parametrize(("X", "K", "mode"), [(X3, 1, 12), (X4, 2, 10)])
def test_the_modes_of_example_3_4(X, K, mode):
    model, totals = AllocationModel.nmf(2, 2, K, 4.0, 0.01), np.arange(9, 20)
    assert totals[log_marginal_by_total(model, X, ONE, totals).argmax()] == mode


def test_what_is_missing_and_what_is_not():
    model = AllocationModel.nmf(2, 2, 2, 0.7, 0.4)
    X, missing = np.array([[1, 0], [0, 1]]), np.array([[False, True], [True, False]])
    found = log_marginal_by_total(model, X, missing, [2, 3, 5])
    for value, T in zip(found, [2, 3, 5], strict=True):
        logs = [
            oracle.log_probability_by_tensors(model, X + np.array([[0, one], [other, 0]]))
            for one, other in itertools.product(range(4), repeat=2)
            if one + other == T - 2
        ]
        assert value == pytest.approx(np.logaddexp.reduce(logs), rel=1e-11)
    model = AllocationModel.nmf(2, 2, 2, 0.7, 0.4)
    found = log_marginal_by_total(model, np.zeros((2, 2)), np.full((2, 2), True), range(4))
    assert_allclose(found, [oracle.log_total(model, T) for T in range(4)], rtol=1e-12)
    model = AllocationModel.nmf(2, 2, 2, 0.7, 0.4)
    found = log_marginal_by_total(model, X4, np.zeros((2, 2), dtype=bool), [8, 9, 10])
    assert_allclose(found, [-math.inf, oracle.log_probability_by_tensors(model, X4), -math.inf])


def test_another_method():
    asked = []

    def method(model, observed, *, max_memory):
        asked.append(observed.n_tokens)
        return exact(model, observed, max_memory=max_memory)

    model = AllocationModel.nmf(2, 2, 2, 4.0, 0.01)
    found = log_marginal_by_total(
        model, X3, ONE, [10, 9], functools.partial(method, max_memory=2**20)
    )
    assert asked == [10, 9]
    assert_allclose(found, log_marginal_by_total(model, X3, ONE, [10, 9]))


def test_what_does_not_fit_or_is_too_much_is_refused():
    with pytest.raises(ValueError, match="b must be given"):
        log_marginal_by_total(AllocationModel.nmf(2, 2, 2, 4.0), X3, ONE, [10])
    model = AllocationModel.nmf(5, 5, 2, 4.0, 0.01)
    with pytest.raises(
        ValueError, match=r"totals: 8 of 8 tokens .* 25 missing cells in 10,518,300"
    ):
        log_marginal_by_total(model, np.zeros((5, 5)), np.full((5, 5), True), [8])
    for X, is_missing, totals, message in (
        (X3, [[0, 1], [0, 0]], [10], "is_missing must be an array of bool"),
        (X3, [True, False], [10], "is_missing must be an array of bool"),
        (X3, ~ONE, [10], "X must be 0 where is_missing"),
        (X3, ONE, [10.5], "totals"),
        (X3, ONE, 10, "totals"),
        (X3[:1], ONE[:1], [10], "X must have the shape"),
    ):
        model = AllocationModel.nmf(2, 2, 2, 4.0, 0.01)
        with pytest.raises(ValueError, match=message):
            log_marginal_by_total(model, X, np.asarray(is_missing), totals)
