import contextlib
import io
import json
import pickle
import zipfile
from dataclasses import replace

import numpy as np
import pytest

from models import LDATopics, ModelFormatError, SavedModel, load_model, save_model
from models.saved import read_arrays, vocabulary_hash, write_arrays

WORDS = ("naïve", "東京", "a b", "", "café")
HEADER = {"family": "lda", "seed": 2**70, "settings": {"alpha": [0.1], "note": None}, "é": "ü"}


def a_model(seed=0, prevalence=True):
    rng = np.random.default_rng(seed)
    topics = LDATopics(rng.dirichlet(np.full(5, 0.4), 3), rng.gamma(1, 1, 3) + 0.1)
    share = rng.dirichlet(np.ones(3)) if prevalence else None
    return SavedModel(topics, WORDS, dict(HEADER), share)


def same(a, b):
    return (a.vocabulary, a.header) == (b.vocabulary, b.header) and all(
        np.array_equal(one, other)
        for one, other in (
            (a.topics.topic_word, b.topics.topic_word),
            (a.topics.alpha, b.topics.alpha),
            (a.prevalence, b.prevalence),
        )
    )


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.npz"


@pytest.fixture
def saved(path):
    save_model(path, a_model())
    return path


def files_of(path):
    return sorted(file.name for file in path.parent.iterdir())


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("prevalence", [True, False])
def test_round_trip_to_the_bit(path, seed, prevalence):
    model = a_model(seed, prevalence)
    save_model(path, model)
    loaded = load_model(path)
    assert loaded.header.items() >= HEADER.items()
    assert same(loaded, SavedModel(model.topics, WORDS, {**loaded.header}, model.prevalence))
    first = path.read_bytes()
    save_model(path, loaded)
    assert (path.read_bytes(), files_of(path)) == (first, ["model.npz"])


@pytest.mark.parametrize("order", ["C", "F"])
def test_equal_models_give_equal_bytes(path, order):
    model = a_model()
    save_model(path, model)
    first = path.read_bytes()
    topics = LDATopics(np.array(model.topics.topic_word, order=order), model.topics.alpha)
    save_model(path, SavedModel(topics, WORDS, dict(reversed(HEADER.items())), model.prevalence))
    assert path.read_bytes() == first
    save_model(path, a_model(1))
    assert path.read_bytes() != first


def test_numpy_alone_can_read_it_without_pickle(saved):
    with np.load(saved, allow_pickle=False) as archive:
        assert set(archive.files) == {"header", "topic_word", "alpha", "vocabulary", "prevalence"}
        assert json.loads(archive["header"].tobytes())["format"] == "wikitopics model"


def test_the_header_cannot_pose_as_another_format(path):
    model = a_model()
    posing = {"format": "something else", "version": 99, "vocabulary_hash": "0", "arrays": []}
    save_model(path, SavedModel(model.topics, WORDS, posing))
    header = load_model(path).header
    assert header["format"] == "wikitopics model"
    assert header["vocabulary_hash"] == vocabulary_hash(WORDS)


def test_files_of_one_word_and_made_by_hand(path):
    for word in ("", "x"):
        save_model(path, SavedModel(LDATopics([[1.0]], [1.0]), (word,)))
        assert load_model(path).vocabulary == (word,)
    path.write_bytes(npz_of(**parts()))
    assert load_model(path).vocabulary == ("a", "b")


def test_arrays_of_objects_are_refused(path):
    with pytest.raises(ValueError, match="pickle"):
        write_arrays(path, "kind", {}, {"x": np.array([object()])})
    assert (path.exists(), files_of(path)) == (False, [])


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"vocabulary": WORDS[:4]}, "4 words"),
        ({"vocabulary": ("a", "b", "c\nd", "e", "f")}, "line break"),
        ({"prevalence": np.ones(4)}, "prevalence"),
        ({"prevalence": np.ones((3, 1))}, "prevalence"),
        ({"header": {"seed": object()}}, "JSON"),
        ({"vocabulary": ("\ud800", "b", "c", "d", "e")}, "surrogates"),
    ],
)
@pytest.mark.parametrize("exists", [True, False])
def test_what_cannot_be_saved_leaves_the_folder_as_it_was(path, change, error, exists):
    if exists:
        save_model(path, a_model())
    before = path.read_bytes() if exists else None
    with pytest.raises((ValueError, TypeError), match=error):
        save_model(path, replace(a_model(), **change))
    assert files_of(path) == (["model.npz"] if exists else [])
    assert not exists or path.read_bytes() == before


def test_a_write_that_fails_half_way_leaves_the_former_file(saved, monkeypatch):
    before = saved.read_bytes()

    def full_disk(stream, **_):
        stream.write(b"PK half of it")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full_disk)
    with pytest.raises(OSError, match="No space"):
        save_model(saved, a_model(1))
    assert (saved.read_bytes(), files_of(saved)) == (before, ["model.npz"])


@pytest.mark.parametrize("stride", [5, pytest.param(1, marks=pytest.mark.slow)])
def test_a_flipped_bit_anywhere_is_noticed_or_harmless(saved, stride):
    good, expected = saved.read_bytes(), load_model(saved)
    rng, tried, noticed = np.random.default_rng(0), 0, 0
    for position in range(0, len(good), stride):
        for flip in [0xFF] + [1 << int(rng.integers(8))] * (position > good.index(b"PK\x01\x02")):
            damaged = bytearray(good)
            damaged[position] ^= flip
            tried += 1
            saved.write_bytes(damaged)
            try:
                loaded = load_model(saved)
            except ModelFormatError:
                noticed += 1
            else:
                assert same(loaded, expected), f"byte {position} ^ {flip}"
    assert noticed > 0.75 * tried


def test_a_truncated_or_lengthened_file(saved):
    good, expected = saved.read_bytes(), load_model(saved)
    for length in [*range(0, len(good), 7), len(good) - 1]:
        saved.write_bytes(good[:length])
        with pytest.raises(ModelFormatError, match=r"model\.npz"):
            load_model(saved)
    for data in (good + good, b"rubbish" + good, good + b"rubbish"):
        saved.write_bytes(data)
        with contextlib.suppress(ModelFormatError):
            assert same(load_model(saved), expected)


def npz_of(**arrays):
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def header_of(**changes):
    header = {
        "format": "wikitopics model",
        "version": 1,
        "arrays": ["alpha", "topic_word", "vocabulary"],
        "vocabulary_hash": vocabulary_hash(("a", "b")),
    }
    return np.frombuffer(json.dumps({**header, **changes}).encode(), dtype=np.uint8)


def parts(**changes):
    good = {
        "header": header_of(),
        "topic_word": np.array([[0.5, 0.5]]),
        "alpha": np.array([1.0]),
        "vocabulary": np.frombuffer(b"a\nb", dtype=np.uint8),
    }
    return {name: array for name, array in {**good, **changes}.items() if array is not None}


class Bomb:
    def __reduce__(self):
        return exec, ("raise SystemExit('a pickle was run')",)


BAD_PARTS = {
    "pickle": {"alpha": np.array([Bomb()], dtype=object)},
    "pickle-header": {"header": np.array([Bomb()], dtype=object)},
    "no-header": {"header": None},
    "no-topics": {"topic_word": None},
    "no-vocabulary": {"vocabulary": None},
    "one-more": {"extra": np.zeros(3)},
    "header-no-json": {"header": np.frombuffer(b"{", dtype=np.uint8)},
    "header-list": {"header": np.frombuffer(b"[1]", dtype=np.uint8)},
    "header-number": {"header": np.array(3.0)},
    "header-not-utf8": {"header": np.frombuffer(b'{"a": "\xff"}', dtype=np.uint8)},
    "header-without-format": {"header": np.frombuffer(b"{}", dtype=np.uint8)},
    "header-version-text": {"header": header_of(version="new")},
    "header-version-none": {"header": header_of(version=None)},
    "other-format": {"header": header_of(format="wikitopics corpus")},
    "newer": {"header": header_of(version=2)},
    "other-words": {"vocabulary": np.frombuffer(b"a\nc", dtype=np.uint8)},
    "three-words": {"vocabulary": np.frombuffer(b"a\nb\nc", dtype=np.uint8)},
    "words-not-utf8": {"vocabulary": np.frombuffer(b"a\n\xff", dtype=np.uint8)},
    "rows": {"topic_word": np.array([[0.5, 0.4]])},
    "nan": {"topic_word": np.array([[np.nan, 0.4]])},
    "text": {"topic_word": np.array([["a", "b"]])},
    "scalar": {"topic_word": np.array(1.0)},
    "alpha": {"alpha": np.array([1.0, 1.0])},
    "prevalence": {
        "header": header_of(arrays=["alpha", "prevalence", "topic_word", "vocabulary"]),
        "prevalence": np.ones(2),
    },
}


@pytest.mark.parametrize("name", BAD_PARTS)
def test_a_file_that_is_not_quite_a_model(path, name):
    path.write_bytes(npz_of(**parts(**BAD_PARTS[name])))
    with pytest.raises(ModelFormatError, match=r"model\.npz" + ".*upgrade" * (name == "newer")):
        load_model(path)


def other_zip():
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("header", b'{"format": "wikitopics model"}')
        archive.writestr("topic_word.npy", b"not an array")
    return stream.getvalue()


def npy_of(array):
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


@pytest.mark.parametrize(
    "content",
    [b"", b"\n", b"hello", pickle.dumps(Bomb()), npy_of(np.ones(3)), other_zip(), b"PK\x03\x04"],
    ids=["empty", "newline", "text", "pickle", "npy", "zip", "zip-start"],
)
def test_another_kind_of_file(path, content):
    path.write_bytes(content)
    with pytest.raises(ModelFormatError, match=r"model\.npz"):
        load_model(path)


def test_no_file_and_no_regular_file(path, tmp_path):
    with pytest.raises(FileNotFoundError):
        load_model(path)
    with pytest.raises(IsADirectoryError):
        load_model(tmp_path)


def test_arrays_of_any_kind_come_back(path):
    arrays = {"x": np.arange(6, dtype=np.int32).reshape(2, 3), "flag": np.array([True, False])}
    write_arrays(path, "a checkpoint", {"t": 3}, arrays)
    header, found = read_arrays(path, "a checkpoint")
    assert (header["t"], found.keys()) == (3, arrays.keys())
    for name, array in arrays.items():
        assert (found[name] == array).all()
        assert found[name].dtype == array.dtype
    with pytest.raises(ModelFormatError, match="expected a wikitopics model file"):
        load_model(path)
