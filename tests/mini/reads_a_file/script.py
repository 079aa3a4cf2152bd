"""Reads a file that is not there."""
import json

with open("weights.json") as file:
    print(json.load(file))
