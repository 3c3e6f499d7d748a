import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from corpora.worker_note import CAPACITY, WorkerNote, working_on


@pytest.fixture(scope="module")
def note():
    return WorkerNote()


@given(text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=99))
def test_a_short_text_is_read_as_it_was_written(note, text):
    note.write("what was there before, which was longer")
    note.write(text)
    assert note.read() == text


@given(text=st.text(max_size=9), unit=st.sampled_from(["a", "ü", "漢", "🜨"]))
@example(text="", unit="a")
def test_a_long_text_loses_its_end_between_characters(note, text, unit):
    long = text.replace("\0", "").encode(errors="replace").decode() + unit * CAPACITY
    note.write(long + "end")
    read = note.read()
    assert read.endswith("…")
    assert long.startswith(read[:-1])
    assert CAPACITY - 6 < len(read.encode()) <= CAPACITY


@pytest.mark.parametrize(
    ("text", "read"), [("a" * CAPACITY, "a" * CAPACITY), ("one \ud800 half", "one ? half")]
)
def test_a_text_that_just_fits_and_half_a_surrogate_pair(note, text, read):
    note.write(text)
    assert note.read() == read
    note._memory.text = "Zürich".encode()
    note._memory.length = 2  # in the middle of a character
    assert note.read() == "Z"


def test_a_text_that_was_not_written_to_its_end_is_not_read(note, monkeypatch):
    class Torn:
        """Memory whose writer is stopped when it has written three bytes of the text."""

        length, text = 6, b"Geneva"

        def __setattr__(self, name, value):
            super().__setattr__(name, value[:3] if isinstance(value, bytes) else value)
            if name == "text":
                raise InterruptedError

    monkeypatch.setattr(note, "_memory", Torn())
    assert note.read() == "Geneva"
    with pytest.raises(InterruptedError):
        note.write("Basel")
    assert note.read() == ""


def test_outside_a_worker_nothing_happens():
    working_on("nobody reads this")
