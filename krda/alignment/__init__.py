"""Alignments of a source with a target that need no order of the columns, and a choice of one."""
