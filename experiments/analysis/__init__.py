"""What numbers say: intervals, verdicts, comparisons, claims."""
