"""Speed and peak memory of KRDA beside named peers: ``python -m speed``, docs/performance.md."""
