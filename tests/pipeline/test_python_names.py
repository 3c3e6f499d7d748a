import pytest

from pipeline.errors import UsageError
from pipeline.python_names import python_names, with_python_names


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("--no-below must be at least 1", "no_below must be at least 1"),
        ("choose another --run, or leave it out", "choose another run, or leave it out"),
        (
            "use `python -m pipeline train --run a`: --seed",
            "use `python -m pipeline train --run a`: seed",
        ),
        ("a--b and c --- d", "a--b and c --- d"),
    ],
)
def test_options_become_arguments_outside_of_commands(message, expected):
    assert with_python_names(message) == expected


def test_an_error_keeps_its_place():
    with pytest.raises(UsageError, match=r"^target_se is no number$") as caught, python_names():
        raise UsageError("--target-se is no number")
    assert caught.value.__cause__ is None
    with pytest.raises(KeyError, match="--other"), python_names():
        raise KeyError("--other")
