from hypothesis import given
from hypothesis import strategies as st

from corpora.inputs import seen_ids
from corpora.inputs.seen_ids import SeenIds


@given(st.lists(st.integers(-9, 9) | st.integers(-(2**63), 2**63 - 1), max_size=60))
def test_the_row_that_had_an_id_first_is_found(ids):
    former = seen_ids.RECENT
    try:
        seen_ids.RECENT = 4
        seen, first = SeenIds(), {}
        for row, page_id in enumerate(ids, 1):
            assert seen.add(page_id, row) == first.get(page_id)
            first.setdefault(page_id, row)
    finally:
        seen_ids.RECENT = former
