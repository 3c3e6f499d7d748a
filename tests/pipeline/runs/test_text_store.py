import pytest

from corpora import Article, ArticleStore, CorpusFormatError
from pipeline.text.text_store import stored_texts


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
        assert list((tmp_path / "runs").iterdir()) == []
