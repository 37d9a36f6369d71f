"""Beartype as the suite uses it: an int where a float is annotated is fine, as PEP 484 has it."""

from beartype import BeartypeConf, beartype

checked = beartype(conf=BeartypeConf(is_pep484_tower=True))
