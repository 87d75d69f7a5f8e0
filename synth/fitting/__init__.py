"""A recipe found from real lows: what it takes to make lows whose statistics are theirs."""
