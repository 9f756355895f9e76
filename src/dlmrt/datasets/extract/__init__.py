"""Free English text to one JSON record (``family.py``), and English to ISO 8601 (``dates.py``)."""
