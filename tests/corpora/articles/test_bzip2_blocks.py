import bz2
import io

import numpy as np
import pytest

from corpora.articles.bzip2_blocks import (
    PATTERNS,
    UnreadableError,
    checked,
    marks_in,
    read_blocks,
    shares_of,
)

CONTENT = np.random.default_rng(1).integers(0, 16, 450_000).astype(np.uint8).tobytes()
STREAMS = (
    bz2.compress(CONTENT[:250_000], 1)
    + bz2.compress(b"")
    + bz2.compress(CONTENT[250_000:250_001], 1)
    + bz2.compress(CONTENT[250_001:], 1)
)


def blocks_of(data, start=0):
    return list(read_blocks(io.BytesIO(data), start))


def test_blocks_are_the_content():
    blocks = blocks_of(STREAMS)
    assert b"".join(block.content for block in blocks) == CONTENT
    assert sum(not block.content for block in blocks) == 4
    assert checked(0, [(block.check, bool(block.content)) for block in blocks]) == 0


def test_blocks_from_any_byte_on():
    blocks = blocks_of(STREAMS)
    near = {block.bit // 8 + by for block in blocks for by in (-1, 0, 1)}
    for start in near | {100_000, len(STREAMS) - 1, len(STREAMS)}:
        if start:
            assert blocks_of(STREAMS, start) == [b for b in blocks if b.bit >= 8 * start]


@pytest.mark.parametrize(
    "data",
    [
        *(b"BZh9", STREAMS[4:], STREAMS[:-1], STREAMS[:100_000], STREAMS + b"x"),
        *(STREAMS + b"BZh9", STREAMS + bytes(99), STREAMS[:-14] + b"BZh0" + STREAMS[-10:]),
        *(STREAMS[:900] + b"!" + STREAMS[901:], STREAMS[:5000] + bytes(1 << 21)),
        STREAMS[:40] + b"1AY&SY" + STREAMS[46:],
    ],
)
def test_what_cannot_be_read(data):
    with pytest.raises(UnreadableError):
        blocks_of(data)


def test_streams_whose_check_is_wrong():
    blocks = [(block.check, bool(block.content)) for block in blocks_of(STREAMS)]
    for left_out in range(3):
        with pytest.raises(UnreadableError):
            checked(0, blocks[:left_out] + blocks[left_out + 1 :])


def test_marks_at_any_bit_and_place():
    for shift, is_block, pattern in PATTERNS:
        for before in (0, 3):
            data = bytes(before) + (pattern if shift else pattern[:6]) + bytes(5)
            assert marks_in(data, 0, len(data)) == [(8 * before + shift, is_block)]
            assert marks_in(data, before, before + 1) == [(8 * before + shift, is_block)]
            assert marks_in(data, before + 1, len(data)) == []
            assert marks_in(data, 0, before) == []


def test_shares_are_the_file(tmp_path):
    path = tmp_path / "a.bz2"
    path.write_bytes(b"BZh9" + bytes(3_000_000))
    shares = shares_of(path, 2)
    assert (shares[0].start, shares[-1].end) == (0, 3_000_004)
    assert [one.end for one in shares[:-1]] == [one.start for one in shares[1:]]
    path.write_bytes(bytes(3_000_000))
    assert shares_of(path, 2) == shares_of(tmp_path, 2) == shares_of(tmp_path / "none", 2) == []
