"""In-context learning with representations: `contents.py` lists its results."""
