"""Whole files or none: checkpoints, trained weights, and what a run writes down about itself."""
