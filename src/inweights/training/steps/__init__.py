"""One step: losses, optimizers, parameters in one matrix, rounding, captured kernels."""
