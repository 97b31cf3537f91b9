"""Steps for a card that is not there, planned from shapes."""
