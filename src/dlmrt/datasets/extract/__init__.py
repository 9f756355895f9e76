"""Free text to JSON records, and English to ISO dates: drawn, phrased and checked here."""
