import pytest

from corpora.tokens.settings import TextSettings


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"parts_of_speech": ("NOUN", "VREB")}, "found VREB"),
        ({"parts_of_speech": ()}, "found none"),
        ({"parts_of_speech": "NOUN"}, "list of words, not 'NOUN'"),
        ({"extra_stop_words": "from"}, "list of words, not 'from'"),
        ({"extra_stop_words": (1,)}, "list of words"),
        ({"min_length": 0}, "at least 1, not 0"),
        ({"documents": "paragraph"}, "not 'paragraph'"),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused(setting, message):
    with pytest.raises(ValueError, match=message):
        TextSettings(**setting)


def test_lists_are_taken_for_tuples_and_blank_models_know_no_parts_of_speech():
    assert TextSettings(parts_of_speech=["NOUN"]) == TextSettings(parts_of_speech=("NOUN",))
    assert TextSettings().knows_parts_of_speech
    assert TextSettings(spacy_model="de_core_news_sm").knows_parts_of_speech
    assert not TextSettings(spacy_model="blank:de").knows_parts_of_speech
