"""Memory without pictures: pairs of keys and values are written, then values are asked for by their keys."""
