import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from corpora import string_column
from corpora.string_column import StringColumn

anything = st.text(st.characters(), max_size=5)  # lone surrogates among it
tuples = st.lists(anything | st.text("abc", max_size=3), max_size=12).map(tuple)


@pytest.fixture
def tiny_chunks(monkeypatch):
    monkeypatch.setattr(string_column, "CHUNK", 3)


@settings(deadline=None)
@given(strings=tuples, data=st.data())
def test_it_is_what_a_tuple_is(strings, data):
    column = StringColumn.of(iter(strings)).check()
    assert len(column) == len(strings)
    assert tuple(column) == strings
    assert list(reversed(column)) == list(reversed(strings))
    assert [column[i] for i in range(-len(strings), len(strings))] == list(strings * 2)
    assert hash(column) == hash(strings)
    for there in strings[:2]:
        assert there in column
        assert column.index(there) == strings.index(there)
    part = data.draw(st.slices(len(strings)))
    assert tuple(column[part]) == strings[part]
    assert (tuple(column[part][::-1]), column[part]) == (strings[part][::-1], strings[part])


@given(a=tuples, b=tuples)
def test_equality_is_that_of_tuples(a, b):
    column = StringColumn.of(a)
    assert (column, a) == (a, column)
    assert column == list(a)
    assert column == StringColumn.of(a)
    assert (column == b) is (a == b)
    assert (b == column) is (a == b)
    assert (column != StringColumn.of(b)) is (a != b)
    assert StringColumn.of((*b, *a, *b))[len(b) : len(b) + len(a)] == column
    assert column != "".join(a)


@pytest.mark.usefixtures("tiny_chunks")
def test_more_strings_than_a_chunk():
    strings = tuple("" if i % 4 == 0 else "é" * i for i in range(11))
    column = StringColumn.of(strings)
    assert tuple(column) == strings
    assert [len(chunk) for chunk in column.chunks()] == [3, 3, 3, 2]
    which = np.array([10, 0, 3, 3, 7, 1, 10])
    assert column.take(which) == tuple(strings[i] for i in which)
    assert column[2:9].take(which[1:3]) == (strings[2], strings[5])


@settings(deadline=None)
@given(strings=tuples.filter(len), data=st.data())
def test_taking_is_indexing(strings, data):
    which = data.draw(
        arrays(np.int64, st.integers(0, 20), elements=st.integers(-len(strings), len(strings) - 1))
    )
    taken = StringColumn.of(strings).take(which)
    assert taken.check() == tuple(strings[i] for i in which)
    assert StringColumn.of(strings).take(which.astype(np.int8)) == taken


def test_out_of_range_is_an_index_error():
    column = StringColumn.of("ab")
    for index in (2, -3):
        with pytest.raises(IndexError):
            column[index]
        with pytest.raises(IndexError):
            column.take(np.array([0, index]))
    assert repr(column) == "StringColumn('a', 'b'; 2 strings)"
    assert repr(StringColumn.of("abcd")) == "StringColumn('a', 'b', 'c', …; 4 strings)"


@pytest.mark.parametrize(
    ("start", "data"),
    [
        *(([], b""), ([0, 2], b"a"), ([0, 1], b"ab"), ([1, 1], b"a"), ([0, 2, 1, 3], b"abc")),
        *(([0, 1, 2], "é".encode()), ([0, 1], b"\xff")),
    ],
)
def test_what_is_no_column_is_refused(start, data):
    column = StringColumn(np.array(start, dtype=np.int64), np.frombuffer(data, dtype=np.uint8))
    with pytest.raises(ValueError, match=r"offsets|decode"):
        column.check()
