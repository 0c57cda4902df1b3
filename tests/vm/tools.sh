# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced after scripts/lib.sh: puts the programs below in $tools/root.
# Programs of the guest that this machine need not have: not installed, only unpacked.
packages="nfs-kernel-server nfs-common libnfsidmap1 libtirpc3 libtirpc-common libevent-core-2.1-7
	libwrap0 rpcbind keyutils libkeyutils1 ibverbs-utils ibverbs-providers libibverbs1
	libnl-3-200 libnl-route-3-200"
tools=$ROOT/build/vm/guest-tools
if [ ! -e "$tools/complete" ]; then
	rm -rf "$tools"
	mkdir -p "$tools/root"
	# shellcheck disable=SC2086
	(cd "$tools" && apt-get -qq -o APT::Sandbox::User=root download $packages)
	for deb in "$tools"/*.deb; do dpkg -x "$deb" "$tools/root"; done
	rm "$tools"/*.deb
	touch "$tools/complete"
fi
