"""Grids of settings and seeds: every cell an ordinary run in a folder and a process of its own."""
