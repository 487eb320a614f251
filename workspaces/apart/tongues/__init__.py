"""What tests in a language's source say, told alike for all languages; runs in a process of its own."""
