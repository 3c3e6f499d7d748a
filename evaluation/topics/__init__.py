"""Quality of topics: coherence, relevance of words, distances, alignment, typical documents."""
