"""In-context learning with representations: `contents.py` lists the room."""
