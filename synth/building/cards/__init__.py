"""The README.md of sets, as Hugging Face reads it."""
