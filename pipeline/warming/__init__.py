"""Compilation of kernels before they are needed."""
