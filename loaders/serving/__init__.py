"""The transforms of loaders, as a server applies them."""
