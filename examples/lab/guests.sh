# SPDX-License-Identifier: GPL-2.0-or-later
# The lab's guests and where everything of theirs lies; sourced by the scripts beside it.
# shellcheck shell=bash disable=SC2034
#
# Status 77 means "cannot be had here", with the reason as the last line, as for the project's tests.

set -euo pipefail
export LC_ALL=C.UTF-8
lab=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$lab/../.." && pwd)
cache=${LAB:-$root/build/lab}

# GUEST  ARCHITECTURE  KERNEL, a pattern: the newest of Debian's packages that matches is taken
guests='
arm64-6.12  arm64  linux-image-6\.12\.[0-9]+\+deb12(\.[0-9]+)?-arm64(-unsigned)?
arm64-6.1   arm64  linux-image-6\.1\.0-[0-9]+-arm64(-unsigned)?
x86-6.1     amd64  linux-image-6\.1\.0-[0-9]+-amd64(-unsigned)?
'

# In the order in which they can be loaded; what a kernel has built in or not at all is left out.
modules='virtio_ring virtio virtio_pci_modern_dev virtio_pci_legacy_dev virtio_pci netfs fscache 9pnet
	9p 9pnet_virtio virtio_blk'

die()
{
	echo "lab: $*" >&2
	exit 1
}

unavailable()
{
	echo "lab: $*" >&2
	exit 77
}

need()
{
	command -v "$1" > /dev/null || unavailable "$1 is missing: make lab-deps installs it"
}

# Sets $guest and what follows from it.
choose_guest()
{
	local name arch pattern

	guest=
	while read -r name arch pattern; do
		[ "$name" = "$1" ] || continue
		guest=$name guest_arch=$arch kernel_pattern=$pattern
	done <<< "$guests"
	[ -n "$guest" ] || die "no guest named $1; there are:$(echo "$guests" | awk '{ printf " %s", $1 }')"
	sysroot=$cache/$guest_arch/root # unpacked packages of its architecture
	kernel=$cache/$guest/kernel     # its vmlinuz and modules
	case $guest_arch in
	arm64)
		triplet=aarch64-linux-gnu
		qemu=(qemu-system-aarch64 -M "virt,gic-version=3" -cpu "max,pauth-impdef=on")
		console=ttyAMA0
		;;
	amd64)
		triplet=x86_64-linux-gnu
		qemu=(qemu-system-x86_64 -M q35 -cpu max)
		console=ttyS0
		;;
	esac
	need "${qemu[0]}"
	need "$triplet-gcc"
	need cpio
}

# Only one at a time may fill the cache; held until the script ends or calls unlock.
lock()
{
	mkdir -p "$cache"
	exec 9> "$cache/lock"
	flock 9
}

unlock()
{
	exec 9>&-
}
