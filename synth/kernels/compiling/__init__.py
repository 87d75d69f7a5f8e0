"""How kernels are compiled, for CPU and CUDA, and where the machine code is kept."""
