#!/bin/sh
# As the official image does: gives the data to the server's user, and goes on as that user.
set -eu
chown -R redis /data
exec setpriv --reuid redis --regid redis --clear-groups "$@"
