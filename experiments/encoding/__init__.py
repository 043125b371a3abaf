"""How the committed Amazon encodings are made of the raw reviews."""
