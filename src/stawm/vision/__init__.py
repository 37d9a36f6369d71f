"""Pixels in, pixels out; knows nothing of memory."""
