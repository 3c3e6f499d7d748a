import signal
import subprocess
import sys
from pathlib import Path

import pytest

from corpora import Article, ArticleStore, CorpusFormatError
from pipeline.text.text_store import stored_texts

ROOT = Path(__file__).parents[3]


def articles(number, text="text"):
    return (Article(i, 0, str(i), "", "", "en", "", f"{text} {i}") for i in range(1, number + 1))


def test_the_same_texts_are_stored_once_and_others_beside_them(tmp_path):
    path = stored_texts(articles(300), tmp_path / "runs")
    assert [each.text for each in ArticleStore(path)] == [f"text {i}" for i in range(1, 301)]
    ArticleStore(path).verify()
    written = {each: each.stat().st_mtime_ns for each in path.rglob("*")}
    assert stored_texts(articles(300), tmp_path / "runs") == path
    assert {each: each.stat().st_mtime_ns for each in path.rglob("*")} == written
    other = stored_texts(articles(300, "other"), tmp_path / "runs")
    assert sorted((tmp_path / "runs").iterdir()) == sorted([path, other])


def test_an_error_in_the_middle_leaves_nothing(tmp_path):
    def broken():
        yield from articles(600)
        raise KeyError("no more")

    for texts, error in ((broken(), KeyError), (iter([]), CorpusFormatError)):
        with pytest.raises(error):
            stored_texts(texts, tmp_path / "runs")
        assert not (tmp_path / "runs").exists()


def test_what_a_killed_process_left_is_deleted_and_what_another_reads_is_not(tmp_path):
    code = (
        "import os, signal, sys; from pathlib import Path; from corpora import Article\n"
        "from pipeline.text.text_store import stored_texts\n"
        "def articles():\n"
        "    for i in range(1, 1200):\n"
        "        yield Article(i, 0, str(i), '', '', 'en', '', 'text')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "stored_texts(articles(), Path(sys.argv[1]))"
    )
    runs = tmp_path / "runs"
    done = subprocess.run([sys.executable, "-c", code, runs], cwd=ROOT, check=False)
    assert done.returncode == -signal.SIGKILL
    assert list(runs.glob(".texts-*.partial/store/shards/*"))

    def during():
        (reading,) = runs.glob(".texts-*.partial")  # ours: that of the killed one is deleted
        other = stored_texts(articles(3), runs)
        assert sorted(runs.iterdir()) == sorted([reading, other])
        yield from articles(4)

    stored_texts(during(), runs)
    assert len(list(runs.iterdir())) == len(list(runs.glob("texts-*"))) == 2


def test_texts_that_another_process_has_just_stored_are_taken(tmp_path):
    def meanwhile():
        yield from articles(3)
        stored_texts(articles(3), tmp_path)

    path = stored_texts(meanwhile(), tmp_path)
    assert len(ArticleStore(path)) == 3
    assert list(tmp_path.iterdir()) == [path]
