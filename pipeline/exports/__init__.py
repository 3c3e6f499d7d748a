"""Topics and documents of runs for other tools: tables, networks, pyLDAvis, gensim, MALLET."""

from typing import TYPE_CHECKING

from corpora.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from pipeline.exports.documents_table import document_blocks as document_blocks
    from pipeline.exports.documents_table import write_documents as write_documents
    from pipeline.exports.gensim_lda import gensim_model as gensim_model
    from pipeline.exports.pyldavis_input import pyldavis as pyldavis
    from pipeline.exports.sampled_tokens import mallet_state as mallet_state
    from pipeline.exports.topics_table import topic_words as topic_words
    from pipeline.exports.topics_table import write_topics as write_topics
    from pipeline.exports.word_network import word_network as word_network
    from pipeline.exports.word_network import write_graphml as write_graphml

__getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
