"""Several runs on one file of questions, compared."""
