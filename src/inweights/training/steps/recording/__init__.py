"""Steps that are recorded once and run again: kernels on a CPU, CUDA graphs on a GPU."""
