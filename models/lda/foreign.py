"""LDA of other libraries with its words: gensim, scikit-learn, tomotopy, MALLET and lda-c.

Each function returns a `SavedModel`. Its vocabulary is empty if the library does not store words:
the caller must then know the words of the columns.
"""

import os
from typing import Any

import numpy as np

from corpora.errors import CorpusFormatError
from corpora.formats.ldac_model import read_ldac_model
from corpora.formats.lines import LineReader
from corpora.formats.mallet_state_file import read_mallet_state
from corpora.formats.mallet_topic_keys import read_topic_keys
from corpora.formats.mallet_weights import TopicWordWeights, read_topic_word_weights
from models.arrays import Floats
from models.lda.topics import LDATopics
from models.saved import ModelFormatError, SavedModel

PathLike = str | os.PathLike[str]


def gensim_model(model: Any) -> SavedModel:
    """Read a `gensim.models.LdaModel` or `LdaMulticore`; without words if it has no id2word. Raises
    ValueError if the model was loaded without its state, which gensim stores in a separate file.
    """
    if model.state is None:
        raise ValueError("it has no state: its file that ends in .state is missing")
    topics = LDATopics.from_gensim(model)
    # Without a dictionary gensim makes a substitute, in which each word is its number.
    has_words = bool(model.id2word) and type(model.id2word).__name__ != "FakeDict"
    words = tuple(str(model.id2word[w]) for w in range(topics.n_words)) if has_words else ()
    return SavedModel(topics, words, {"family": "lda", "from": "gensim"})


def sklearn_model(model: Any) -> SavedModel:
    """Read a fitted `LatentDirichletAllocation`, or a `Pipeline` that ends in one.

    The words are the output names of the pipeline's earlier steps, such as a `CountVectorizer`, or
    the names of the columns that it was fitted to; none without either.

    Raises TypeError if the model is of another class; ValueError if the model has not been fitted.
    """
    steps = getattr(model, "steps", None)
    last = steps[-1][1] if steps else model
    if type(last).__name__ != "LatentDirichletAllocation":
        raise TypeError(
            f"expected a LatentDirichletAllocation or a Pipeline that ends in one, "
            f"found a {type(last).__name__}"
        )
    if not hasattr(last, "components_"):
        raise ValueError("the LatentDirichletAllocation has not been fitted")
    names: Any = getattr(last, "feature_names_in_", ())
    if steps and len(steps) > 1:
        names = model[:-1].get_feature_names_out()
    words = tuple(str(name) for name in names)
    return SavedModel(LDATopics.from_sklearn(last), words, {"family": "lda", "from": "sklearn"})


def tomotopy_model(model: Any) -> SavedModel:
    """Read a trained `tomotopy.LDAModel`."""
    topics = LDATopics.from_tomotopy(model)
    header = {"family": "lda", "from": "tomotopy"}
    return SavedModel(topics, tuple(map(str, model.used_vocabs)), header)


def mallet_state_model(path: PathLike) -> SavedModel:
    """Read the model in MALLET's `--output-state`: its counts, alpha and beta. A state has only
    words with tokens. Raises OSError if the file is missing or cannot be read; CorpusFormatError if
    the file is no state; ModelFormatError if the state lacks alpha and beta, or is empty.
    """
    state = read_mallet_state(path)
    try:
        topics = LDATopics.from_mallet(state)
    except ValueError as error:
        raise ModelFormatError(f"{path}: {error}") from error
    return SavedModel(topics, state.vocabulary, {"family": "lda", "from": "mallet-state"})


def mallet_weights_model(path: PathLike, alpha_from: PathLike) -> SavedModel:
    """Read the model in MALLET's `--topic-word-weights-file`, with alpha from another file.

    `alpha_from` is MALLET's `--output-state`, or its `--output-topic-keys`, in which alpha has five
    decimals. Raises OSError if a file is missing or cannot be read; CorpusFormatError if a file
    violates its format; ModelFormatError if the two files have different numbers of topics or, for
    a state, of tokens in a topic.
    """
    weights = read_topic_word_weights(path)
    first = LineReader(alpha_from).line()
    if first is not None and first.startswith(b"#"):
        alpha = _alpha_of_state(weights, path, alpha_from)
    else:
        alpha = read_topic_keys(alpha_from).alpha
    if len(alpha) != len(weights.weights):
        raise ModelFormatError(
            f"{alpha_from} has {len(alpha)} topics, {path} has {len(weights.weights)}: "
            "are they of one model?"
        )
    topics = LDATopics.from_weights(weights.weights, alpha)
    return SavedModel(topics, weights.vocabulary, {"family": "lda", "from": "mallet-weights"})


def ldac_model(path: PathLike) -> SavedModel:
    """Read the model in lda-c's final.beta and final.other, or in their directory; without words.
    Raises OSError if a file is missing or cannot be read; CorpusFormatError if a file violates its
    format, or the two contradict each other.
    """
    model = read_ldac_model(path)
    topics = LDATopics.from_ldac(model.log_topic_word, model.alpha)
    return SavedModel(topics, (), {"family": "lda", "from": "ldac"})


def _alpha_of_state(weights: TopicWordWeights, path: PathLike, alpha_from: PathLike) -> Floats:
    """Return alpha of a state, if its topics have as many tokens as the weights without beta."""
    state = read_mallet_state(alpha_from)
    if state.alpha is None or state.beta is None:
        raise CorpusFormatError(f"{alpha_from}: does not say alpha and beta")
    in_weights = weights.weights.sum(axis=1) - state.beta * len(weights.vocabulary)
    in_state = state.n_kw.sum(axis=1)
    if in_weights.shape != in_state.shape:
        return state.alpha  # its length differs, which the caller refuses
    contradicts = ~np.isclose(in_weights, in_state, 1e-6, 1e-2)
    if contradicts.any():
        k = int(np.argmax(contradicts))
        raise ModelFormatError(
            f"topic {k} has {in_state[k]} tokens in {alpha_from}, but {in_weights[k]:.6g} in "
            f"{path}: are they of one model?"
        )
    return state.alpha
