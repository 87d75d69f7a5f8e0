"""How fast loaders are on this machine, beside plain ones."""
