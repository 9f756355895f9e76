"""Turn result files into pages, tables and plots."""
