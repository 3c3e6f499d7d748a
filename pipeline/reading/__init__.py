"""Reading tests: a page of questions on topics, its key, and scores of the answers."""
