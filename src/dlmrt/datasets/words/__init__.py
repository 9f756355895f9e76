"""Word problems with worked solutions: drawn, phrased, solved and checked here."""
