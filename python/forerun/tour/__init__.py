"""A guided tour: the book's chapter on asynchronous computation, with measurements from this machine.

``python -m forerun.tour`` runs it. Every listing it prints is the source of the function it then runs.
"""
