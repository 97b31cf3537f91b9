"""Steps that no plan runs: the original's own, or the original's under online eviction."""
