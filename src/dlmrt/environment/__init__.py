"""What this machine is: the report that ``dlmrt doctor`` prints and every result file carries."""
