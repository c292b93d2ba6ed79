"""Project states and embeddings to two or three dimensions, and record animations of training."""
