"""How models, processors and their parts come from folders and from the Hub, and what of them is refused."""
