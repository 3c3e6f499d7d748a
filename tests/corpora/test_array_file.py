"""Growing .npy files, against `np.save`."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpora import array_file
from corpora.array_file import ArrayFile
from corpora.files import remove_partial_files

if TYPE_CHECKING:
    from pathlib import Path


@settings(deadline=None, max_examples=50)
@given(
    parts=st.lists(st.lists(st.integers(0, 200), max_size=9), max_size=4),
    dtypes=st.tuples(*2 * [st.sampled_from([np.uint8, np.int32, np.int64])]),
)
def test_the_file_is_what_numpy_saves(
    tmp_path_factory: pytest.TempPathFactory, parts: list[list[int]], dtypes: tuple[type, type]
) -> None:
    directory = tmp_path_factory.mktemp("arrays")
    file = ArrayFile(directory, "numbers", dtypes[0])
    for part in parts:
        file.append(np.array(part, dtype=np.int64))
    whole = np.array([n for part in parts for n in part], dtype=dtypes[1])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(array_file, "CHUNK_BYTES", 16)
        file = file.converted(dtypes[1])
        chunks = list(file.chunks())
    assert np.concatenate([whole[:0], *chunks]).tolist() == whole.tolist()
    assert file.read(0, len(whole)).dtype == dtypes[1]
    file.finish(directory / "done.npy")
    file.discard()
    saved = io.BytesIO()
    np.save(saved, whole)
    assert (directory / "done.npy").read_bytes() == saved.getvalue()
    assert [path.name for path in directory.iterdir()] == ["done.npy"]


def test_until_it_is_finished_it_is_a_partial_file(tmp_path: Path) -> None:
    files = [ArrayFile(tmp_path, name, np.int32) for name in ("a", "a", "b")]
    assert len(list(tmp_path.iterdir())) == 3
    files[0].discard()
    assert len(list(tmp_path.iterdir())) == 2
    remove_partial_files(tmp_path)
    assert list(tmp_path.iterdir()) == []
