import errno
import os
import pickle
import shutil
import time
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

from models.saved import write_arrays
from pipeline.cache import keys, results
from pipeline.cache.keys import key_of
from pipeline.cache.results import MAX_AGE, MAX_PARTIAL_AGE, ResultCache, Usage
from tests.fork_server import ForkServer
from tests.pipeline.support import call, flip

KEY, OTHER = key_of("kind", part=1), key_of("kind", part=2)
WORKER = """
import sys
import numpy as np
from pipeline.cache.keys import key_of
from pipeline.cache.results import ResultCache

cache = ResultCache(max_bytes=int(sys.argv[1]))
for i in range(60):
    key = key_of("kind", number=i % 10)
    arrays = {"value": np.full(2000, float(i % 10))}
    found = cache.cached("kind", key, lambda: arrays, dict, dict)
    assert (found["value"] == i % 10).all()
    if i % 20 == 19:
        cache.clear()
"""


def as_arrays(value):
    return {"value": np.asarray(value), "more": np.arange(100.0)}


def from_arrays(arrays):
    assert (arrays["more"] == np.arange(100.0)).all()
    return float(arrays["value"])


@pytest.fixture
def cache(cache_directory):
    found = ResultCache()
    assert found.directory == cache_directory
    return found


def cached(cache, compute, key=KEY):
    found = cache.cached("kind", key, compute, as_arrays, from_arrays)
    assert isinstance(found, float)
    return found


def test_what_is_there_is_not_computed_again(cache):
    compute = mock.Mock(side_effect=[0.1, 0.2])
    assert [cached(cache, compute) for _ in range(3)] == [0.1] * 3
    assert cached(cache, compute, OTHER) == 0.2
    assert compute.call_count == 2
    assert ResultCache().get("kind", KEY, from_arrays) == 0.1
    assert cache.get("another", KEY, from_arrays) is None
    cache.remove("kind", KEY)
    cache.remove("kind", KEY)
    assert cache.get("kind", KEY, from_arrays) is None


def test_where_it_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WIKITOPICS_CACHE", "elsewhere")
    assert ResultCache().directory == tmp_path / "elsewhere"
    assert ResultCache("here").directory == tmp_path / "here"
    monkeypatch.delenv("WIKITOPICS_CACHE")
    cache = ResultCache()
    assert cache.get("kind", KEY, from_arrays) is None
    assert not list(tmp_path.iterdir())  # it is made when there is something to write
    monkeypatch.chdir("/")
    cache.put("kind", KEY, as_arrays(1.0))
    assert (tmp_path / ".wikitopics-cache" / "kind" / f"{KEY}.npz").is_file()


def test_changed_code_is_computed_again(cache):
    def compute():
        return {"value": 1.0}

    counted = mock.Mock(wraps=compute)
    for _ in range(2):
        cache.group("kind", part=1).arrays("name", ("value",), counted)
    assert counted.call_count == 1
    with mock.patch.object(keys, "code_hash", return_value="of other code"):
        cache.group("kind", part=1).arrays("name", ("value",), counted)
    assert counted.call_count == 2


def test_damaged_entries_are_computed_again(cache, caplog):
    caplog.set_level("INFO", "pipeline.cache.results")
    cached(cache, lambda: 0.5)
    path = cache.path("kind", KEY)
    data = path.read_bytes()
    for content in (b"", b"no archive", data[: len(data) // 2], data[:-9]):
        path.write_bytes(content)
        assert cached(cache, lambda: 0.5) == 0.5
        assert path.read_bytes() == data
    assert caplog.text.count(f"{path} cannot be used, its result is computed again") == 4
    n_damaged = 0
    for position in range(0, len(data), 7):
        flip(path, position, position % 8)
        found = cache.get("kind", KEY, from_arrays)
        assert found in (None, 0.5)  # some bits say nothing, such as a date
        n_damaged += found is None
        path.write_bytes(data)
    assert n_damaged > 40


def test_entries_of_something_else_are_computed_again(cache):
    cached(cache, lambda: 0.5)
    path = cache.path("kind", OTHER)
    cache.path("kind", KEY).rename(path)  # of another key
    assert cache.get("kind", OTHER, from_arrays) is None
    write_arrays(path, "wikitopics model", {}, as_arrays(0.5))
    assert cache.get("kind", OTHER, from_arrays) is None
    cache.put("kind", OTHER, {"something": np.arange(3)})
    assert cache.get("kind", OTHER, from_arrays) is None
    path.unlink()
    path.mkdir()
    assert cache.get("kind", OTHER, from_arrays) is None


class _Trap:
    def __reduce__(self):
        return (Path.touch, (Path("sprung"),))


def test_no_pickle_is_ever_loaded(cache, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    trap = np.empty((), dtype=object)
    trap[()] = _Trap()
    path = cache.path("kind", KEY)
    path.parent.mkdir(parents=True)
    path.write_bytes(pickle.dumps(_Trap()))
    assert cache.get("kind", KEY, from_arrays) is None
    with path.open("wb") as stream:
        np.save(stream, trap, allow_pickle=True)
    assert cache.get("kind", KEY, from_arrays) is None
    header = np.frombuffer(b'{"format": "wikitopics result", "version": 1}', np.uint8)
    with path.open("wb") as stream:
        np.savez(stream, header=header, value=trap)
    assert cache.get("kind", KEY, from_arrays) is None
    assert not Path("sprung").exists()
    with pytest.raises(ValueError, match="Object arrays"):
        cache.put("kind", KEY, {"value": trap})
    # the control: the trap is one
    pickle.loads(pickle.dumps(_Trap()))
    assert Path("sprung").exists()


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_what_cannot_be_written_costs_a_warning(cache, caplog, number):
    error = OSError(number, os.strerror(number))
    with mock.patch.object(results, "write_arrays", side_effect=error):
        for key in (KEY, OTHER, KEY):
            assert cached(ResultCache(), lambda: 0.5, key) == 0.5
    assert caplog.text.count("results are not cached, and will be computed again") == 1
    assert os.strerror(number) in caplog.text
    assert cache.get("kind", KEY, from_arrays) is None
    cached(cache, lambda: 0.5)  # there is room again
    assert cache.get("kind", KEY, from_arrays) == 0.5


def test_a_file_in_the_place_of_the_directory(cache_directory, caplog):
    cache_directory.parent.mkdir(exist_ok=True)
    cache_directory.write_text("")
    for _ in range(2):
        assert cached(ResultCache(), lambda: 0.5) == 0.5
    assert (caplog.text.count("results are not cached"), cache_directory.read_text()) == (1, "")
    assert ResultCache().size() == {}
    assert ResultCache().clear() == Usage(0, 0)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_directory_that_is_read_only(cache, caplog):
    cached(cache, lambda: 0.5)
    directory = cache.path("kind", KEY).parent
    directory.chmod(0o500)
    try:
        assert cached(cache, lambda: 0.7) == 0.5
        assert cached(cache, lambda: 0.7, OTHER) == 0.7
    finally:
        directory.chmod(0o700)
    assert caplog.text.count("results are not cached") == 1


def keys_of(number):
    return [key_of("kind", number=n) for n in range(number)]


def age(cache, key, seconds):
    then = time.time() - seconds
    os.utime(cache.path("kind", key), (then, then))


def left(cache, keys):
    return [n for n, key in enumerate(keys) if cache.path("kind", key).exists()]


def test_the_least_recently_used_go_where_there_is_too_much(cache_directory):
    found, whole = keys_of(6), ResultCache()
    for n, key in enumerate(found[:5]):
        whole.put("kind", key, as_arrays(n))
        age(whole, key, 1000 - n)
    size = whole.path("kind", found[0]).stat().st_size
    small = ResultCache(cache_directory, max_bytes=4 * size)
    assert small.get("kind", found[1], from_arrays) == 1.0  # used: it is among the latest now
    small.put("kind", found[5], as_arrays(5.0))
    assert left(small, found) == [1, 3, 4, 5]
    assert sum(each.bytes for each in small.size().values()) <= 4 * size


def test_an_entry_that_was_just_written_stays(cache_directory):
    found, tiny = keys_of(2), ResultCache(cache_directory, max_bytes=10)
    for key in found:
        tiny.put("kind", key, as_arrays(1.0))
        assert tiny.get("kind", key, from_arrays) == 1.0
    assert left(tiny, found) == [1]


def test_what_was_not_used_for_long_goes(cache):
    found = keys_of(4)
    for key in found[:3]:
        cache.put("kind", key, as_arrays(0.0))
    for key, seconds in zip(found, (MAX_AGE + 60, MAX_AGE + 60, MAX_AGE - 60), strict=False):
        age(cache, key, seconds)
    assert cache.get("kind", found[1], from_arrays) == 0.0
    ResultCache().put("other kind", found[3], as_arrays(0.0))  # as another command would
    assert left(cache, found) == [1, 2]


def test_what_killed_processes_left_goes_and_what_is_being_written_stays(cache):
    directory = cache.directory / "kind"
    directory.mkdir(parents=True)
    old, new = (directory / f".{key}.npz.0123abcd.partial" for key in keys_of(2))
    old.touch()
    new.touch()
    then = time.time() - MAX_PARTIAL_AGE - 60
    os.utime(old, (then, then))
    cache.put("kind", KEY, as_arrays(0.0))
    assert not old.exists()
    assert new.exists()


def test_not_every_entry_is_looked_at_every_time(cache):
    with mock.patch.object(ResultCache, "_prune") as prune:
        for key in keys_of(20):
            cache.put("kind", key, as_arrays(0.0))
    assert prune.call_count == 1


def test_other_files_are_never_deleted(cache_directory):
    tiny = ResultCache(cache_directory, max_bytes=1)
    (cache_directory / "kind").mkdir(parents=True)
    mine = [cache_directory / "thesis.txt", cache_directory / "kind" / "model.npz"]
    for path in mine:
        path.write_text("mine")
        os.utime(path, (0, 0))
    tiny.put("kind", KEY, as_arrays(0.0))
    assert tiny.size() == {"kind": Usage(1, tiny.path("kind", KEY).stat().st_size)}
    assert tiny.clear().entries == 1
    assert all(path.read_text() == "mine" for path in mine)


@pytest.fixture(scope="module")
def server():
    with ForkServer("import numpy, pipeline.cache.keys, pipeline.cache.results") as server:
        yield server


@pytest.mark.parametrize("max_bytes", [2**30, 50_000])
def test_two_processes_at_once(cache, max_bytes, server):
    two = "import os\nchild = os.fork()\n"
    end = "if child:\n    assert os.waitpid(child, 0)[1] == 0\n"
    assert "cannot be used" not in server.run(two + WORKER + end, str(max_bytes))
    assert not list(cache.directory.rglob("*.partial"))


def test_a_directory_that_another_process_deletes_meanwhile_is_made_again(cache, caplog):
    other, attempts = ResultCache(cache.directory), []
    cache.put("kind", OTHER, as_arrays(0.0))

    def write(path):
        attempts.append(path)
        if len(attempts) == 1:
            other.clear()
        path.write_bytes(b"found")

    cache.write("kind", KEY, write)
    assert cache.path("kind", KEY).read_bytes() == b"found"
    assert (len(attempts), caplog.records) == (2, [])


@pytest.mark.parametrize("gone", ["kind", "."])
def test_directories_that_vanish_while_they_are_looked_at(cache, monkeypatch, gone):
    cache.put("kind", KEY, as_arrays(0.0))
    looked_at = Path.iterdir

    def vanishing(path):
        if path == cache.directory / gone:
            shutil.rmtree(path)
        return looked_at(path)

    monkeypatch.setattr(Path, "iterdir", vanishing)
    assert cache.clear() == Usage(0, 0)


def test_results_of_a_group_have_names_of_their_own(cache):
    compute = mock.Mock(return_value={"a": np.arange(3), "b": 0.5})
    group = cache.group("kind", seed=1, X=np.arange(4))
    for _ in range(2):
        found = group.arrays("one", ("a", "b"), compute)
        assert (found["a"].tolist(), float(found["b"])) == ([0, 1, 2], 0.5)
    assert compute.call_count == 1
    compute.return_value = {"a": np.arange(2), "c": np.ones(2)}
    assert list(group.arrays("one", ("a", "c"), compute)) == ["a", "c"]  # other fields than cached
    group.arrays("two", ("a", "c"), compute)
    cache.group("kind", seed=2, X=np.arange(4)).arrays("one", ("a", "c"), compute)
    cache.group("other", seed=1, X=np.arange(4)).arrays("one", ("a", "c"), compute)
    assert compute.call_count == 5
    cache.group("kind", X=np.arange(4), seed=1).arrays("one", ("a", "c"), compute)
    assert compute.call_count == 5


def test_the_command_says_what_there_is_and_deletes_it(cache, tmp_path):
    for kind, key in (("scores", KEY), ("scores", OTHER), ("allocation", KEY)):
        cache.put(kind, key, as_arrays(0.0))
    sizes = {kind: each.bytes for kind, each in cache.size().items()}
    found = call("cache", "--json", cwd=tmp_path).result
    assert found["directory"] == str(cache.directory)
    assert (found["entries"], found["bytes"], found["cleared"]) == (3, sum(sizes.values()), False)
    assert found["kinds"]["scores"] == {"entries": 2, "bytes": sizes["scores"]}
    shown = call("cache", cwd=tmp_path).out
    assert shown.splitlines()[0] == str(cache.directory)
    assert [line.split()[0] for line in shown.splitlines()[1:]] == ["allocation", "scores", "in"]
    outcome = call("cache", "--clear", cwd=tmp_path)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.splitlines()[-1].split()[:2] == ["deleted", "3"]
    assert not cache.directory.exists()
    again = call("cache", "--clear", "--json", cwd=tmp_path).result
    assert (again["entries"], again["bytes"], again["kinds"]) == (0, 0, {})
