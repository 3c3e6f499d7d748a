"""Models of any origin by their path: runs, saved models, and files of other programs.

The format is detected from the content. Files of gensim and scikit-learn are pickles, and loading a
pickle runs code. A pickle is loaded only if the user names it as a model and it begins as a pickle
of one of their classes. Such a beginning does not make a file harmless.
"""

import logging
import os
import pickle
import pickletools
import re
import warnings
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from corpora.formats.compression import read_bytes
from corpora.formats.number_table import is_number
from corpora.formats.vocabulary_file import read_vocabulary
from models.lda.foreign import (
    gensim_model,
    ldac_model,
    mallet_state_model,
    mallet_weights_model,
    sklearn_model,
)
from models.saved import ModelFormatError, SavedModel, load_model
from pipeline.runs.loaded_run import LoadedRun
from pipeline.runs.run_directory import RunDirectory
from pipeline.runs.tomotopy_file import read_tomotopy
from pipeline.runs.topica_file import MAGIC, read_topica

logger = logging.getLogger(__name__)

START = 1 << 16  # Bytes read to detect the format
PICKLED_KINDS = {
    "gensim.models.ldamodel LdaModel": "gensim",
    "gensim.models.ldamulticore LdaMulticore": "gensim",
    "sklearn.decomposition._lda LatentDirichletAllocation": "sklearn",
    "sklearn.pipeline Pipeline": "sklearn",
}
"""First class of a pickle that may be loaded, by kind."""
FIRST_BYTES = {
    "topica": MAGIC,
    "wikitopics": rb"PK\x03\x04",
    "tomotopy": rb"[A-Za-z]{2,8}\0.{0,12}TPTK",
}
"""Patterns of the first bytes of files, by kind."""
KNOWN = (
    "a run, a model.npz, gensim's LdaModel.save, scikit-learn's LatentDirichletAllocation or "
    "Pipeline by joblib or pickle, tomotopy's LDAModel.save, topica's LDA.save, MALLET's state or "
    "topic-word weights, or lda-c's directory or final.beta"
)


def read_model(
    path: str | os.PathLike[str], vocabulary: str | os.PathLike[str] | None = None
) -> SavedModel:
    """Read the model at `path`, of any origin.

    Loading a model of gensim or scikit-learn runs code from the file: name only files you trust.
    `KNOWN` lists the kinds; after MALLET's `--topic-word-weights-file` and a comma comes the state
    or the topic keys, for alpha. The `vocabulary` file names the words of models without words of
    their own: those of lda-c, and of scikit-learn if fitted to bare counts. Without both the
    model's vocabulary is empty.

    Raises ModelFormatError if the model is of an unknown kind, is damaged, or has another number of
    words than the vocabulary; CorpusFormatError if a file of MALLET or lda-c breaks its format; the
    message names file and line; MissingExtraError if the model is tomotopy's, and tomotopy is not
    installed; OSError if a file is missing or cannot be read; UsageError if the run's training has
    not ended.
    """
    saved = _read(path)
    if not saved.vocabulary and vocabulary is not None:
        words = read_vocabulary(vocabulary)
        if len(words) != saved.topics.n_words:
            raise ModelFormatError(
                f"{path} has {saved.topics.n_words:,} words, {vocabulary} {len(words):,}: "
                "it is not the vocabulary of this model"
            )
        saved = SavedModel(saved.topics, words, saved.header, saved.prevalence)
    if len(set(saved.vocabulary)) != len(saved.vocabulary):
        raise ModelFormatError(f"{path}: a word is in the vocabulary twice")
    return saved


def kind_of(path: str | os.PathLike[str]) -> str:
    """Return the kind of the model at `path`, a key of `READERS`; no pickle is loaded for this.

    Raises ModelFormatError if the kind is unknown; OSError if the file is missing or cannot be
    read.
    """
    path = Path(path)
    if path.is_dir():
        if RunDirectory(path).exists:
            return "run"
        if (path / "final.beta").is_file():
            return "ldac"
        raise ModelFormatError(f"{path} is no model: it is a directory without final.beta")
    start = start_of(path)
    for kind, pattern in FIRST_BYTES.items():
        if re.match(pattern, start, re.DOTALL):
            return kind
    if start[:1] == pickle.PROTO:
        name = _first_class(start)
        if name not in PICKLED_KINDS:
            raise ModelFormatError(
                f"{path}: a pickle of {name.replace(' ', '.') or 'something else'}, which is not "
                f"loaded: a model is {KNOWN}"
            )
        return PICKLED_KINDS[name]
    return _kind_of_text(path, start)


def _read(path: str | os.PathLike[str]) -> SavedModel:
    whole, alpha_from = Path(path), ""
    first, comma, second = str(path).rpartition(",")
    if comma and not whole.exists() and Path(first).exists():
        whole, alpha_from = Path(first), second
    kind = kind_of(whole)
    if kind == "mallet-weights":
        if not alpha_from:
            raise ModelFormatError(
                f"{path} holds MALLET's topic-word weights, but not alpha: name MALLET's state or "
                f"topic keys too, as {path},FILE"
            )
        return mallet_weights_model(whole, alpha_from)
    if alpha_from:
        raise ModelFormatError(
            f"{whole}: only MALLET's topic-word weights take alpha from another file, {alpha_from}"
        )
    return READERS[kind](whole)


def _read_gensim(path: Path) -> SavedModel:
    from gensim.models import LdaModel  # noqa: PLC0415  # takes a second

    with _loading(path):
        model = LdaModel.load(str(path))
        if not isinstance(model, LdaModel):
            raise TypeError(f"expected an LdaModel, found a {type(model).__name__}")
        return gensim_model(model)


def _read_topica(path: Path) -> SavedModel:
    described = read_topica(path)
    topics = described.lda
    if topics is None:
        raise ModelFormatError(
            f"{path}: documents have no likelihood under this model: {described.no_likelihood}; "
            "score it by --measures"
        )
    return SavedModel(topics, described.vocabulary, {"family": "lda", "from": "topica"})


def _read_sklearn(path: Path) -> SavedModel:
    import joblib  # noqa: PLC0415

    with _loading(path):
        return sklearn_model(joblib.load(path))


READERS: dict[str, Callable[[Path], SavedModel]] = {
    "run": lambda path: LoadedRun(RunDirectory(path)).model,
    "wikitopics": load_model,
    "gensim": _read_gensim,
    "sklearn": _read_sklearn,
    "tomotopy": read_tomotopy,
    "topica": _read_topica,
    "mallet-state": mallet_state_model,
    "ldac": ldac_model,
}
"""Readers by kind. MALLET's weights are read with a second file."""


@contextmanager
def _loading(path: Path) -> Iterator[None]:
    """Turn any error of loading a pickle, damaged or of another version, into ModelFormatError."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        try:
            yield
        except FileNotFoundError:
            raise  # a file that gensim keeps beside the model is missing
        except Exception as error:
            raise ModelFormatError(
                f"{path}: not a usable model: {type(error).__name__}: {error}"
            ) from error
    for each in caught[:1]:
        logger.warning("%s: %s", path, str(each.message).strip().partition("\n")[0])


def start_of(path: Path) -> bytes:
    """Return the first bytes of a file, decompressed."""
    with path.open("rb") as stream:
        start = stream.read(START)
    if start.startswith(b"PK\x03\x04"):
        return start
    if start[:1] == b"x" and len(start) > 1 and int.from_bytes(start[:2]) % 31 == 0:
        try:
            return zlib.decompressobj().decompress(start, START)  # joblib's compress=True
        except zlib.error:
            return start
    found = b""
    for chunk in read_bytes(path):
        found += chunk
        if len(found) >= START:
            break
    return found


def _first_class(start: bytes) -> str:
    """Return module and name of the first class in a pickle; empty if none is found.

    Opcodes are read, none is executed.
    """
    texts: list[str] = []
    try:
        for opcode, argument, _ in pickletools.genops(start):
            if opcode.name == "GLOBAL":
                return str(argument)
            if opcode.name == "STACK_GLOBAL":
                return " ".join(texts[-2:])
            if "UNICODE" in opcode.name:
                texts.append(str(argument))
    except (ValueError, IndexError, OverflowError):
        pass  # truncated or damaged before the first class
    return ""


def _kind_of_text(path: Path, start: bytes) -> str:
    if start.startswith(b"#doc"):
        return "mallet-state"
    if path.suffix == ".other":
        return "ldac"
    line = start.partition(b"\n")[0].decode("utf-8", "replace").rstrip("\r")
    fields = line.split("\t")
    if len(fields) == 3 and fields[0] == "0":
        if is_number(fields[2]):
            return "mallet-weights"
        if is_number(fields[1]):
            raise ModelFormatError(
                f"{path}: MALLET's topic keys name a few words of each topic and are no model: "
                "give its --output-state or --topic-word-weights-file, or score its words by "
                "--measures"
            )
    values = line.split()[:-1] or line.split()  # the last may be truncated
    if values and all(is_number(value) and not float(value) > 0 for value in values):
        return "ldac"  # log-probabilities
    raise ModelFormatError(
        f"{path} is no model that is known here: a model is {KNOWN}; word lists, and weights "
        "without a prior, are scored by --measures"
    )
