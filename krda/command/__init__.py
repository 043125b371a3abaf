"""The command ``python -m krda``: two tables in, predictions and a check out."""
