"""A picture as somebody gives it, made into one as a model's training pictures were."""
