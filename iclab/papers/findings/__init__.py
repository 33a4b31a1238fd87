"""What this laboratory found, in the form of a paper."""
