"""Steps that no plan runs: the original runs them, with or without online eviction."""
