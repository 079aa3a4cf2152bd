import numpy as np

terms = (1 / np.arange(1, 200001)).astype(np.float32)
print("large terms first", np.cumsum(terms)[-1])
print("small terms first", np.cumsum(terms[::-1])[-1])
