import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

from corpora import ArticleStore, Corpus
from pipeline.errors import exit_code_of
from tests.pipeline.support import TINY, arrays_of, call, write_jsonl

resource = pytest.importorskip("resource")


@pytest.fixture
def small_disk(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root may mount a file system")
    try:
        yield disk
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def fill(disk, left):
    ballast, status = disk / "ballast", os.statvfs(disk)
    with ballast.open("wb") as stream:
        stream.write(bytes(status.f_bavail * status.f_frsize - left))
    return ballast


def refused(*argv, cwd):
    error = call(*argv, cwd=cwd).failed(75)
    assert "the disk is full" in error
    assert "give the same command again to go on" in error


@pytest.mark.parametrize("left", [0, 4096, 16384, 32768])
def test_full_while_downloading(small_disk, tmp_path, left):
    path = write_jsonl(tmp_path / "x.jsonl", 1000, n_words=100)
    argv = ("download", "--source", "jsonl", "--input", path)
    ballast = fill(small_disk, left)
    refused(*argv, cwd=small_disk)
    store, n_kept = ArticleStore(small_disk / "articles"), 0
    if store.exists:
        store.verify()
        n_kept = len(store)
    assert n_kept < 1000
    ballast.unlink()
    result = call(*argv, "--json", cwd=small_disk).result
    assert (result["added"], result["articles"]) == (1000 - n_kept, 1000)
    store.verify()


def check_it_goes_on(argv, small_disk, tiny_finished):
    assert call(*argv, cwd=small_disk).code == 0
    expected = arrays_of(tiny_finished / "runs/tiny/model.npz")
    assert arrays_of(small_disk / "runs/full/model.npz") == expected


@pytest.mark.slow
@pytest.mark.parametrize("left", [0, 8192, 16384])
@pytest.mark.parametrize("threads", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_full_in_the_text_stage(small_disk, untouched, tiny_finished, left, threads):
    shutil.copytree(untouched / "articles", small_disk / "articles")
    argv = ("train", "--run", "full", *TINY, "--threads", threads)
    ballast = fill(small_disk, left)
    refused(*argv, cwd=small_disk)
    ballast.unlink()
    ArticleStore(small_disk / "articles").verify()
    check_it_goes_on(argv, small_disk, tiny_finished)


@pytest.mark.parametrize("left", range(16384, 120_000, 16384))
def test_full_while_counting_or_training(small_disk, tiny_finished, left):
    shutil.copytree(tiny_finished / "articles", small_disk / "articles")
    argv = ("train", "--run", "full", *TINY)
    ballast, outcome = fill(small_disk, left), call(*argv, cwd=small_disk)
    if outcome.code != 0:
        assert "the disk is full" in outcome.failed(75)
        assert not (small_disk / "runs/full/model.npz").exists()
    ballast.unlink()
    check_it_goes_on(argv, small_disk, tiny_finished)


def test_full_while_a_large_corpus_is_saved(small_disk):
    counts = sparse.csr_array(np.ones((1000, 2000), dtype=np.int32))
    words = tuple(f"word{w}" for w in range(2000))
    corpus = Corpus(counts, words, tuple(f"en:{d}" for d in range(1000)))
    with pytest.raises(OSError) as raised:  # noqa: PT011
        corpus.save(small_disk / "corpus")
    assert not list((small_disk / "corpus").glob("header.json"))
    assert exit_code_of(raised.value) == 75


@pytest.mark.slow
def test_the_largest_file_allowed(tiny):
    # What quotas and `ulimit -f` do; needs no root.
    limit = 20_000
    program = [
        sys.executable,
        "-c",
        "import sys; from pipeline.cli import main; sys.exit(main(sys.argv[1:]))",
    ]
    argv = ["train", "--run", "full", *TINY, "--topics", "200"]
    done = subprocess.run(
        [*program, *argv],
        capture_output=True,
        text=True,
        cwd=tiny,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    assert done.returncode == 75, done
    assert "the disk is full" in done.stderr
    assert call(*argv, cwd=tiny).code == 0
