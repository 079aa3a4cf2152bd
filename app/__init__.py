"""The trusted side: intake, planning, judging, storage, REST and pages. Imports of the node's code only `worker.contract`."""
