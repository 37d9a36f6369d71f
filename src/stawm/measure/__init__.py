"""How well a model answers, how it fares, and what its answers come from."""
