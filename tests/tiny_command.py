"""Overrides that make a preset so small that an epoch over the embedded digits takes about a second."""

TINY_MODEL = [
    *["--model.memory.size", "12"],
    *["--model.glimpses", "2"],
    *["--model.context.filters", "4", "4"],
    *["--model.context.strides", "3", "2"],
    *["--model.glimpse.filters", "4", "4"],
]
