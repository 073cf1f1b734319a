"""What the workers of use share."""
