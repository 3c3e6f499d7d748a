from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pipeline.figures.text_width import text_width
from pipeline.report.figures.map_labels import MapLabels

ROOM = (0.0, 300.0, 0.0, 300.0)
SIZES = (6.0, 11.0)


def labels_of(where, radius):
    return MapLabels(np.array(where, dtype=float), np.array(radius, dtype=float), ROOM, SIZES)


def box_of(placed):
    wide, high = text_width(placed.text, placed.size) / 2, 0.85 * placed.size / 2
    return placed.x - wide, placed.x + wide, placed.y - high, placed.y + high


def farthest(placed, point):
    """Distance of the farthest corner of a number from a point."""
    left, right, bottom, top = box_of(placed)
    return max(np.hypot(x - point[0], y - point[1]) for x in (left, right) for y in (bottom, top))


def nearest(placed, point):
    left, right, bottom, top = box_of(placed)
    return np.hypot(
        np.clip(point[0], left, right) - point[0], np.clip(point[1], bottom, top) - point[1]
    )


def overlap(one, other):
    (a, b, c, d), (e, f, g, h) = box_of(one), box_of(other)
    return a < f and e < b and c < h and g < d


def test_number_is_in_the_middle_of_a_circle_alone():
    placed = labels_of([[100, 100], [200, 200]], [20, 20]).inside(1, "1")
    assert (placed.x, placed.y, placed.size) == (200, 200, SIZES[1])


def test_number_is_where_no_other_circle_is():
    where, radius = [[100, 100], [112, 100]], [25, 14]
    placed = labels_of(where, radius).inside(0, "0")
    assert farthest(placed, where[0]) < radius[0]
    assert nearest(placed, where[1]) > radius[1]


def test_circles_with_one_middle_have_both_numbers():
    labels = labels_of([[100, 100], [100, 100]], [40, 18])
    first, second = labels.inside(0, "10"), labels.inside(1, "11")
    assert nearest(first, (100, 100)) > 18  # beside the small circle, on the large one
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
        assert farthest(each, where[k]) < radius[k] + 1e-6
    assert not any(overlap(one, other) for one, other in combinations(placed.values(), 2))


def test_number_of_a_circle_too_small_for_it_is_left_out():
    assert labels_of([[100, 100]], [2]).inside(0, "10") is None
    placed = labels_of([[100, 100]], [2]).beside(0, "10")
    assert box_of(placed)[0] > 102
    assert placed.y == 100
