"""Forgetting, whoever asks for it: from the live store, from replay stores, from Redis and its files, and the look for what is left.

stores   what is erased from: the live store, those beside it, Redis
fact     a fact, with all that it comes from and that comes from it
"""
