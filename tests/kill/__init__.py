"""Runs that are killed in the middle of their work, as often as one likes.

`python -m tests.kill --times 1000` kills `iclab reproduce`, `iclab.sweep` and
`iclab train`; `test_kill.py` does it a few times.
"""
