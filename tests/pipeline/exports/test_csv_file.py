import bz2
import csv
import gzip
import io

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pipeline.exports.csv_file import NUMBER, is_csv, open_csv, plain_text, safe_text

FORMULAS = (
    "=1+1",
    "+cmd|' /C calc'!A0",
    "-x",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "\nx",
    " =1",
    "＝1",
    "--1",
)
AS_THEY_ARE = (
    "cat",
    "",
    "-5",
    "+1.5e-3",
    "1e5",
    "'tis",
    "C++",
    "a=b",
    "me@home",
    "'",
    "–dash",
    " a",
)


@pytest.mark.parametrize("text", FORMULAS)
def test_what_a_spreadsheet_might_compute_gets_an_apostrophe(text):
    assert safe_text(text) == f"'{text}"
    assert safe_text(f"'{text}") == f"''{text}"


@pytest.mark.parametrize("text", AS_THEY_ARE)
def test_other_texts_stay(text):
    assert safe_text(text) == plain_text(text) == text


@given(st.text() | st.from_regex(r"['=+\-@\s]{0,3}\w*"))
@example("'=x")
@example("\x1c=x")
def test_the_text_can_be_had_again(text):
    safe = safe_text(text)
    assert plain_text(safe) == text
    assert safe.lstrip()[:1] not in tuple("=+-@") or NUMBER.fullmatch(safe)


@given(st.lists(st.text(st.characters(exclude_categories=("Cs",))), min_size=1, max_size=4))
@example(["a\rb", "c\nd", 'e"f', "g,h"])
def test_a_table_is_read_as_it_was_written(tmp_path_factory, texts):
    path = tmp_path_factory.mktemp("table") / "a.csv"
    with open_csv(path, ("id", "x", "none")) as table:
        table.write_rows((text, 0.1 + i, None) for i, text in enumerate(texts))
    rows = list(csv.reader(io.StringIO(path.read_bytes().decode("utf-8"), newline="")))
    assert rows[0] == ["id", "x", "none"]
    assert [plain_text(row[0]) for row in rows[1:]] == texts
    assert [float(row[1]) for row in rows[1:]] == [0.1 + i for i in range(len(texts))]
    assert all(row[2] == "" for row in rows[1:])
    assert (table.n_rows, table.n_quoted) == (
        len(texts),
        sum(safe_text(text) != text for text in texts),
    )


def test_the_ending_tells_delimiter_and_compression(tmp_path):
    for name, opened in (("a.tsv", io.BytesIO), ("A.TSV.gz", gzip.decompress), ("a.csv.bz2", 0)):
        assert is_csv(name)
        with open_csv(tmp_path / name, ("a", "b")) as table:
            table.write_rows([("x\ty", "half \ud800 pair")])
        data = (tmp_path / name).read_bytes()
        data = bz2.decompress(data) if not opened else opened(data)
        data = data if isinstance(data, bytes) else data.read()
        between, first = (b",", b"x\ty") if ".csv" in name else (b"\t", b'"x\ty"')
        assert data == b"a" + between + b"b\n" + first + between + b"half ? pair\n"
    assert not is_csv("a.parquet")
    assert not is_csv("csv")


def test_a_table_appears_whole_or_not_at_all(tmp_path):
    (tmp_path / "a.csv").write_text("before")

    def rows():
        yield ("x",)
        raise RuntimeError

    with pytest.raises(RuntimeError), open_csv(tmp_path / "a.csv", ("a",)) as table:
        table.write_rows(rows())
    assert [each.name for each in tmp_path.iterdir()] == ["a.csv"]
    assert (tmp_path / "a.csv").read_text() == "before"
