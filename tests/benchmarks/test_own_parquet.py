import sys

import pytest

from benchmarks.own_parquet import make_file, watched


def test_the_file_has_short_texts_with_ids_and_years(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    make_file(tmp_path / "big.parquet", 10_100, 12)
    table = parquet.ParquetFile(tmp_path / "big.parquet")
    assert (table.metadata.num_rows, table.metadata.num_row_groups) == (10_100, 2)
    rows = table.read().to_pylist()
    assert [row["id"] for row in rows] == list(range(1, 10_101))
    assert {len(row["text"].split(" and the ")) for row in rows} == {12}


@pytest.mark.slow
def test_memory_is_that_of_all_processes_at_one_time():
    keep = "data = b'x' * 200_000_000; import time; time.sleep(2)"
    two = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {keep!r}])"
    seconds, peak = watched([sys.executable, "-c", f"{two}; {two}"])
    assert seconds > 4
    assert 200e6 < peak < 300e6
    with pytest.raises(SystemExit, match="ended with 3"):
        watched([sys.executable, "-c", "raise SystemExit(3)"])
