"""Parts of a training step: losses, optimizers, edits, the parameter matrix, kernels."""
