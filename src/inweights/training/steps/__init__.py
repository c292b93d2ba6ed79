"""Parts of a training step: losses, optimizers, edits, the matrix of parameters, kernels."""
