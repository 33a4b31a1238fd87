"""Trained Transformers Learn Linear Models In-Context: `contents.py` lists the room."""
