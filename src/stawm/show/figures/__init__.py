"""A module for each figure: what it draws, what it needs for that, and its name."""
