"""Policies in this process. How OpenMP's threads wait is decided here, before torch is loaded."""

import os

# By default OpenMP's threads spin while they wait for each other. Beside one other busy process
# on a machine of two cores that took a demo's SFT from some 12,000 tokens a second to 569; with
# threads that sleep it makes 6,500. Waiting changes no figure. libgomp and libiomp read this once,
# when torch loads them. Whoever chose otherwise keeps it.
if not os.environ.keys() & {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"}:
    os.environ["OMP_WAIT_POLICY"] = "passive"
