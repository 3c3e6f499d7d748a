import csv
import gzip
import io

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from corpora import CorpusFormatError
from corpora.inputs import find_input
from corpora.inputs.csv_file import CsvFile

fields = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"), max_size=8)


def written(rows, separator=",", quoting=csv.QUOTE_MINIMAL):
    stream = io.StringIO()
    csv.writer(stream, delimiter=separator, quoting=quoting, lineterminator="\n").writerows(rows)
    return stream.getvalue()


@given(
    st.lists(st.tuples(fields, fields, fields), min_size=1, max_size=5),
    st.sampled_from(",;\t|"),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
)
def test_any_rows_are_read_back_with_the_lines_where_they_begin(
    tmp_path_factory, rows, separator, quoting
):
    header = ("one", "two", "three")
    path = tmp_path_factory.mktemp("csv") / "x.csv"
    path.write_text(written([header, *rows], separator, quoting), "utf-8", newline="")
    table = CsvFile(path)
    assert table.columns == header
    assert [tuple(row) for _, row in table.rows()] == rows
    begins = 2
    for (line, _), row in zip(table.rows(), rows, strict=True):
        assert line == begins
        begins += 1 + sum(field.count("\n") for field in row)


@given(st.lists(st.sampled_from(["a", "b c", "d\ne", 'f "g"', ""]), max_size=4), st.data())
def test_a_quote_that_is_not_closed_is_named_by_its_line(tmp_path_factory, texts, data):
    """Behind it the rows are plain, so that no other quote could close it."""
    before = [("1", text) for text in texts]
    n_after = data.draw(st.integers(0, 3))
    good = written([("id", "text"), *before], quoting=csv.QUOTE_ALL)
    path = tmp_path_factory.mktemp("csv") / "x.csv"
    path.write_text(good + '2,"open\n' + "3,plain\n" * n_after, "utf-8", newline="")
    line = good.count("\n") + 1
    with pytest.raises(CorpusFormatError, match=rf"x\.csv, line {line}: a quote is opened here"):
        list(CsvFile(path).rows())


@pytest.mark.parametrize("ending", ["csv", "tsv", "txt"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_tables_are_found_by_name_or_content(tmp_path, ending, pack):
    separator = "\t" if ending == "tsv" else ";"
    rows = [("id", "text"), *((str(i), f"text, {i}") for i in range(1, 6))]
    path = tmp_path / f"x.{ending}{'' if pack is bytes else '.gz'}"
    path.write_bytes(pack(written(rows, separator).encode("utf-8-sig")))
    found = find_input(path)
    assert found.format == ("tsv" if ending == "tsv" else "csv")
    assert [(a.page_id, a.text) for a in found.articles()] == [
        (i, f"text, {i}") for i in range(1, 6)
    ]


def test_a_text_longer_than_the_limit_of_the_csv_module(tmp_path):
    long = "word " * 100_000
    path = tmp_path / "x.csv"
    path.write_text(written([("id", "text"), ("1", long)]))
    (article,) = find_input(path).articles()
    assert article.text == long


def test_a_pandas_index_without_a_name_and_numbers_in_a_text(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text(",text\n0,2001\n1,A space odyssey\n")
    assert [(a.text, a.columns) for a in find_input(path).articles()] == [
        ("2001", {"column 1": "0"}),
        ("A space odyssey", {"column 1": "1"}),
    ]


@given(st.binary(max_size=200))
def test_any_bytes_are_articles_or_one_line(tmp_path_factory, data):
    assume(b"{" not in data[:1])
    path = tmp_path_factory.mktemp("csv") / "x.csv"
    path.write_bytes(b"id,text\n" + data)
    message = f"{path}: read"
    try:
        list(find_input(path).articles())
    except CorpusFormatError as error:
        message = str(error)
    assert message.startswith(str(path))
    assert len(message.split("\n")) == 1
