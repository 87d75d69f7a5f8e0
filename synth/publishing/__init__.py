"""Sets for others: trainers' own folder layouts, and published sets."""
