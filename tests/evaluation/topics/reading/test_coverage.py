import pytest

from benchmarks.reading_intervals import coverage


@pytest.mark.slow
def test_intervals_hold_the_true_value_as_often_as_they_say():
    # A share of 1,500 intervals has a standard error of 0.6 %.
    for kind, (held, stated) in coverage(10, 20, 1, 1.0, 0.6, 1500).items():
        assert stated == 1
        assert 0.93 <= held <= 0.97 + 2 * 0.006, kind
