"""What a number is: config, protocol, seeds, identity, one cell's run."""
