import gzip
import json
import os
import sys

import pytest

from corpora import ArticleStore, CorpusFormatError, MissingExtraError
from corpora.formats.registry import UnknownFormatError
from corpora.inputs import find_input


def write(path, content):
    data = content if isinstance(content, bytes) else content.encode()
    path.write_bytes(data)
    return path


REVIEWS = 'id,review,rating\na7,"Good, warm\nand ""soft""",4\nb2,Too small,2\nc3, ,1\n'


def test_csv_of_reviews(tmp_path):
    found = find_input(write(tmp_path / "reviews.csv", REVIEWS))
    assert (found.format, found.kind) == ("csv", "texts")
    assert found.describe() == (
        f"{tmp_path}/reviews.csv: CSV, text in 'review', ids in 'id', with 'rating'"
    )
    first, second = found.articles()
    assert (first.text, first.title) == ('Good, warm\nand "soft"', "a7")
    assert first.columns == {"id": "a7", "rating": "4"}
    assert first.page_id < 0
    assert second.text == "Too small"


def test_folder_of_texts(tmp_path):
    (tmp_path / "b").mkdir()
    write(tmp_path / "b" / "1.txt", b"\xef\xbb\xbfDear\r\nall")
    write(tmp_path / "a.txt", "Caf\u0065\u0301")
    write(tmp_path / "read.me", b"\xff")
    write(tmp_path / "empty.txt", "\n")
    found = find_input(tmp_path)
    assert (found.format, found.kind) == ("folder", "texts")
    assert found.describe() == f"{tmp_path}: folder of 3 texts"
    texts = {article.title: article.text for article in found.articles()}
    assert texts == {"a.txt": "Café", "b/1.txt": "Dear\nall"}


def test_json_lines_of_texts_and_of_counts(tmp_path):
    rows = [{"page_id": 3, "title": "A", "text": "x", "language": "de", "k": 1.5}, {"text": ""}]
    texts = find_input(write(tmp_path / "a.jsonl", "\n".join(map(json.dumps, rows[:1])) + "\n"))
    (article,) = texts.articles()
    assert (article.page_id, article.language, article.columns) == (
        3,
        "de",
        {"language": "de", "k": 1.5},
    )
    english = {"text": "x", "language": "English", "timestamp": "2020-01-02"}
    (article,) = find_input(write(tmp_path / "c.jsonl", json.dumps(english))).articles()
    assert (article.language, article.timestamp) == ("en", "2020-01-02")
    assert article.columns == {"language": "English", "timestamp": "2020-01-02"}
    counts = find_input(write(tmp_path / "b.jsonl", '{"id": "x", "counts": {"a": 2}}\n'))
    assert counts.kind == "counts"
    assert counts.corpus().vocabulary == ("a",)


def test_a_folder_of_json_lines(tmp_path):
    for number in (2, 1):
        rows = [{"id": f"{number}-{i}", "text": f"text {i}"} for i in range(2)]
        write(tmp_path / f"wiki_{number}.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    found = find_input(tmp_path)
    assert "2 files of JSON lines" in found.describe()
    assert [a.title for a in found.articles()] == ["1-0", "1-1", "2-0", "2-1"]
    write(tmp_path / "wiki_3.jsonl", '{"id": "1-1", "text": "again"}\n')
    why = r"row 5 \(line 1 of wiki_3.jsonl\), column 'id': the id '1-1' is that of row 2 too"
    with pytest.raises(CorpusFormatError, match=why):
        list(find_input(tmp_path).articles())


def test_a_folder_of_tables(tmp_path):
    write(tmp_path / "a.csv", 'id,text,stars\n1,"one, and\nmore",5\n2,two,4\n')
    (tmp_path / "b").mkdir()
    write(tmp_path / "b" / "c.tsv.gz", gzip.compress(b"text\tid\tyear\nthree\t3\t1990\n"))
    write(tmp_path / "read.me", "no table")
    found = find_input(tmp_path)
    assert found.describe() == (
        f"{tmp_path}: 2 files of CSV, text in 'text', ids in 'id', with 'stars'"
    )
    assert [(a.page_id, a.text, dict(a.columns)) for a in found.articles()] == [
        (1, "one, and\nmore", {"stars": "5"}),
        (2, "two", {"stars": "4"}),
        (3, "three", {"year": "1990"}),
    ]
    before = found.stamp()
    write(tmp_path / "d.csv", "text,id\nfour,2\n")
    assert find_input(tmp_path).stamp() != before
    why = r"row 4 \(line 2 of d.csv\), column 'id': the id 2 is that of row 2 too"
    with pytest.raises(CorpusFormatError, match=why):
        list(find_input(tmp_path).articles())
    write(tmp_path / "d.csv", "body,id\nfour,4\n")
    with pytest.raises(CorpusFormatError, match=r"d\.csv: there is no column 'text', which a.csv"):
        find_input(tmp_path)
    write(tmp_path / "letter.txt", "a list of the texts may lie beside them")
    assert find_input(tmp_path).describe() == f"{tmp_path}: folder of 1 text"
    with pytest.raises(CorpusFormatError, match=r"no file in this folder ends in \.parquet"):
        find_input(tmp_path, "parquet")


def test_a_store_is_a_store(tmp_path):
    articles = list(find_input(write(tmp_path / "r.csv", REVIEWS)).articles())
    ArticleStore(tmp_path / "store").append(articles)
    found = find_input(tmp_path / "store")
    assert found.kind == "store"
    assert list(found.articles()) == articles


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("id,text\n1,a\n2,b,c\n", r"line 3: expected 2 fields .* found 3"),
        ("id,text\n1,a\n1,b\n", r"line 3, column 'id': the id 1 is that of line 2 too"),
        ("id,text\n1,a\n,b\n", r"line 3, column 'id': no id"),
        ('id,text\n1,a\n2,"open\n3,more\n', r"line 3: a quote is opened here"),
        ('id,text\n1,a\n2,"open\n3,"more"\n', r"line 3: a quote is opened here"),
        (b"id,text\n1,a\n2,caf\xe9\n", r"line 3: not valid UTF-8 .*; convert the file to UTF-8"),
        ("id,text\n1,a\n2,nan\n", r"line 3, column 'text': expected a text, found nan"),
        ("id,text\n1,2.5\n2,3\n", r"line 2, column 'text': expected a text, found the number 2.5"),
        ("id,id\n1,2.5\n", r"line 1: two columns are called 'id'"),
        ("a,b\nx,y\n", r"which column is the text\?.*the columns are 'a', 'b'"),
        ("a,b\n1,2\n", r"no column holds strings"),
        ("", "line 1: expected the names of the columns"),
    ],
)
def test_a_bad_csv_is_one_line_that_names_the_place(tmp_path, content, why):
    path = write(tmp_path / "bad.csv", content)
    with pytest.raises(CorpusFormatError, match=rf"bad\.csv.*{why}") as caught:
        list(find_input(path).articles())
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("old.csv", "id,text\r1,a\r2,b\r", "line 1: a carriage return outside of quotes"),
        (
            "novel.txt",
            "It was a dark night.\n",
            "one file of text is one document; name the folder",
        ),
        ("list.json", '\ufeff[{"text": "a"}]', "a list of JSON; write an object a line"),
        ("Reviews.XLSX", b"PK\3\4", "spreadsheets are not read; save the table as CSV"),
        ("one.json", '{"text":\n"a"}', "line 1: not valid JSON .*; each line must hold one whole"),
    ],
)
def test_what_is_nearly_right_is_told_what_to_do(tmp_path, name, content, why):
    with pytest.raises(CorpusFormatError, match=why):
        find_input(write(tmp_path / name, content))


def test_what_commands_write_into_a_folder_is_none_of_its_texts(tmp_path):
    write(tmp_path / "letter.txt", "a letter")
    before = find_input(tmp_path)
    run, store = tmp_path / "runs" / "online-25", tmp_path / "runs" / "texts-0123"
    (run / "corpus").mkdir(parents=True)
    for name in ("provenance.json", "settings.toml", "topics.txt", "metrics.jsonl", "bigrams.tsv"):
        write(run / name, "none")
    ArticleStore(store).append(before.articles())
    assert find_input(tmp_path) == before
    assert find_input(tmp_path).stamp() == before.stamp()
    with pytest.raises(CorpusFormatError, match="a run is no input; its counts are in"):
        find_input(run)
    (run / "settings.toml").unlink()
    with pytest.raises(CorpusFormatError, match=r"metrics\.jsonl, line 1"):
        find_input(tmp_path)


@pytest.mark.skipif(sys.platform != "linux", reason="neither pipes nor such names elsewhere")
def test_a_pipe_and_a_name_that_is_not_utf_8_are_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(CorpusFormatError, match="no regular file but a pipe"):
        find_input(tmp_path / "pipe.csv")
    name = os.fsdecode(b"caf\xe9.csv")
    write(tmp_path / name, "text\nriver\n")
    with pytest.raises(CorpusFormatError, match="is not UTF-8: rename it") as caught:
        find_input(tmp_path / name)
    str(caught.value).encode()


def test_a_column_that_is_not_there(tmp_path):
    path = write(tmp_path / "r.csv", REVIEWS)
    with pytest.raises(CorpusFormatError, match=r"no column 'body'.* 'id', 'review', 'rating'"):
        find_input(path, text_column="body")


def test_mixed_encodings_name_file_and_line(tmp_path):
    write(tmp_path / "a.txt", "fine")
    write(tmp_path / "b.txt", b"one\ntwo\nthr\xe9e\n")
    with pytest.raises(CorpusFormatError, match=r"b\.txt, line 3: not UTF-8"):
        list(find_input(tmp_path).articles())


def test_formats_of_counts_go_through(tmp_path):
    write(
        tmp_path / "c.mtx",
        "%%MatrixMarket matrix coordinate integer general\n2 2 2\n1 1 3\n2 2 1\n",
    )
    found = find_input(tmp_path / "c.mtx", vocabulary="numbers")
    assert (found.kind, found.format) == ("counts", "mtx")
    assert found.corpus().counts.sum() == 4
    found.corpus().save(tmp_path / "corpus")
    assert find_input(tmp_path / "corpus").corpus().vocabulary == ("1", "2")
    with pytest.raises(UnknownFormatError, match="no columns"):
        find_input(tmp_path / "corpus", text_column="text")


def test_the_stamp_of_counts_has_the_words_beside_them(tmp_path):
    banner = "%%MatrixMarket matrix coordinate integer general\n"
    path = write(tmp_path / "c.mtx", banner + "1 2 1\n1 1 3\n")
    stamps = [find_input(path, vocabulary="numbers").stamp()]
    for words in ("a\nb\n", "a\nbc\n"):
        write(tmp_path / "c.vocab", words)
        stamps.append(find_input(path).stamp())
    assert find_input(path, vocabulary=str(tmp_path / "c.vocab")).stamp() == stamps[-1]
    assert len(set(stamps)) == 3


def test_the_stamp_changes_with_content_and_not_with_the_hour(tmp_path):
    path = write(tmp_path / "r.csv", REVIEWS)
    before = find_input(path).stamp()
    assert find_input(path).stamp() == before
    write(path, REVIEWS + "d,e,1\n")
    assert find_input(path).stamp() != before


@pytest.mark.parametrize(
    ("name", "start", "package", "extra"),
    [
        ("x.parquet", b"PAR1", "pyarrow.parquet", "parquet"),
        ("x.h5ad", b"\x89HDF\r\n\x1a\n", "h5py", "anndata"),
    ],
)
def test_a_missing_package_is_named(tmp_path, monkeypatch, name, start, package, extra):
    monkeypatch.setitem(sys.modules, package, None)
    path = write(tmp_path / name, start)
    with pytest.raises(MissingExtraError, match=rf"pip install 'wikitopics\[{extra}\]'"):
        find_input(path).corpus()
