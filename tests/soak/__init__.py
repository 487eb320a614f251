"""Properties of what stands between hostile input and the machine: few examples in `make test`, many in `make soak`."""
