import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpora import array_file
from corpora.array_file import ArrayFile, release
from corpora.files import remove_partial_files


@settings(deadline=None, max_examples=50)
@given(
    parts=st.lists(st.lists(st.integers(0, 200), max_size=9), max_size=4),
    dtypes=st.tuples(*2 * [st.sampled_from([np.uint8, np.int32, np.int64])]),
)
def test_the_file_is_what_numpy_saves(tmp_path_factory, parts, dtypes):
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


def test_until_it_is_finished_it_is_a_partial_file(tmp_path):
    files = [ArrayFile(tmp_path, name, np.int32) for name in ("a", "a", "b")]
    assert len(list(tmp_path.iterdir())) == 3
    files[0].discard()
    assert len(list(tmp_path.iterdir())) == 2
    remove_partial_files(tmp_path)
    assert list(tmp_path.iterdir()) == []


def resident(path):
    maps, of_file = Path("/proc/self/smaps").read_text().splitlines(), False
    total = 0
    for line in maps:
        if "-" in line.split(" ")[0]:
            of_file = line.endswith(str(path))
        elif of_file and line.startswith("Rss:"):
            total += 1024 * int(line.split()[1])
    return total


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="needs Linux's /proc")
def test_pages_that_were_read_are_given_back(tmp_path):
    path, numbers = tmp_path / "numbers.npy", np.arange(1 << 20)
    np.save(path, numbers)
    mapped = np.asarray(np.load(path, mmap_mode="r"))
    part = mapped[5:][::2]
    assert int(mapped.sum()) == int(numbers.sum())
    assert resident(path) > numbers.nbytes // 2
    release(part)
    assert resident(path) == 0
    assert np.array_equal(mapped, numbers)


def test_memory_that_may_have_been_written_to_is_left_alone(tmp_path):
    np.save(tmp_path / "numbers.npy", np.zeros(5000))
    for mode in ("c", "r+"):
        mapped = np.load(tmp_path / "numbers.npy", mmap_mode=mode)
        mapped[:] = 1
        release(mapped, mapped[10:])
        assert mapped.min() == 1, mode
    numbers = np.ones(5000)
    release(numbers, numbers[:5], np.frombuffer(b"12345678"))
    assert numbers.min() == 1
