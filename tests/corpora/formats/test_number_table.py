import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.errors import CorpusFormatError
from corpora.formats import number_table as number_table_module
from corpora.formats.lines import LineReader
from corpora.formats.number_table import Column, _line_by_line, number_table

COLUMNS = (Column("document", 1, 999), Column("word", 1, 99), Column("count", 1, 2**31 - 1))
REALS = (*COLUMNS[:2], Column("value", 0, 2**31 - 1, is_real=True))

# Mostly well-formed, so that both ways get somewhere.
whole = st.integers(0, 120).map(str) | st.sampled_from(
    ["007", "2147483647", "2147483648", "9" * 30]
)
real = whole | st.sampled_from(
    ["2.0", "3e0", ".5e1", "+4", "1.5", "-1", "nan", "1e", "--", "1e400"]
)
blank = st.sampled_from([" ", " ", " ", "\t", "  ", "", "\r"])
end = st.sampled_from(["\n", "\n", "\n", "\r\n", " \n", "\n\n"])
block = st.builds(
    lambda rows: "".join("".join(row) for row in rows).encode() + b"\n",
    st.lists(st.tuples(whole, blank, whole, blank, real, end), max_size=6),
)


@given(block=block | st.text("0123 .e\n", max_size=20).map(lambda text: text.encode() + b"\n"))
def test_the_fast_way_gives_what_the_slow_way_gives(block):
    for columns in (COLUMNS, REALS):
        found = []
        for read in (number_table, _line_by_line):
            try:
                found.append(read(LineReader("x"), 1, block, columns).tolist())
            except CorpusFormatError as error:
                found.append([str(error)])
        assert found[0] == found[1]


@pytest.mark.parametrize(
    "form", ["{} {} {}\n", "{}\t{}\t{}\r\n", " {}  {} {} \n", "{} {} {}.0e0\n"]
)
def test_what_is_usual_is_read_fast(form, monkeypatch):
    monkeypatch.delattr(number_table_module, "_line_by_line")
    rng = random.Random(0)
    rows = [[rng.randint(1, 999), rng.randint(1, 99), rng.randint(1, 2**31 - 1)] for _ in range(99)]
    text = "".join(form.format(*row) for row in rows).encode()
    for columns in (REALS,) if "e0" in form else (COLUMNS, REALS):
        assert number_table(LineReader("x"), 1, text, columns).tolist() == rows
