"""Speed and memory: ``python -m benchmarks`` measures, see docs/performance.md."""
