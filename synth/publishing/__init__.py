"""Sets for others: folders that trainers read as they are, and what is given away."""
