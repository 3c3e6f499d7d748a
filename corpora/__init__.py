"""Articles → tokens → bags of words: stores, readers, the text stage, formats and splits."""
