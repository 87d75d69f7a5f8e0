"""Reading through NVIDIA DALI: pipelines, and the loader over them."""
