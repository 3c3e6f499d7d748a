import datetime as dt
import logging
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora import Article, CorpusFormatError
from corpora.articles.json_lines import made_page_id
from corpora.articles.shard import check_article
from corpora.inputs import RowReader


def test_which_column_is_the_text():
    assert RowReader(["a", "text"]).text_columns == ("text",)
    assert RowReader(["a", "text"], "a").text_columns == ("a",)
    assert RowReader(["id", "note"]).text_columns == ("note",)
    assert RowReader(["title"]).text_columns == ("title",)
    assert RowReader(["a", "b"], strings=["b"]).text_columns == ("b",)
    assert RowReader(["abstract", "sections", "name"]).text_columns == ("abstract", "sections")
    for columns in (["a", "b"], [], ["id", "title"]):
        with pytest.raises(CorpusFormatError, match="which column is the text"):
            RowReader(columns)


@pytest.mark.parametrize(
    ("given_id", "page_id", "kept"),
    [
        (7, 7, {}),
        ("7", 7, {}),
        (7.0, 7, {}),
        (np.int64(7), 7, {}),
        ("007", made_page_id("007"), {"id": "007"}),
        ("x", made_page_id("x"), {"id": "x"}),
        (2**63, made_page_id(str(2**63)), {"id": str(2**63)}),
        (-3, -3, {}),
    ],
)
def test_ids_and_what_stays_in_the_columns(given_id, page_id, kept):
    article = RowReader(["id", "text"]).article(1, {"id": given_id, "text": "a"})
    assert article.page_id == page_id
    assert article.columns == kept
    check_article(article)


def test_an_id_of_another_name_is_a_column_too():
    reader = RowReader(["number", "text"], id_column="number")
    article = reader.article(5, {"number": 7, "text": "a"})
    assert (article.page_id, article.title, article.columns) == (7, "7", {"number": 7})


def test_rows_without_ids_are_numbered_and_title_and_url_are_taken():
    reader = RowReader(["text", "title", "url", "k"], language="de")
    row = {"text": "a\r\nb", "title": "T", "url": "https://x", "k": "v"}
    expected = Article(3, 0, "T", "https://x", "", "de", "", "a\nb", {"k": "v"})
    assert reader.article(3, row) == expected


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({"id": 1, "text": float("nan")}, "row 2, column 'text': expected a text, found NaN"),
        ({"id": 1, "text": np.float64("nan")}, "row 2, column 'text': expected a text, found NaN"),
        ({"id": 1, "text": 3}, "row 2, column 'text': expected a text, found the number 3"),
        ({"id": 1, "text": ["a"]}, "row 2, column 'text': .* of type list"),
        ({"id": 1, "text": "\ud800"}, "row 2, column 'text': half a surrogate pair"),
        ({"id": None, "text": "a"}, "row 2, column 'id': no id"),
        ({"id": 1.5, "text": "a"}, "row 2, column 'id': an id is a whole number or a string"),
        ({"id": True, "text": "a"}, "row 2, column 'id': an id is a whole number or a string"),
        ({"id": 9, "text": "a"}, "row 2, column 'id': the id 9 is that of row 1 too"),
    ],
)
def test_a_bad_row_is_one_line(row, why):
    reader = RowReader(["id", "text"], source="the frame")
    reader.article(1, {"id": 9, "text": "first"})
    with pytest.raises(CorpusFormatError, match=rf"^the frame, {why}") as caught:
        reader.article(2, row)
    assert "\n" not in str(caught.value)


def test_empty_texts_are_left_out_with_one_line(caplog):
    caplog.set_level(logging.WARNING)
    reader = RowReader(["text"], source="the list")
    rows = [{"text": text} for text in ("a", "", None, " \n", "b")]
    assert [a.page_id for a in reader.articles(rows)] == [1, 5]
    assert caplog.messages == ["the list: 3 rows are left out, the text is empty"]


values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(),
    st.dates(),
    st.datetimes(),
    st.times(),
    st.timedeltas(),
    st.decimals(),
    st.uuids(),
    st.integers(-9, 9).map(np.int32),
    st.floats(width=32).map(np.float32),
    st.booleans().map(np.bool_),
    st.integers(0, 10**9).map(lambda s: np.datetime64(s, "s")),
    st.lists(st.integers(), max_size=2),
)


@given(st.dictionaries(st.text(max_size=4).filter(lambda n: n not in ("id", "text")), values))
def test_whatever_comes_along_can_be_stored(others):
    row = {"text": "a"} | others
    article = RowReader(list(row), "text").article(1, row)
    check_article(article)
    assert set(article.columns) == {
        name
        for name, value in others.items()
        if name not in ("title", "url", "page_id") and not isinstance(value, list)
    }


def test_values_that_come_along():
    row = {
        "text": "a",
        "day": dt.date(2020, 1, 2),
        "share": np.float32(0.5),
        "gone": float("nan"),
        "price": Decimal("1.50"),
        "is_new": np.bool_(True),
        "when": np.datetime64("2020-01-02T03:04"),
        "month": pd.Period("2020-01", "M"),
        "age": pd.Interval(20, 30),
        "never": np.datetime64("NaT"),
        "tags": ["x"],
    }
    article = RowReader(list(row), "text").article(1, row)
    assert article.columns == {
        "day": "2020-01-02",
        "share": 0.5,
        "gone": None,
        "price": "1.50",
        "is_new": True,
        "when": "2020-01-02T03:04",
        "month": "2020-01",
        "age": "(20, 30]",
        "never": None,
    }
