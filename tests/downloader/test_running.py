"""Whether a download is running is what the locks say, whoever holds them and however they end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from corpora import writer_lock
from downloader.running import download_is_running

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("where", ["", "download"])
def test_a_held_lock_is_a_running_download(tmp_path: Path, where: str) -> None:
    directory = tmp_path / "store" / where
    directory.mkdir(parents=True)
    assert not download_is_running(tmp_path / "store")
    with writer_lock(directory):
        assert download_is_running(tmp_path / "store")
        assert download_is_running(tmp_path / "store")
    assert not download_is_running(tmp_path / "store")
    with writer_lock(directory):  # looking has left nothing locked
        pass


def test_looking_makes_nothing(tmp_path: Path) -> None:
    assert not download_is_running(tmp_path / "nosuch")
    assert not download_is_running(tmp_path)
    (tmp_path / "download").touch()  # not a directory
    assert not download_is_running(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["download"]
