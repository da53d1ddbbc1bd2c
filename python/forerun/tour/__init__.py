"""A guided tour: the book's chapter on asynchronous computation, live, with this machine's own figures.

``python -m forerun.tour`` shows it. Every listing it prints is the source of the function it then runs.
"""
