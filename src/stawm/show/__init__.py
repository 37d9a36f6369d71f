"""Episodes and records in, pictures out."""
