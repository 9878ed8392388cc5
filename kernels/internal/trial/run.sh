#!/bin/sh
# Runs the trial on the card of this machine; about a minute at most.
cd "$(dirname "$0")" && timeout 120 ./six
