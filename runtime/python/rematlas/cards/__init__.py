"""Steps for an absent card, planned from shapes."""
