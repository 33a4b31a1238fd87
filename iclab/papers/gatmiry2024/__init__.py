"""Can looped transformers learn to implement multi-step gradient descent for in-context
learning? `contents.py` lists its results.
"""
