"""Trained Transformers Learn Linear Models In-Context: see `contents.py`."""
