"""The fast way of reading numbers gives what the slow way gives, or gives up."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from corpora.formats.ldac import fast_block, slow_block
from corpora.formats.lines import LineReader
from corpora.formats.number_table import Column, fast_table, slow_table

if TYPE_CHECKING:
    from collections.abc import Callable

COLUMNS = (Column("document", 1, 999), Column("word", 1, 99), Column("count", 1, 2**31 - 1))
REALS = (*COLUMNS[:2], Column("value", 0, 2**31 - 1, is_real=True))
WORD = Column("word", 0, 99)

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
pair = st.builds(
    lambda w, colon, c: f" {w}{colon}{c}", whole, st.sampled_from([":"] * 9 + [" "]), whole
)
ldac_line = st.lists(pair, max_size=4).flatmap(
    lambda pairs: st.sampled_from([len(pairs)] * 9 + [1]).map(lambda n: f"{n}{''.join(pairs)}\n")
)
ldac_block = st.lists(
    ldac_line | st.text("0 1:\n", max_size=6).map(lambda s: s + "\n"), min_size=1, max_size=5
).map(lambda parts: "".join(parts).encode())


def slow_or_none(read: Callable[[], object]) -> object:
    try:
        return read()
    except ValueError:
        return None


@given(block=block | st.text("0123 .e\n", max_size=20).map(lambda text: text.encode() + b"\n"))
def test_tables(block: bytes) -> None:
    for columns in (COLUMNS, REALS):
        fast = fast_table(block, columns)
        slow = slow_or_none(lambda c=columns: slow_table(LineReader("x"), 1, block, c))  # type: ignore[misc]
        assert fast is None or np.array_equal(fast, slow)  # type: ignore[arg-type]


@given(block=ldac_block)
def test_ldac(block: bytes) -> None:
    fast = fast_block(block, WORD)
    slow = slow_or_none(lambda: slow_block(LineReader("x"), 1, block, WORD))
    if fast is not None:
        assert slow is not None
        assert all(map(np.array_equal, fast, slow))  # type: ignore[call-overload]


def test_the_fast_way_reads_what_is_usual() -> None:
    rng = random.Random(0)
    rows = [[rng.randint(1, 999), rng.randint(1, 99), rng.randint(1, 2**31 - 1)] for _ in range(99)]
    for form in ("{} {} {}\n", "{}\t{}\t{}\r\n", " {}  {} {} \n"):
        text = "".join(form.format(*row) for row in rows).encode()
        for columns in (COLUMNS, REALS):
            table = fast_table(text, columns)
            assert table is not None
            assert table.tolist() == rows
    table = fast_table("".join(f"{d} {w} {n}.000e+00\n" for d, w, n in rows).encode(), REALS)
    assert table is not None
    assert table.tolist() == rows
    assert fast_block(b"2 0:1 99:2\n0\n1 7:8\r\n", WORD) is not None
