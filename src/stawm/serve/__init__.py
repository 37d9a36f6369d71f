"""A local server that looks at pictures: the page, and the JSON API behind it."""
