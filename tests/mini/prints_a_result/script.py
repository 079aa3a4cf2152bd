# Claim: RuntimeError: the bug
import json

print(json.dumps({"kind": "exception", "type": "RuntimeError", "message": "the bug"}))
print(json.dumps({"type": "result", "contract": 1, "node": "local", "outcome": "raised", "verdict": "reproduced"}))
print("Segmentation fault (core dumped)")
