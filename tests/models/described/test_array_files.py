"""Topics in JSON, .npz and BERTopic's folders."""

import json
import struct

import numpy as np
import pytest
from scipy import sparse

from corpora.errors import CorpusFormatError
from models.described.array_files import (
    read_array_topics,
    read_bertopic_folder,
    read_json_topics,
    read_safetensors,
)

TOPICS = (("river", "lake"), ("piano", "violin"))
WORDS = ["river", "lake", "piano", "violin"]
WEIGHTS = np.array([[0.6, 0.4, 0.0, 0.0], [0.0, 0.0, 0.7, 0.3]])
SHARES = [[1.0, 0.0], [0.25, 0.75], [0.5, 0.5]]


@pytest.mark.parametrize(
    "content",
    [
        [["river", "lake"], ["piano", "violin"]],
        ["river lake", "piano violin"],
        [[["river", 0.6], ["lake", 0.4]], [["piano", 0.7], ["violin", 0.3]]],
        {"0": ["river", "lake"], "1": ["piano", "violin"], "-1": ["of", "the"]},
        {"0": {"lake": 0.4, "river": 0.6}, "1": {"piano": 0.7, "violin": 0.3}},
        {"topics": [["river", "lake"], ["piano", "violin"]]},
    ],
)
def test_words_in_json(tmp_path, content):
    path = tmp_path / "topics.json"
    path.write_text(json.dumps(content))
    assert read_json_topics(path).words == TOPICS


def test_arrays_by_name(tmp_path):
    content = {
        "topic_word": WEIGHTS,
        "vocabulary": WORDS,
        "doc_topic": SHARES,
        "doc_ids": list("abc"),
    }
    np.savez(tmp_path / "model.npz", **content, alpha=0.1)
    text = json.dumps({**content, "topic_word": WEIGHTS.tolist(), "alpha": [0.1, 0.1]})
    (tmp_path / "model.json").write_text(text)
    for topics in (
        read_array_topics(tmp_path / "model.npz"),
        read_json_topics(tmp_path / "model.json"),
    ):
        assert topics.words == TOPICS
        assert topics.topic_word == pytest.approx(WEIGHTS)
        assert topics.doc_topic.tolist() == SHARES
        assert topics.doc_ids == ("a", "b", "c")
        assert topics.lda.alpha.tolist() == [0.1, 0.1]


def test_weights_without_words_take_those_of_a_vocabulary(tmp_path):
    np.savez(tmp_path / "model.npz", topic_word=WEIGHTS, alpha=0.1)
    (tmp_path / "model.json").write_text(json.dumps({"beta": WEIGHTS.tolist(), "alpha": 0.1}))
    for read, name in ((read_array_topics, "model.npz"), (read_json_topics, "model.json")):
        topics = read(tmp_path / name, WORDS)
        assert topics.words == TOPICS
        assert topics.topic_word == pytest.approx(WEIGHTS)
        with pytest.raises(CorpusFormatError, match="which --vocabulary FILE may give"):
            read(tmp_path / name)
        with pytest.raises(CorpusFormatError, match=r"topic_word must be \(n_topics, 3\)"):
            read(tmp_path / name, WORDS[:3])


def test_octis_has_topics_of_documents_as_rows(tmp_path):
    arrays = {"topics": np.array(TOPICS), "topic-word-matrix": WEIGHTS}
    np.savez(tmp_path / "octis.npz", **arrays, **{"topic-document-matrix": np.array(SHARES).T})
    topics = read_array_topics(tmp_path / "octis.npz")
    assert topics.words == TOPICS
    assert topics.topic_word is None  # OCTIS does not name the columns
    assert topics.doc_topic.tolist() == SHARES
    named = read_array_topics(tmp_path / "octis.npz", WORDS)
    assert (named.words, named.vocabulary) == (TOPICS, tuple(WORDS))
    of_others = read_array_topics(tmp_path / "octis.npz", WORDS[:3])
    assert (of_others.words, of_others.topic_word) == (TOPICS, None)


def test_arrays_of_objects_are_pickles_and_not_loaded(tmp_path):
    np.savez(tmp_path / "bad.npz", topics=np.array([["river"], ["a", "b"]], dtype=object))
    with pytest.raises(CorpusFormatError, match=r"bad.npz.*allow_pickle"):
        read_array_topics(tmp_path / "bad.npz")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ("[]", "list of topics"),
        ("[[1, 2]]", "expected a word"),
        ('{"topic_word": [[1]], "vocabulary": ["a", "b"]}', "column a word"),
        ('{"topic_word": [[1, 2], [1]], "vocabulary": ["a", "b"]}', "topic_word must be numbers"),
        ('{"topic_word": "x", "vocabulary": ["a", "b"]}', "topic_word must be numbers"),
        ('{"topics": [["a"]], "doc_topic": [[1], ["x"]]}', "doc_topic must be numbers"),
        ('{"topic_word": [[1]], "vocabulary": ["a"], "alpha": [1, 2]}', "alpha must be 1 positive"),
        ('{"alpha": 1}', "topics, lists of words; found alpha"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_json_of_another_form_is_refused(tmp_path, text, message):
    (tmp_path / "topics.json").write_text(text)
    with pytest.raises(CorpusFormatError, match=message) as caught:
        read_json_topics(tmp_path / "topics.json")
    assert "topics.json" in str(caught.value)


def write_safetensors(path, tensors):
    names = {"<i4": "I32", "<i8": "I64", "<f8": "F64", "<f4": "F32"}
    header, body = {}, b""
    for name, array in tensors.items():
        end = len(body) + array.nbytes
        offsets = [len(body), end]
        header[name] = {
            "dtype": names[array.dtype.str],
            "shape": array.shape,
            "data_offsets": offsets,
        }
        body += array.tobytes()
    text = json.dumps({**header, "__metadata__": {"format": "pt"}}).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)


def make_bertopic(folder, *, has_weights=True):
    folder.mkdir()
    words = {
        "-1": [["of", 0.1]],
        "0": [["river", 0.6], ["lake", 0.4]],
        "1": [["piano", 0.7], ["violin", 0.3], ["", 1e-5]],
    }
    content = {"topic_representations": words, "topics": [0, -1, 1, 1], "topic_sizes": {"-1": 1}}
    (folder / "topics.json").write_text(json.dumps(content))
    if has_weights:
        matrix = sparse.csr_array(np.vstack([np.full(4, 0.25), WEIGHTS]))
        parts = {"indptr": matrix.indptr, "indices": matrix.indices, "data": matrix.data}
        tensors = {**parts, "shape": np.array(matrix.shape, dtype=np.int64)}
        write_safetensors(folder / "ctfidf.safetensors", tensors)
        vocabulary = {"vectorizer_model": {"vocab": {word: i for i, word in enumerate(WORDS)}}}
        (folder / "ctfidf_config.json").write_text(json.dumps(vocabulary))


@pytest.mark.parametrize("has_weights", [True, False])
def test_bertopics_folder(tmp_path, has_weights):
    make_bertopic(tmp_path / "model", has_weights=has_weights)
    topics = read_bertopic_folder(tmp_path / "model")
    assert topics.words == TOPICS
    assert topics.doc_topic.tolist() == [[1, 0], [0, 0], [0, 1], [0, 1]]
    assert topics.doc_ids is None
    if has_weights:
        assert list(topics.vocabulary) == WORDS
        assert topics.topic_word == pytest.approx(WEIGHTS)
    else:
        assert topics.topic_word is None


def test_every_damage_of_a_safetensors_file_is_told(tmp_path):
    path = tmp_path / "x.safetensors"
    write_safetensors(path, {"data": np.arange(3.0)})
    assert read_safetensors(path)["data"].tolist() == [0.0, 1.0, 2.0]
    whole = path.read_bytes()
    for n in range(0, len(whole), 5):
        path.write_bytes(whole[:n])
        with pytest.raises(CorpusFormatError, match=r"x\.safetensors"):
            read_safetensors(path)
    path.write_bytes(whole.replace(b'"F64"', b'"Q64"'))
    with pytest.raises(CorpusFormatError, match="damaged"):
        read_safetensors(path)


def test_a_folder_whose_files_contradict_each_other_is_refused(tmp_path):
    make_bertopic(tmp_path / "model")
    (tmp_path / "model" / "ctfidf_config.json").write_text(
        '{"vectorizer_model": {"vocab": {"a": 0}}}'
    )
    with pytest.raises(CorpusFormatError, match=r"of 3 topics and 4 words"):
        read_bertopic_folder(tmp_path / "model")


@pytest.mark.parametrize("text", ["{}", '{"topic_representations": 1}'])
def test_a_folder_without_words_of_topics_says_what_is_missing(tmp_path, text):
    (tmp_path / "topics.json").write_text(text)
    with pytest.raises(CorpusFormatError, match="no table topic_representations"):
        read_bertopic_folder(tmp_path)
