"""Wikipedia → articles: the sources that fill an `ArticleStore`."""
