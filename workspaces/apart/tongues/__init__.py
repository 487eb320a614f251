"""What tests in a language's source say, told alike for all languages; runs in a process of its own.

Its classes are NamedTuples: to import dataclasses, and to make nine, takes a third of that process's start.
"""
