"""What a person reads: tables, figures, report, documents."""
