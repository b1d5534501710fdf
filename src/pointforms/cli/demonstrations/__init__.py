"""What `npf demo` runs: a Gram field that can be checked, then forms that are learned."""
