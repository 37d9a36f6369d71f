"""The data sets that have names, one module for each."""
