"""Room for the report: it reads stored results and computes nothing."""
