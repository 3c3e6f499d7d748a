import gzip
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from downloader.answer import BadAnswer
from downloader.bounded_body import PIECE_BYTES, unpacked
from downloader.errors import UnusableAnswerError

GZIP = {"Content-Encoding": "gzip"}
MAX_BYTES = 2**22

bodies = st.builds(
    lambda seed, n: (seed * n)[: 3 * PIECE_BYTES],
    st.binary(min_size=1, max_size=40),
    st.integers(0, 9000),
)


def cut_up(data, sizes):
    pieces = []
    for size in sizes:
        pieces.append(data[:size])
        data = data[size:]
    return [*pieces, data]


@given(
    st.lists(bodies, min_size=1, max_size=3),
    st.lists(st.integers(0, 3000), max_size=8),
    st.integers(0, 9),
    st.integers(0, 40),
)
def test_members_in_pieces_are_put_together(members, sizes, level, n_zeros):
    packed = b"".join(gzip.compress(member, level) for member in members) + b"\0" * n_zeros
    assert unpacked(iter(cut_up(packed, sizes)), GZIP, MAX_BYTES) == b"".join(members)


@given(bodies, st.integers(0, 10**6), st.integers(0, 9))
def test_what_is_cut_short_is_noticed(body, cut, level):
    packed = gzip.compress(body, level)
    n_bytes = 1 + cut % (len(packed) - 1)
    with pytest.raises(BadAnswer, match="cut short"):
        unpacked(iter([packed[:n_bytes]]), GZIP, MAX_BYTES)


@given(bodies, st.integers(0, 10**6), st.integers(1, 255))
def test_what_is_damaged_is_noticed_or_harmless(body, where, change):
    packed = bytearray(gzip.compress(body))
    packed[where % len(packed)] ^= change
    with suppress(BadAnswer):
        assert unpacked(iter([bytes(packed)]), GZIP, MAX_BYTES) == body


@given(bodies, st.integers(0, 3 * PIECE_BYTES))
def test_the_cap_holds_for_packed_and_plain_bytes(body, cap):
    for data, headers in ((body, {}), (gzip.compress(body, 0), GZIP), (gzip.compress(body), GZIP)):
        try:
            found = unpacked(iter([data]), headers, cap)
        except UnusableAnswerError:
            assert max(len(body), len(data)) > cap
        else:
            assert found == body
            assert max(len(body), len(data)) <= cap


@pytest.mark.parametrize("length", ["-1", "+5", "5.0", "five", "5, x", "٥", "1e3"])
def test_a_length_that_is_no_number(length):
    with pytest.raises(BadAnswer, match="Content-Length"):
        unpacked(iter([b"hello"]), {"Content-Length": length}, MAX_BYTES)


@pytest.mark.parametrize("length", [str(MAX_BYTES + 1), "9" * 5000])
def test_an_announced_size_is_believed_before_anything_comes(length):
    with pytest.raises(UnusableAnswerError):
        unpacked(iter([]), {"Content-Length": length}, MAX_BYTES)


def test_nothing_is_nothing_even_if_packed():
    assert unpacked(iter([]), GZIP, MAX_BYTES) == b""
    assert unpacked(iter([b"", b""]), GZIP, MAX_BYTES) == b""
