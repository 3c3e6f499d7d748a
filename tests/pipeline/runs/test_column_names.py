import re

import pytest

from pipeline.runs.column_names import free_names

OURS = re.compile(r"part|topic_\d+")


@pytest.mark.parametrize(
    ("names", "free"),
    [
        (["stars", "part"], ["stars", "part_"]),
        (["part", "part_"], ["part__", "part_"]),
        (["part_", "part__", "part"], ["part_", "part__", "part___"]),
        (["topic_0", "topic", "topic_x"], ["topic_0_", "topic", "topic_x"]),
        ([], []),
    ],
)
def test_names_that_are_ours_get_an_end_and_all_differ(names, free):
    assert free_names(names, OURS) == free
