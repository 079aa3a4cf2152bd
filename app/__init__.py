"""The trusted side of samehere: intake, planning, judging, storage, REST and pages.

It imports `worker.contract` and nothing else of the node's code.
"""
