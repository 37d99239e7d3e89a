"""What is learnt from: arrays, checks, targets, and the Problem they make."""
