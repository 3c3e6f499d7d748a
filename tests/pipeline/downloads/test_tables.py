import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from corpora import ArticleStore
from tests.pipeline import support

REVIEWS = "id,review,rating\na7,Good and warm,4\nb2,Too small,2\n"


def download(source, name, *more, cwd, code=0):
    outcome = support.call("download", "--source", source, name, *more, cwd=cwd)
    return outcome.failed(code) if code else outcome


def test_a_csv_fills_a_store_with_its_columns_and_a_record(tmp_path):
    (tmp_path / "r.csv").write_text(REVIEWS)
    result = download("csv", "r.csv", "--json", cwd=tmp_path).result
    assert (result["added"], result["articles"]) == (2, 2)
    store = ArticleStore(tmp_path / "articles")
    store.verify()
    assert [a.columns["rating"] for a in store] == ["4", "2"]
    (file,) = (tmp_path / "articles" / "download").glob("input-*.json")
    record = json.loads(file.read_text())
    assert record["input"] == str(tmp_path / "r.csv")
    assert record["files"] == [["r.csv", len(REVIEWS)]]
    assert record["articles_read"] == 2
    assert "text in 'review', ids in 'id'" in record["describe"]
    again = download("csv", "r.csv", "--json", cwd=tmp_path).result
    assert (again["added"], again["already_there"]) == (0, 2)


def test_a_folder_of_parquet_and_a_folder_of_texts(tmp_path):
    (tmp_path / "wiki").mkdir()
    for n in range(2):
        url = [f"https://de.wikipedia.org/wiki/T{n}"]
        columns = {"id": [str(n)], "url": url, "title": [f"T{n}"], "text": [f"Text {n}."]}
        pq.write_table(pa.table(columns), tmp_path / "wiki" / f"{n}.parquet")
    download("parquet", "wiki", cwd=tmp_path)
    store = ArticleStore(tmp_path / "articles")
    assert [(a.document_id, a.text) for a in store] == [("de:0", "Text 0."), ("de:1", "Text 1.")]
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "a.txt").write_text("Dear all")
    result = download("folder", "letters", "--json", cwd=tmp_path).result
    assert (result["added"], result["articles"]) == (1, 3)


def test_numbered_rows_do_not_mix_with_others(tmp_path):
    (tmp_path / "a.csv").write_text("text\nOne.\n")
    (tmp_path / "b.csv").write_text("text\nOther.\n")
    download("csv", "a.csv", cwd=tmp_path)
    download("csv", "a.csv", cwd=tmp_path)
    error = download("csv", "b.csv", cwd=tmp_path, code=2)
    assert "b.csv has no ids" in error
    assert [a.text for a in ArticleStore(tmp_path / "articles")] == ["One."]


@pytest.mark.parametrize(
    ("content", "more", "code", "why"),
    [
        (REVIEWS, ["--text-column", "body"], 3, "no column 'body'; the columns are 'id', 'review'"),
        ("id,text\n1,a\n1,b\n", [], 3, "line 3, column 'id': the id 1 is that of line 2 too"),
        ('id,text\n1,"a\n2,b\n', [], 3, "line 2: a quote is opened here"),
    ],
)
def test_a_bad_table_is_one_line(tmp_path, content, more, code, why):
    (tmp_path / "x.csv").write_text(content)
    error = download("csv", "x.csv", *more, cwd=tmp_path, code=code)
    assert why in error
    assert len(error.strip().splitlines()) == 1


def test_columns_belong_to_tables(tmp_path):
    (tmp_path / "x.jsonl").write_text('{"title": "T", "text": "a"}\n')
    assert "no columns" in download("jsonl", "x.jsonl", "--id-column", "k", cwd=tmp_path, code=2)
