"""Whole models that answer the same tasks in their own way, to compare with: each is one file that enters itself."""
