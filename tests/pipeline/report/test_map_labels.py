import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.report.figures.map_labels import MapLabels

ROOM = (0.0, 300.0, 0.0, 300.0)
SIZES = (6.0, 11.0)


def labels_of(where, radius):
    return MapLabels(np.array(where, dtype=float), np.array(radius, dtype=float), ROOM, SIZES)


def distance(placed, point):
    return np.hypot(placed.x - point[0], placed.y - point[1])


def test_number_is_in_the_middle_of_a_circle_alone():
    placed = labels_of([[100, 100], [200, 200]], [20, 20]).inside(1, "1")
    assert (placed.x, placed.y, placed.size) == (200, 200, SIZES[1])


def test_number_is_where_no_other_circle_is():
    where, radius = [[100, 100], [112, 100]], [25, 14]
    placed = labels_of(where, radius).inside(0, "0")
    assert distance(placed, where[0]) < radius[0]
    assert distance(placed, where[1]) > radius[1]


def test_circles_with_one_middle_have_both_numbers():
    labels = labels_of([[100, 100], [100, 100]], [40, 18])
    first, second = labels.inside(0, "10"), labels.inside(1, "11")
    assert distance(first, (100, 100)) > 18  # beside the small circle, on the large one
    assert (second.x, second.y) == (100, 100)


@given(
    st.lists(
        st.tuples(st.floats(30, 270), st.floats(30, 270), st.floats(3, 30)), min_size=1, max_size=12
    )
)
def test_numbers_are_in_their_circles_and_apart(circles):
    where, radius = [each[:2] for each in circles], [each[2] for each in circles]
    labels = labels_of(where, radius)
    found = {k: labels.inside(k, str(k)) for k in range(len(circles))}
    placed = {k: each for k, each in found.items() if each is not None}
    for k, each in placed.items():
        assert distance(each, where[k]) < radius[k]
        for m, other in placed.items():
            assert m == k or distance(each, (other.x, other.y)) > 0.4 * SIZES[0]


def test_number_of_a_circle_too_small_for_it_is_left_out():
    assert labels_of([[100, 100]], [2]).inside(0, "10") is None
    assert labels_of([[100, 100]], [2]).beside(0, "10").x == pytest.approx(100, abs=20)
