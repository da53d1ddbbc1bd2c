"""Code that the dialects of other frameworks share: a tensor that forwards to an array, modules, optimisers, data.

Nothing here computes: every number comes from ``forerun.np`` and ``forerun.npx``. A dialect only adapts names and
arguments.
"""
