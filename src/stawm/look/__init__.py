"""Pictures as people give them in, looks out: what a trained model saw, believed, drew and remembered."""
