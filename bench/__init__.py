"""Measurements that need more than the product and its tests bring. Nothing here is imported by either."""
