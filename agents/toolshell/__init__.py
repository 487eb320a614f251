"""The tools on a folder of any kind, over lines of JSON: what tests, benchmarks and other programs drive them with."""
