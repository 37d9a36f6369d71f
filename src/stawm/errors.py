"""Mistakes a user can make, each told in one line: what was given, what was wanted, what to do."""


class StawmError(Exception):
    """A failure that has a cure; the command line prints it as one line and leaves with `exit_code`."""

    exit_code = 1


class UsageError(StawmError):
    """An unknown name, an unknown field, a value of the wrong type or out of range."""

    exit_code = 2


class DataError(StawmError):
    """Data that is missing, broken, tampered with, or does not fit the model."""

    exit_code = 3


class CheckpointError(StawmError):
    """A run, checkpoint or set of weights that is missing, truncated or of another model."""

    exit_code = 4


class TrainingError(StawmError):
    """A run that cannot go on, such as one whose loss is no longer finite."""

    exit_code = 5


class StorageError(StawmError):
    """A file that could not be written: the disk is full, or the place is not writable."""

    exit_code = 6
