"""How a model is trained: fit, checkpoints, schedules, health, evaluation and weights."""
