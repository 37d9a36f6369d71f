"""The paper's experiments as data, and the models they describe."""
