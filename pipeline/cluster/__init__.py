"""Dask clusters: connection, workers, tasks and their queue."""
