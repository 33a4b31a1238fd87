"""A room of iclab: one step of gradient descent is the best one-layer learner."""
