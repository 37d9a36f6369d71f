"""What was run and found: entries, tables, cards."""
