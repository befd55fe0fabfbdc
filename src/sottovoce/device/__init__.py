"""What runs on a person's own device, with the standard library alone."""
