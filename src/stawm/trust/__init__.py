"""How far an answer can be believed: calibrated beliefs, and whether a picture is like those that were learnt from."""
