"""Project states and embeddings to the plane and to space, and record films of a training."""
