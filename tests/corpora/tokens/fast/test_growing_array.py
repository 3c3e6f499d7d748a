import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from corpora.tokens.fast.growing_array import GrowingArray


@given(
    st.lists(
        st.one_of(
            st.lists(st.integers(0, 99), max_size=9).map(lambda rows: ("append", rows)),
            st.integers(1, 4).map(lambda step: ("keep", step)),
        ),
        max_size=12,
    )
)
def test_it_holds_what_a_list_holds(steps):
    array, expected = GrowingArray(np.int32, (2,)), []
    for name, argument in steps:
        if name == "append":
            array.append(np.array(argument, dtype=np.int32)[:, None] + [[0, 100]])
            expected += argument
        else:
            array.keep(np.arange(0, len(array), argument))
            expected = expected[::argument]
        assert len(array) == len(expected)
        assert array.rows.tolist() == [[each, each + 100] for each in expected]
        assert array.rows.dtype == np.int32
