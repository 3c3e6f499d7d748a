"""Pictures: what is written, under which names, and what an equal one is."""

from __future__ import annotations

import struct
import sys
from typing import TYPE_CHECKING
from unittest import mock

import pytest

from corpora import MissingExtraError
from pipeline.pictures import write_pictures

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any


def draw(figure: Any) -> None:
    figure.set_size_inches(2, 1)
    figure.subplots().plot([1, 2], [3, 4], label="a")


def test_equal_results_give_equal_pictures(tmp_path: Path) -> None:
    names = [path.name for path in write_pictures({"b": draw, "a": draw}, tmp_path)]
    assert names == ["b.svg", "b.png", "a.svg", "a.png"]
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert not list(tmp_path.glob(".*"))


def test_a_picture_sets_its_size(tmp_path: Path) -> None:
    write_pictures({"small": draw, "usual": lambda figure: figure.subplots()}, tmp_path)
    for name, inches in (("small", (2, 1)), ("usual", (10, 6))):
        head = (tmp_path / f"{name}.png").read_bytes()[16:24]
        assert struct.unpack(">II", head) == tuple(150 * each for each in inches)


def test_without_matplotlib_nothing_is_drawn(tmp_path: Path) -> None:
    never = mock.Mock()
    with (
        mock.patch.dict(sys.modules, {"matplotlib": None}),
        pytest.raises(MissingExtraError, match="matplotlib is not installed: pip install"),
    ):
        write_pictures({"a": never}, tmp_path)
    assert not never.called
    assert not list(tmp_path.iterdir())
