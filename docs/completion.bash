# SPDX-License-Identifier: GPL-2.0-or-later
# bash completion for all programs. Options, policies, presets and reports
# come from the programs themselves. Source it, or install it as completions/tlbreplay (make install does).

# The options that "$1 --help" names.
_tlb_options() {
	"$1" --help 2>/dev/null | grep -oE -e '(^|[][ |,(])--?[a-zA-Z][a-zA-Z-]*=?' | tr -d '][ |,(' | sort -u
}

_tlb_files() {
	local IFS=$'\n' pattern=$1 cur=$2
	compopt -o filenames 2>/dev/null
	mapfile -t COMPREPLY < <(compgen -f -X "!$pattern" -- "$cur"; compgen -d -- "$cur")
}

_tlb_words() {
	mapfile -t COMPREPLY < <(compgen -W "$1" -- "$2")
}

_tlbreplay() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} before=
	[ "$COMP_CWORD" -lt 2 ] || before=${COMP_WORDS[COMP_CWORD - 2]}
	# bash takes "=" for a word of its own.
	[ "$cur" != = ] || { before=$prev prev='=' cur=; }
	case $before$prev in
	--help-cost=)
		_tlb_words "$("$1" --list-costs 2>/dev/null | cut -d ' ' -f 1)" "$cur"
		return
		;;
	--help-policy=)
		_tlb_words "$("$1" --list-policies 2>/dev/null | cut -d ' ' -f 1)" "$cur"
		return
		;;
	esac
	case $prev in
	-p | --policy)
		case $cur in
		*/*) _tlb_files '*.so' "$cur" ;;
		*) _tlb_words "$("$1" --list-policies 2>/dev/null | cut -d ' ' -f 1)" "$cur" ;;
		esac
		return
		;;
	--cost)
		case $cur in
		*/*) _tlb_files '*.cost' "$cur" ;;
		*) _tlb_words "$("$1" --list-costs 2>/dev/null | cut -d ' ' -f 1)" "$cur" ;;
		esac
		return
		;;
	-o | --output)
		_tlb_files '*.db' "$cur"
		return
		;;
	esac
	case $cur in
	-*) _tlb_words "$(_tlb_options "$1")" "$cur" ;;
	*) _tlb_files '*.dat' "$cur" ;;
	esac
}

_tlbreport() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} reports db=
	reports=$("$1" list 2>/dev/null | cut -d ' ' -f 1)
	case $prev in
	--cost)
		_tlb_words "$("$1" --list-costs 2>/dev/null | cut -d ' ' -f 1)" "$cur"
		return
		;;
	--plot | -o)
		_tlb_files '*.@(png|svg|html|cost)' "$cur"
		return
		;;
	--manifest | manifest)
		_tlb_files '*.tsv' "$cur"
		return
		;;
	help)
		_tlb_words "$reports" "$cur"
		return
		;;
	--trace)
		[ "$COMP_CWORD" -lt 2 ] || db=${COMP_WORDS[1]}
		_tlb_words "$("$1" "$db" traces --csv 2>/dev/null | sed '1d; s/,.*//')" "$cur"
		return
		;;
	--policy | --limit | --table)
		COMPREPLY=()
		return
		;;
	esac
	case $cur in
	-*) _tlb_words "$(_tlb_options "$1")" "$cur" ;;
	*)
		if [ "${COMP_WORDS[1]}" = merge ] || [ "${COMP_WORDS[1]}" = compare ]; then
			_tlb_files '*.db' "$cur"
		elif [ "$COMP_CWORD" -eq 1 ]; then
			_tlb_files '*.db' "$cur"
			mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -W "list help compare merge manifest" -- "$cur")
		else
			_tlb_words "$reports $("$1" --help | sed -n 's/^ *tlbreport DB \([a-z]*\) .*/\1/p')" "$cur"
		fi
		;;
	esac
}

_tlbcapture() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} i
	for ((i = 1; i < COMP_CWORD; i++)); do
		if [ "${COMP_WORDS[i]}" = -- ]; then
			mapfile -t COMPREPLY < <(compgen -c -- "$cur"; compgen -f -- "$cur")
			return
		fi
	done
	case $prev in
	-o | --output)
		_tlb_files '*.dat' "$cur"
		return
		;;
	--profile)
		_tlb_words "minimal full swap latency" "$cur"
		return
		;;
	--until)
		_tlb_words "$("$1" --until=help 2>/dev/null | sed 's/ .*/=/') help" "$cur"
		return
		;;
	--compression)
		_tlb_words "zstd none" "$cur"
		return
		;;
	-d | --duration | -b | --buffer)
		COMPREPLY=()
		return
		;;
	esac
	_tlb_words "$(_tlb_options "$1") --" "$cur"
}

_tlbexport() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
	case $prev in
	-o | --output)
		_tlb_files '*.json' "$cur"
		return
		;;
	--from | --to)
		COMPREPLY=()
		return
		;;
	esac
	case $cur in
	-*) _tlb_words "$(_tlb_options "$1")" "$cur" ;;
	*) _tlb_files '*.dat' "$cur" ;;
	esac
}

_tlbfleet() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} i
	for ((i = 1; i < COMP_CWORD; i++)); do
		[ "${COMP_WORDS[i]}" != -- ] || break
	done
	# Behind "--" are options of tlbreplay.
	if [ $i -lt "$COMP_CWORD" ]; then
		case $prev in
		-p | --policy) _tlb_words "$(tlbreplay --list-policies 2>/dev/null | cut -d ' ' -f 1)" "$cur" ;;
		--cost) _tlb_words "$(tlbreplay --list-costs 2>/dev/null | cut -d ' ' -f 1)" "$cur" ;;
		*) _tlb_words "$(_tlb_options tlbreplay)" "$cur" ;;
		esac
		return
	fi
	case $prev in
	-r | --results)
		_tlb_files '' "$cur"
		return
		;;
	-o | --output)
		_tlb_files '*.db' "$cur"
		return
		;;
	-j | --jobs | --group | --shard | --sbatch)
		COMPREPLY=()
		return
		;;
	esac
	case $cur in
	-*) _tlb_words "$(_tlb_options "$1") --" "$cur" ;;
	*)
		if [ "$COMP_CWORD" -eq 1 ]; then
			_tlb_words "submit status retry merge" "$cur"
		else
			_tlb_files '*.tsv' "$cur"
		fi
		;;
	esac
}

_tlbcalibrate() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
	case $prev in
	-o | --output)
		_tlb_files '*.cost' "$cur"
		return
		;;
	--name | --rounds)
		COMPREPLY=()
		return
		;;
	esac
	_tlb_words "$(_tlb_options "$1")" "$cur"
}

shopt -s extglob
complete -F _tlbreplay tlbreplay
complete -F _tlbreport tlbreport
complete -F _tlbcapture tlbcapture
complete -F _tlbexport tlbexport
complete -F _tlbcalibrate tlbcalibrate
complete -F _tlbfleet tlbfleet
