import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation import topic_distances, topic_map


def distances_of(points):
    return np.sqrt(((points[:, None] - points) ** 2).sum(axis=2))


@given(st.integers(3, 20), st.integers(0, 10_000))
def test_points_of_a_plane_are_found_again(n_topics, seed):
    points = np.random.default_rng(seed).normal(size=(n_topics, 2))
    found = topic_map(distances_of(points))
    assert found.share == pytest.approx(1)
    ratio = distances_of(found.position)[np.triu_indices(n_topics, 1)]
    ratio /= distances_of(points)[np.triu_indices(n_topics, 1)]
    assert ratio == pytest.approx(np.full(len(ratio), ratio[0]))  # one scale for both axes
    assert np.ptp(found.position, axis=0).max() == pytest.approx(1)
    assert found.position.min() >= 0
    assert found.position.max() <= 1


def test_what_the_axes_and_the_plane_show():
    points = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 1.0], [4.0, 1.0], [2.0, 0.5]])
    found = topic_map(distances_of(points)).position
    assert np.ptp(found, axis=0) == pytest.approx([1.0, 0.25])
    assert (found.min(axis=0), found[4]) == (pytest.approx([0.0, 0.375]), pytest.approx([0.5, 0.5]))
    # All as far from each other: K - 1 equal eigenvalues.
    for n_topics in (3, 4, 11):
        assert topic_map(0.7 * (1 - np.eye(n_topics))).share == pytest.approx(2 / (n_topics - 1))
    # A box of 4 × 2 × 1: eigenvalues are the sums of squares along its sides.
    corners = np.array([[x, y, z] for x in (0.0, 4.0) for y in (0.0, 2.0) for z in (0.0, 1.0)])
    assert topic_map(distances_of(corners)).share == pytest.approx((16 + 4) / (16 + 4 + 1))
    # Three at 2 from each other, a fourth at 1 from all, which no space has room for.
    between = np.array([[0, 2, 2, 1], [2, 0, 2, 1], [2, 2, 0, 1], [1, 1, 1, 0]], dtype=float)
    centre = np.eye(4) - 0.25
    assert np.linalg.eigvalsh(-centre @ between**2 @ centre / 2).min() < -0.1
    assert topic_map(between).share == pytest.approx(1)


def test_signs_do_not_hang_on_the_eigenvectors(monkeypatch):
    points = np.random.default_rng(0).normal(size=(9, 3))
    found, eigh = topic_map(distances_of(points)).position, np.linalg.eigh

    def flipped(matrix):
        values, vectors = eigh(matrix)
        return values, -vectors

    monkeypatch.setattr(np.linalg, "eigh", flipped)
    assert np.array_equal(topic_map(distances_of(points)).position, found)


def test_few_topics_and_topics_of_one_kind():
    one = topic_map([[0.0]])
    assert (one.position.tolist(), one.share) == ([[0.5, 0.5]], 1.0)
    two = topic_map([[0.0, 0.3], [0.3, 0.0]])
    assert (two.position, two.share) == (pytest.approx(np.array([[1.0, 0.5], [0.0, 0.5]])), 1)
    same = topic_map(np.zeros((3, 3)))
    assert (same.position == 0.5).all()
    assert same.share == 1
    rng, kinds = np.random.default_rng(4), np.kron(np.eye(3), np.ones((5, 20))) * 50 + 1
    topics = np.array([rng.dirichlet(weights) for weights in kinds])
    place = topic_map(topic_distances(topics)).position
    between = distances_of(place).reshape(3, 5, 3, 5).max(axis=(1, 3))
    least = distances_of(place).reshape(3, 5, 3, 5).min(axis=(1, 3))
    assert between.diagonal().max() < least[~np.eye(3, dtype=bool)].min()


def test_what_is_refused():
    for distances, complaint in (
        (np.zeros((2, 3)), r"must be \(n_topics, n_topics\)"),
        (np.zeros((0, 0)), r"must be \(n_topics, n_topics\)"),
        ([[0.0, -1.0], [-1.0, 0.0]], "not negative"),
        ([[0.0, np.nan], [np.nan, 0.0]], "finite"),
        ([[0.0, 1.0], [0.5, 0.0]], "symmetric"),
        ([[0.1, 1.0], [1.0, 0.0]], "zero diagonal"),
    ):
        with pytest.raises(ValueError, match=complaint):
            topic_map(distances)  # type: ignore[arg-type]
