"""What everything else rests on: privacy, randomness, domains, reports, hashing, sealing, kernels, errors."""
