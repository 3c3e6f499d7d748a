"""Reference corpora for coherence: positions of words in one file, built out of core and mapped."""
