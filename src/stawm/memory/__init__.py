"""What the model remembers; knows nothing of images."""
