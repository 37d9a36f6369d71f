"""The model: a policy of glimpses, a memory, and heads that read it."""
