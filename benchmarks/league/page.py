"""The league's page: tables of figures, and correlations of measures."""

from __future__ import annotations


def page(output):
    raise NotImplementedError
