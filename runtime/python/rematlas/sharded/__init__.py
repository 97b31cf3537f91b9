"""Modules whose parameters are divided among ranks: DTensors, and modules under FSDP2's fully_shard."""
