"""What people see in a browser: the page of `stawm serve`, and reports that open from disk."""
