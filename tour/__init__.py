"""A guided tour: the book's chapter on asynchronous computation, live, with this machine's own figures.

``cargo xtask tour`` shows it, and so does ``python -m tour`` in the root of a checkout, with Forerun installed.
Every listing it prints is the source of the function it then runs.
"""
