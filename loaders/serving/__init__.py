"""What loaders do to an image, as a server does it."""
