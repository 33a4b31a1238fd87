"""Calls of every public function with arguments drawn from its signature.

`python -m tests.fuzz --calls 100000` makes many; `test_fuzz.py` makes a few.
"""
