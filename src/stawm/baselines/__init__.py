"""Whole models that answer the same tasks without glimpses or memory, to compare with."""
