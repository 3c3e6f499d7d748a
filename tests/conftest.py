"""What all tests share."""

from hypothesis import settings

# A busy machine is no fault of the code: laws are checked without a clock.
settings.register_profile("wikitopics", deadline=None)
settings.load_profile("wikitopics")
