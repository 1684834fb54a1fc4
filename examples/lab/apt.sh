# SPDX-License-Identifier: GPL-2.0-or-later
# apt with a configuration of its own: its own lists, both architectures, the archive that the host's
# apt uses. Nothing of the host's changes. Sourced by the scripts that fetch, behind guests.sh.
# shellcheck shell=bash
suite=bookworm

# write_sources KIND...: the archives that the host itself uses, of Debian's own kind.
write_sources()
{
	local keyring=/usr/share/keyrings/debian-archive-keyring.gpg options='arch=arm64,amd64'
	local origin label site kind

	[ ! -e $keyring ] || options="$options signed-by=$keyring"
	# shellcheck disable=SC2016 # apt's own syntax
	env -u APT_CONFIG apt-get indextargets --format '$(ORIGIN) $(LABEL) $(SITE)' 'Created-By: Packages' |
		sort -u | while read -r origin label site; do
		for kind; do
			case $origin:$label in
			Debian:Debian)
				echo "$kind [$options] $site $suite main"
				echo "$kind [$options] $site $suite-backports main"
				;;
			Debian:Debian-Security) echo "$kind [$options] $site $suite-security main" ;;
			esac
		done
	done
}

# prepare_apt FOLDER KIND...: from here on apt keeps all its own in FOLDER and knows packages of these
# kinds: deb, deb-src.
prepare_apt()
{
	apt=$1
	shift
	mkdir -p "$apt/lists/partial" "$apt/archives/partial"
	: > "$apt/status"
	write_sources "$@" > "$apt/sources.list"
	[ -s "$apt/sources.list" ] || unavailable "this host's apt uses no Debian archive"
	cat > "$apt/apt.conf" <<-CONF
		APT { Architecture "amd64"; Architectures { "amd64"; "arm64"; }; Sandbox::User "root"; };
		Acquire { Languages "none"; Retries "2"; };
		Dir::State "$apt";
		Dir::State::status "$apt/status";
		Dir::State::lists "$apt/lists";
		Dir::Cache "$apt";
		Dir::Etc::sourcelist "$apt/sources.list";
		Dir::Etc::sourceparts "/dev/null";
	CONF
	export APT_CONFIG=$apt/apt.conf
	if [ ! -e "$apt/updated" ]; then
		echo "reading the archive's lists"
		apt-get update -q -o APT::Update::Error-Mode=any > "$apt/log" 2>&1 ||
			{ cat "$apt/log"; unavailable "apt-get update failed"; }
		: > "$apt/updated"
	fi
}

# download DIR PACKAGE...: the packages' files into DIR.
download()
{
	mkdir -p "$1"
	(cd "$1" && shift && apt-get download -q "$@" > "$apt/log" 2>&1) ||
		{ cat "$apt/log"; unavailable "apt-get download failed"; }
}
