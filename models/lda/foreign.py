"""LDA of other libraries with its words: gensim, scikit-learn, tomotopy, MALLET and lda-c.

Each function gives a `SavedModel`. Its vocabulary is empty where the library does not keep words:
then it is for the caller to say what the columns stand for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from corpora.errors import CorpusFormatError
from corpora.formats.ldac_model import read_ldac_model
from corpora.formats.lines import LineReader
from corpora.formats.mallet_state_file import read_mallet_state
from corpora.formats.mallet_topic_keys import read_topic_keys
from corpora.formats.mallet_weights import read_topic_word_weights
from models.lda.topics import LDATopics
from models.saved import ModelFormatError, SavedModel

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    from corpora.formats.mallet_weights import TopicWordWeights

    PathLike = str | os.PathLike[str]


def gensim_model(model: Any) -> SavedModel:
    """A `gensim.models.LdaModel` or `LdaMulticore`; without words if it was given no id2word.

    Raises
    ------
    ValueError
        If it was loaded without its state, which gensim keeps in a file of its own.
    """
    if model.state is None:
        raise ValueError("it has no state: its file that ends in .state is missing")
    topics = LDATopics.from_gensim(model)
    # Where there was no dictionary gensim makes a stand-in, in which each word is its number.
    has_words = bool(model.id2word) and type(model.id2word).__name__ != "FakeDict"
    words = tuple(str(model.id2word[w]) for w in range(topics.n_words)) if has_words else ()
    return SavedModel(topics, words, {"family": "lda", "from": "gensim"})


def sklearn_model(model: Any) -> SavedModel:
    """A fitted `LatentDirichletAllocation`, or a `Pipeline` that ends in one.

    The words are those that the pipeline's earlier steps, such as a `CountVectorizer`, give out, or
    the names of the columns that it was fitted to; none if neither is there.

    Raises
    ------
    TypeError
        If it is anything else.
    ValueError
        If it has not been fitted.
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
    """A trained `tomotopy.LDAModel`."""
    topics = LDATopics.from_tomotopy(model)
    header = {"family": "lda", "from": "tomotopy"}
    return SavedModel(topics, tuple(map(str, model.used_vocabs)), header)


def mallet_state_model(path: PathLike) -> SavedModel:
    """The model in MALLET's `--output-state`: its counts, alpha and beta.

    Words without a token, which MALLET may know from elsewhere, are not in a state.

    Raises
    ------
    OSError
        If the file is missing or cannot be read.
    CorpusFormatError
        If it is no state.
    ModelFormatError
        If it does not say alpha and beta, or is empty.
    """
    state = read_mallet_state(path)
    try:
        topics = LDATopics.from_mallet(state)
    except ValueError as error:
        raise ModelFormatError(f"{path}: {error}") from error
    return SavedModel(topics, state.vocabulary, {"family": "lda", "from": "mallet-state"})


def mallet_weights_model(path: PathLike, alpha_from: PathLike) -> SavedModel:
    """The model in MALLET's `--topic-word-weights-file`, with alpha from another file.

    Parameters
    ----------
    path
        The weights.
    alpha_from
        MALLET's `--output-state`, or its `--output-topic-keys`, in which alpha has five decimals.

    Raises
    ------
    OSError
        If a file is missing or cannot be read.
    CorpusFormatError
        If a file is not what its format says.
    ModelFormatError
        If the two have different numbers of topics or, of a state, different tokens in them.
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
    """The model in lda-c's final.beta and final.other, or in the directory of them; without words.

    Raises
    ------
    OSError
        If a file is missing or cannot be read.
    CorpusFormatError
        If a file is not what its format says, or the two contradict each other.
    """
    model = read_ldac_model(path)
    topics = LDATopics.from_ldac(model.log_topic_word, model.alpha)
    return SavedModel(topics, (), {"family": "lda", "from": "ldac"})


def _alpha_of_state(
    weights: TopicWordWeights, path: PathLike, alpha_from: PathLike
) -> NDArray[np.float64]:
    """The alpha of a state, if the tokens of its topics are what the weights are without beta."""
    state = read_mallet_state(alpha_from)
    if state.alpha is None or state.beta is None:
        raise CorpusFormatError(f"{alpha_from}: does not say alpha and beta")
    in_weights = weights.weights.sum(axis=1) - state.beta * len(weights.vocabulary)
    in_state = state.n_kw.sum(axis=1)
    if in_weights.shape != in_state.shape:
        return state.alpha  # which the caller finds to be of another length
    contradicts = ~np.isclose(in_weights, in_state, 1e-6, 1e-2)
    if contradicts.any():
        k = int(np.argmax(contradicts))
        raise ModelFormatError(
            f"topic {k} has {in_state[k]} tokens in {alpha_from}, but {in_weights[k]:.6g} in "
            f"{path}: are they of one model?"
        )
    return state.alpha
