"""Questions put to the memory: a module for each head, with what it asks, answers and is judged by."""
