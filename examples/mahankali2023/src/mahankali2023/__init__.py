"""Claims of a paper: one step of gradient descent is the best one-layer learner."""
