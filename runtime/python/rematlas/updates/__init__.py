"""An optimizer whose updates are part of the planned step."""
