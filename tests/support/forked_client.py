"""`gpudx` for shell scripts of tests, by the server of forked processes: usage: forked_client.py SOCKET WORDS...

Reads no site packages and imports little, so that it starts in a fraction of the time of gpudx itself.
"""

import array
import json
import os
import socket
import sys

with socket.socket(socket.AF_UNIX) as server:
    server.connect(sys.argv[1])
    server.sendmsg([b"\0"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0, 1, 2]))])
    answer = server.makefile("rw")
    asked = {"words": sys.argv[2:], "folder": os.getcwd(), "environment": dict(os.environ), "script": ""}
    answer.write(json.dumps(asked) + "\n")
    answer.flush()
    answer.readline()  # its process
    status = int(answer.readline())
if status < 0:
    os.kill(os.getpid(), -status)
sys.exit(status)
