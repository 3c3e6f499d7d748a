"""Downloads into article stores: from files and from live wikis, in the background."""
