"""The benchmark: data sets, protocol, records, tables."""
