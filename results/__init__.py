"""What a campaign's preferences say about its runs: tables, figures, sentences, report."""
