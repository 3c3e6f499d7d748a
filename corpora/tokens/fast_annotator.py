"""The annotations of `nlp.pipe`, several times faster, for the pipelines that this file recognises.

These are spaCy's small models for English and whatever is built like them: its rule-based
tokenizer, a `Tok2Vec` of hashed embeddings and convolutions, a tagger, an attribute ruler, and a
lemmatizer by rules or a table. Everything else is refused with the reason, for `nlp.pipe` to do.

spaCy's components run once for each different token (see `corpora.tokens.fast`). The convolution is
computed here, and compared with spaCy's when the model is loaded. Used without documentation are
the parameters of the two networks, the tokenizer's cuts at white space, and that a lemma depends on
the token's form, part of speech and morphology alone.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from spacy.attrs import IDS  # type: ignore[import-not-found]
from spacy.lang.en.lemmatizer import EnglishLemmatizer
from spacy.language import Language
from spacy.pipeline import AttributeRuler, Lemmatizer, Tagger, Tok2Vec
from spacy.tokenizer import Tokenizer  # type: ignore[import-not-found]
from thinc.api import Model
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

from corpora.errors import UnsupportedPipelineError
from corpora.tokens.annotation import PARTS_OF_SPEECH, Annotation
from corpora.tokens.fast.attribute_rules import AttributeRules
from corpora.tokens.fast.convolution import ConvolutionalTagger, Layer
from corpora.tokens.fast.lemma_table import LemmaTable
from corpora.tokens.fast.lexicon import SEPARATOR, Lexicon
from corpora.tokens.fast.row_product import RowProductOps
from corpora.tokens.spacy_model import token_spans

COMPONENTS = {
    "tok2vec": (Tok2Vec,),
    "tagger": (Tagger,),
    "attribute_ruler": (AttributeRuler,),
    "lemmatizer": (Lemmatizer, EnglishLemmatizer),
}
"""Components of the pipeline, in order, with their classes, not derived ones."""

OF_THE_FORM = {"NORM", "PREFIX", "SUFFIX", "SHAPE", "LOWER", "ORTH", "SPACY", "IS_SPACE"}
"""Attributes that depend on a token's form, its norm and the space after it."""

MAX_ROWS = 200_000
"""Different tokens that are remembered, at some 0.8 kB each; then the rarer half is forgotten."""

OF_THE_LEXEME = OF_THE_FORM - {"ORTH", "SPACY"} | {"IS_STOP"}
"""Attributes of a form that are asked for; spaCy's others would be worked out for nothing."""

PROBE = (
    "Anarchism is a philosophy that's sceptical of authority; it hasn't got one (since 1840).",
    " \n\nLet's see: 3.14 and  cafés,\tnaïve O'Neill. ",
    "",
    "Ok",
    "The quick brown foxes were jumping over 13 lazy dogs " * 12,
)
"""Texts on which the outcome is compared with that of `nlp` at the start."""

INDEX_OF_POS = {name: i for i, name in enumerate(PARTS_OF_SPEECH)}


class FastAnnotator:
    """Annotates by tables and tiles. `nlp` has the components to run enabled, and no others; it is
    not for use elsewhere, as its embedding layers and its vocabulary are changed. Raises
    UnsupportedPipelineError, with the reason, if the pipeline is of another kind.
    """

    def __init__(self, nlp: Language) -> None:
        _check_components(nlp)
        _leave_out_attributes(nlp)
        parts: dict[str, Any] = {name: nlp.get_pipe(name) for name in COMPONENTS}
        columns, embed = _embedding(parts["tok2vec"].model)
        self._nlp = nlp
        self._tagger = _convolution(parts["tok2vec"].model.layers[1], parts["tagger"])
        self._lexicon = Lexicon(nlp, embed, columns, self._tagger.width)
        rules = AttributeRules(parts["attribute_ruler"])
        labels = parts["tagger"].labels
        self._table = LemmaTable(self._lexicon, labels, rules, parts["lemmatizer"])
        # The matrices are too small to be worth a second thread, and other sums have other bits.
        self._threads = ThreadpoolController()
        self._check()

    @property
    def n_remembered(self) -> int:
        """Tokens and chunks of text that need not be looked at again, whichever are more."""
        return max(self._lexicon.n_rows, self._lexicon.n_chunks)

    def annotate(self, texts: Sequence[str]) -> Annotation:
        """The annotation of `texts`; each is a text of its own to the tagger."""
        try:
            if self.n_remembered > MAX_ROWS:
                self._table.keep(self._lexicon.keep_frequent(MAX_ROWS // 2))
            return self._annotate(texts)
        except BaseException:  # an interrupt, say: what is half learned would be wrong later
            self._forget()
            raise

    def token_spans(self, texts: Sequence[str]) -> list[NDArray[np.int64]]:
        """Return start and end (n_tokens, 2) of the tokens of each text, as characters."""
        return token_spans(self._nlp, texts)

    def _annotate(self, texts: Sequence[str]) -> Annotation:
        # Without the zone the strings of all texts ever read would stay in memory.
        with self._nlp.memory_zone(), self._threads.limit(limits=1, user_api="blas"):
            rows, text_start = self._lexicon.rows_of(texts)
            tags = self._tagger.tag(rows, text_start, self._lexicon.embedding)
            text_of = np.repeat(np.arange(len(texts)), np.diff(text_start))
            entry_of = self._table.look_up(rows, tags, text_of)
        return _annotation(self._table.entries, entry_of, self._lexicon.is_stop[rows], text_start)

    def _forget(self) -> None:
        self._lexicon.clear()
        self._table.clear()

    def _check(self) -> None:
        """See to it that what is worked out here is what spaCy says."""
        docs = [self._nlp(text) for text in PROBE]
        here = self.annotate(PROBE)
        there = [(token.lemma_, token.pos_, token.tag_) for doc in docs for token in doc]
        if there != list(zip(*decoded(here), strict=True)):
            raise UnsupportedPipelineError("its network does not give what it should")


def decoded(annotation: Annotation) -> tuple[list[str], list[str], list[str]]:
    """Lemma, part of speech and tag of each token, as strings."""
    return (
        [annotation.lemmas[i] for i in annotation.lemma_of],
        [PARTS_OF_SPEECH[i] for i in annotation.pos],
        [annotation.tags[i] for i in annotation.tag_of],
    )


def _check_components(nlp: Language) -> None:
    """Raise if the pipeline has other parts than those that this file knows."""
    if nlp.pipe_names != list(COMPONENTS):
        raise UnsupportedPipelineError(f"its components are {', '.join(nlp.pipe_names)}")
    parts = [(name, nlp.get_pipe(name), classes) for name, classes in COMPONENTS.items()]
    for name, part, classes in [*parts, ("tokenizer", nlp.tokenizer, (Tokenizer,))]:
        if type(part) not in classes:
            raise UnsupportedPipelineError(f"its {name} is a {type(part).__name__}")
    mode = getattr(nlp.get_pipe("lemmatizer"), "mode", "")
    if mode not in ("rule", "lookup"):
        raise UnsupportedPipelineError(f"the mode of its lemmatizer is {mode!r}")
    tokenizer: Any = nlp.tokenizer
    for rule in tokenizer.rules or {}:
        if SEPARATOR in rule or (len(rule.split()) > 1) or (rule != rule.strip() and rule.strip()):
            raise UnsupportedPipelineError(f"its tokenizer has a rule for {rule!r}")
    if [token.text for token in tokenizer(SEPARATOR)] != [SEPARATOR]:
        raise UnsupportedPipelineError(f"its tokenizer takes {SEPARATOR!r} apart")


def _leave_out_attributes(nlp: Language) -> None:
    """Take from the vocabulary what would set attributes of new forms that nobody asks for."""
    vocab: Any = nlp.vocab
    getters = vocab.lex_attr_getters
    for attribute in getters.keys() - {IDS[name] for name in OF_THE_LEXEME}:
        del getters[attribute]


def _embedding(tok2vec: Model[Any, Any]) -> tuple[list[str], Callable[[Any], Any]]:
    """The attributes that a token's embedding is made from, and what makes it."""
    layers = tok2vec.layers[0].layers
    names = [layer.name.partition("(")[0] for layer in layers]
    if names != ["extract_features", "list2ragged", "with_array", "with_array", "ragged2list"]:
        raise UnsupportedPipelineError("its tok2vec embeds words in another way than by hashing")
    columns = [str(name) for name in layers[0].attrs["columns"]]
    if unknown := set(columns) - OF_THE_FORM:
        raise UnsupportedPipelineError(f"its tok2vec looks at {', '.join(sorted(unknown))}")
    for layer in layers[2:4]:
        for node in layer.walk():
            node.ops = RowProductOps(use_blis=False)

    def embed(attributes: Any) -> Any:
        return layers[3].predict(layers[2].predict(attributes))

    return columns, embed


def _convolution(encode: Model[Any, Any], tagger: Any) -> ConvolutionalTagger:
    """The tagger's network, with the weights of spaCy's."""
    nodes: dict[str, list[Model[Any, Any]]] = {}
    for node in encode.walk():
        nodes.setdefault(node.name.partition("(")[0].partition(">>")[0], []).append(node)
    parts = [nodes.pop(name, []) for name in ("expand_window", "maxout", "layernorm")]
    windows = [node for node in parts[0] if "window_size" in node.attrs]
    maxouts, norms = ([node for node in part if node.has_param("b")] for part in parts[1:])
    depth = len(maxouts)
    is_known = (
        not nodes.keys() - {"with_array", "residual", "dropout"}
        and depth
        and len(norms) == len(windows) == depth
        and all(window.attrs["window_size"] == 1 for window in windows)
        and encode.attrs.get("pad", 0) >= depth
    )
    head = tagger.model.layers
    names = [layer.name for layer in head]
    if not is_known or names != ["tok2vec-listener", "with_array(softmax)"]:
        raise UnsupportedPipelineError("its network is not a stack of convolutions")
    layers = [
        Layer.of(*_weights(maxout, "W"), *_weights(norm, "G"))
        for maxout, norm in zip(maxouts, norms, strict=True)
    ]
    return ConvolutionalTagger(layers, *_weights(head[1].layers[0], "W"))


def _weights(layer: Any, name: str) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    return layer.get_param(name), layer.get_param("b")


def _annotation(
    entries: Sequence[tuple[str, str, str]],
    entry_of: NDArray[np.int32],
    is_stop: NDArray[np.bool_],
    text_start: NDArray[np.int64],
) -> Annotation:
    """The annotation of texts whose tokens have these entries of the lemma table."""
    used = np.flatnonzero(np.bincount(entry_of, minlength=len(entries)))
    chosen = [entries[e] for e in used.tolist()]
    local = np.zeros(len(entries), dtype=np.int64)
    local[used] = np.arange(len(used))
    chosen_of = local[entry_of]
    lemmas, lemma_of = _numbered([lemma for lemma, _, _ in chosen])
    tags, tag_of = _numbered([tag for _, _, tag in chosen])
    pos = np.array([INDEX_OF_POS[part] for _, part, _ in chosen], dtype=np.uint8)[chosen_of]
    tokens = lemma_of[chosen_of], tag_of[chosen_of].astype(np.int16), pos
    return Annotation(lemmas, tags, *tokens, is_stop, text_start)


def _numbered(strings: Sequence[str]) -> tuple[tuple[str, ...], NDArray[np.int32]]:
    """The different strings, sorted, and which of them each is."""
    number_of = {string: i for i, string in enumerate(sorted(set(strings)))}
    return tuple(number_of), np.array([number_of[string] for string in strings], dtype=np.int32)
