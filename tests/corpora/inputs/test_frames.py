import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pytest

from corpora import CorpusFormatError
from corpora.inputs.frames import articles_of, rows_of

COLUMNS = {
    "id": ["a", "b", "c"],
    "review": ["first text", "second\r\ntext", "third text"],
    "stars": [1, 5, 3],
    "price": [1.5, float("nan"), 2.0],
    "good": [True, False, True],
    "day": [dt.date(2021, 3, 5), None, dt.date(2022, 1, 1)],
}


def fields(texts, **more):
    return [(a.page_id, a.title, a.text, dict(a.columns)) for a in articles_of(texts, **more)]


def test_frames_of_both_libraries_and_columns_give_the_same_articles():
    expected = fields(COLUMNS, text_column="review")
    first, second, _ = expected
    assert first[1:3] == ("a", "first text")
    assert first[3] == {"id": "a", "stars": 1, "price": 1.5, "good": True, "day": "2021-03-05"}
    assert second[2] == "second\ntext"
    assert (second[3]["price"], second[3]["day"]) == (None, None)
    for frame in (pd.DataFrame(COLUMNS), pl.DataFrame(COLUMNS)):
        assert fields(frame, text_column="review") == expected
        types = [[type(v) for v in columns.values()] for *_, columns in fields(frame)]
        assert types == [[type(v) for v in columns.values()] for *_, columns in expected]
    records = [dict(zip(COLUMNS, row, strict=True)) for row in zip(*COLUMNS.values(), strict=True)]
    assert fields(records, text_column="review") == expected


def test_dates_with_times_are_iso_strings():
    frame = pd.DataFrame({"text": ["a", "b"], "when": pd.to_datetime(["2021-03-05 12:00", None])})
    assert [c["when"] for *_, c in fields(frame)] == ["2021-03-05T12:00:00", None]
    assert [c["when"] for *_, c in fields(pl.from_pandas(frame))] == ["2021-03-05T12:00:00", None]


@pytest.mark.parametrize(
    "texts",
    [
        ["one", "two"],
        ("one", "two"),
        iter(["one", "two"]),
        np.array(["one", "two"]),
        pd.Series(["one", "two"], index=[7, 9]),
        pl.Series(["one", "two"]),
        pd.DataFrame({"n": [1, 2], "word": ["one", "two"]}),
        pd.DataFrame({"n": [1, 2], "word": pd.Categorical(["one", "two"])}),
        pd.DataFrame({"n": [1, 2], "word": np.array(["one", "two"], dtype=object)}),
        pl.DataFrame({"n": [1, 2], "word": ["one", "two"]}),
    ],
    ids=lambda texts: type(texts).__name__,
)
def test_the_only_column_of_strings_is_the_text_and_rows_are_numbered(texts):
    assert [each[:3] for each in fields(texts)] == [(1, "1", "one"), (2, "2", "two")]


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize(
    ("columns", "more", "message"),
    [
        ({"a": ["x"], "b": ["y"]}, {}, "the data frame: which column is the text"),
        ({"a": [1], "b": [2]}, {}, "no column holds strings"),
        ({"a": [1], "b": ["x"]}, {"id_column": "b"}, "no column holds strings"),
        ({"a": ["x"]}, {"text_column": "b"}, "there is no column 'b'; the columns are 'a'"),
        ({"a": ["x"]}, {"id_column": "b"}, "there is no column 'b'"),
        ({"text": ["x"], "n": [2]}, {"text_column": "n"}, "row 1, column 'n': expected a text"),
        ({"text": ["x", "y"], "id": [3, 3]}, {}, "row 2, column 'id': the id 3 is that of row 1"),
        ({"text": ["x"], "id": [2.5]}, {}, "row 1, column 'id': an id is"),
    ],
)
def test_what_is_wrong_is_said_with_row_and_column(frame, columns, more, message):
    with pytest.raises(CorpusFormatError, match=message):
        fields(frame(columns), **more)


def test_nan_among_texts_is_an_error_and_none_is_left_out(caplog):
    frame = pd.DataFrame({"text": np.array(["one", float("nan")], dtype=object)})
    with pytest.raises(CorpusFormatError, match="row 2, column 'text': expected a text, found NaN"):
        fields(frame)
    assert [each[0] for each in fields(pl.DataFrame({"text": ["one", None, "three"]}))] == [1, 3]
    assert "1 row is left out" in caplog.text


def test_tables_that_are_none():
    for wrong in ("text", b"text", 5, None):
        with pytest.raises(TypeError, match="expected texts, such as a list of strings"):
            rows_of(wrong)
    with pytest.raises(TypeError, match=r"frame\.collect"):
        rows_of(pl.LazyFrame({"text": ["x"]}))
    with pytest.raises(TypeError, match="array of 2 dimensions"):
        rows_of(np.array([["x", "y"]]))
    twice = pd.DataFrame([["x", "y"]], columns=["text", "text"])
    with pytest.raises(CorpusFormatError, match="two columns are called 'text'"):
        rows_of(twice)
    for wrong in ({"a.txt": "one text", "b.txt": "another"}, {"text": 5}, {"text": {0: "x"}}):
        with pytest.raises(TypeError, match=r"expected a mapping of columns, .* under"):
            rows_of(wrong)
    with pytest.raises(CorpusFormatError, match="differ in length: 1 and 2 rows"):
        rows_of({"text": ["x"], "n": [1, 2]})
    with pytest.raises(CorpusFormatError, match=r"row 2: expected a mapping .* found str"):
        rows_of([{"text": "x"}, "y"])


def test_nothing_but_numbers_of_rows_is_in_memory_of_a_generator():
    seen = []

    def texts():
        for i in range(3):
            seen.append(i)
            yield f"text {i}"

    articles = articles_of(texts())
    next(articles)
    assert seen == [0]
