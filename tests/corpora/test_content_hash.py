import hashlib
import json

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from corpora.content_hash import content_hash, json_array, json_bytes, of_array, of_strings
from corpora.string_column import StringColumn

strings = st.lists(st.text(st.characters(), max_size=4) | st.text("ab", max_size=3), max_size=6)


def naive_hash(arrays):
    said = b"".join(
        f"{name} {array.dtype.str} {array.shape}\n".encode() + array.tobytes()
        for name, array in arrays.items()
    )
    return hashlib.sha256(said).hexdigest()


@given(chunks=st.lists(strings, max_size=4), numbers=st.lists(st.integers(0, 9)))
@example(chunks=[["\x7f", '"', "\\", "\n", "é", "\ud800", ""]], numbers=[])
@example(chunks=[[], ["a"], [], ["b"]], numbers=[1])
def test_strings_are_hashed_as_a_json_list(chunks, numbers):
    together = [string for chunk in chunks for string in chunk]
    listed = np.frombuffer(json.dumps(together).encode(), dtype=np.uint8)
    array = np.array(numbers, dtype=np.int32)
    columns = [StringColumn.of(chunk) for chunk in chunks]
    n_bytes, n_before = 0, 0
    for column in columns:
        n_bytes += json_bytes(column, is_first=n_before == 0)
        n_before += len(column)
    found = content_hash([of_array("data", array), of_strings("titles", columns, n_bytes)])
    assert found == naive_hash({"data": array, "titles": listed})
    assert json_array(together).tolist() == listed.tolist()


def test_a_strided_array_is_hashed_as_a_copy_of_it():
    array = np.arange(10)[::2]
    assert content_hash([of_array("a", array)]) == naive_hash({"a": array})
