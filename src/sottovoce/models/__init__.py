"""The same question under other trust models, for comparison with the local one."""

from sottovoce.models.central import DiscreteLaplace

__all__ = ["DiscreteLaplace"]
