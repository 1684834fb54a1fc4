// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/msg.h"
#include "common/param.h"

#define NS_PER_S INT64_C(1000000000)
#define MIB      (INT64_C(1) << 20)

static void print_help(void)
{
	fputs("usage: tlbcapture -o FILE [OPTION...] [-d SECONDS | -- COMMAND [ARG...]]\n"
	      "       tlbcapture --check [--json] [--profile NAME] | --list\n"
	      "       tlbcapture --restore [DIRECTORY...]\n"
	      "       tlbcapture -h | -V\n"
	      "\n"
	      "Records what the kernel does to page tables and TLBs, on all CPUs, into FILE "
	      "(trace.dat)\n"
	      "for tlbreplay: for a time, while COMMAND runs, or until it is interrupted. Needs "
	      "root.\n"
	      "\n"
	      "How long, how much:\n"
	      "  -o, --output FILE   the file to write; it appears when it is complete\n"
	      "  -d, --duration SECONDS\n"
	      "                      record for so long (fractions allowed)\n"
	      "  --until WHAT=RATE[,SECONDS]\n"
	      "                      stop once WHAT (faults, broadcasts, ipis, forks, ...; \"help\" lists "
	      "them)\n"
	      "                      comes more often than RATE a second, over SECONDS (1); up to 8 "
	      "times\n"
	      "  --max-size SIZE     stop at about so much on disk before compression (500M, 2G)\n"
	      "  --flight MB         flight recorder: keep the last MB of memory, write them at the "
	      "end\n"
	      "  -b, --buffer KB     ring buffer per CPU in KiB; default 102400, or less if memory "
	      "is short\n"
	      "  --compression NAME  zstd (default), none, or what else trace-cmd knows\n"
	      "\n"
	      "What:\n"
	      "  --profile NAME      minimal: write faults, upgrades and flushes, for production\n"
	      "                      full (default); swap: full, and reclaim step by step\n"
	      "                      latency: minimal, and how long the flushing functions take\n"
	      "  --pid PID[,PID...]  only these processes and the children that they make\n"
	      "  --cgroup DIRECTORY  only the processes of this control group\n"
	      "  --follow            only COMMAND and its children\n"
	      "  --filter START-END  only events of this range of user addresses; up to 8 times\n"
	      "  --access GROUP:EVENT:FIELD[:r|w]\n"
	      "                      also an event of yours (uprobe, USDT) that tells an access\n"
	      "  --anonymise[=shift] replace names by tokens; shift: and move user addresses\n"
	      "\n"
	      "  --check             say what can be recorded here, and change nothing\n"
	      "  --json              the same for programs\n"
	      "  --list              the events: which of them this kernel has, what a missing one "
	      "costs\n"
	      "  --restore           clean up after recordings that were killed, and make files of "
	      "what\n"
	      "                      they left in each DIRECTORY (default: here)\n"
	      "  -h, --help, -V, --version\n"
	      "\n"
	      "Exit status: 0 done, 1 failed, 2 wrong usage, 3 done but incomplete (events were "
	      "lost).\n",
	      stdout);
}

static int usage_error(const char *text, const char *what)
{
	msg_error("%s%s (see --help)", text, what);
	return EXIT_USAGE;
}

/* Reads seconds, possibly with a fraction, into nanoseconds. */
static bool parse_seconds(const char *text, int64_t *out)
{
	char *end;
	double seconds = strtod(text, &end);

	/* strtod alone would take "inf", "0x1" and leading blanks. */
	if (!*text || text[strspn(text, "0123456789.")] || *end || !(seconds > 0) || seconds > 1e9)
		return false;
	*out = (int64_t)(seconds * (double)NS_PER_S);
	return *out > 0;
}

static bool parse_whole(const char *text, int64_t most, int64_t *out)
{
	char *end;

	errno = 0;
	long long value = strtoll(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || value < 1 || value > most)
		return false;
	*out = value;
	return true;
}

static bool parse_pids(const char *text, struct options *options)
{
	while (*text) {
		char word[16];
		size_t size = strcspn(text, ",");
		int64_t pid;

		if (!size || size >= sizeof(word) || options->pid_count == OPTIONS_MAX_PIDS)
			return false;
		memcpy(word, text, size);
		word[size] = '\0';
		if (!parse_whole(word, INT32_MAX, &pid))
			return false;
		options->pids[options->pid_count++] = (pid_t)pid;
		text += size + (text[size] == ',');
	}
	return options->pid_count > 0;
}

/* "0x7f0000000000-0x7f0000100000", hexadecimal with or without 0x. */
static bool parse_range(const char *text, struct plan_wish *wish)
{
	struct plan_range range;
	char *end;

	if (wish->range_count == PLAN_MAX_RANGES || text[strspn(text, "0123456789abcdefABCDEFxX-")])
		return false;
	range.start = strtoull(text, &end, 16);
	if (end == text || *end != '-' || end[1] == '-')
		return false;
	text = end + 1;
	range.end = strtoull(text, &end, 16);
	if (end == text || *end || range.end <= range.start)
		return false;
	wish->ranges[wish->range_count++] = range;
	return true;
}

static bool take_word(const char **text, char *out)
{
	size_t size = strspn(*text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_");

	if (!size || size >= PLAN_NAME_SIZE)
		return false;
	memcpy(out, *text, size);
	out[size] = '\0';
	*text += size;
	return true;
}

static bool parse_access(const char *text, struct plan_wish *wish)
{
	struct plan_access access = {.kind = '?'};

	if (wish->access_count == PLAN_MAX_ACCESS || !take_word(&text, access.system) ||
	    *text++ != ':' || !take_word(&text, access.name) || *text++ != ':' ||
	    !take_word(&text, access.field))
		return false;
	if (*text == ':' && (text[1] == 'r' || text[1] == 'w') && !text[2])
		access.kind = text[1];
	else if (*text)
		return false;
	wish->access[wish->access_count++] = access;
	return true;
}

enum {
	LIST = 256,
	CHECK,
	JSON,
	RESTORE,
	COMPRESSION,
	MAX_SIZE,
	FLIGHT,
	UNTIL,
	PROFILE,
	PID,
	CGROUP,
	FOLLOW,
	FILTER,
	ACCESS,
	ANONYMISE,
};

/* One option with its argument. Returns -1 to go on, else an exit status. */
static int take_option(int option, const char *argument, struct options *options)
{
	switch (option) {
	case 'o':
		options->output = argument;
		return -1;
	case 'd':
		return parse_seconds(argument, &options->duration_ns)
			       ? -1
			       : usage_error("-d takes a positive number of seconds, not ",
					     argument);
	case 'b':
		return parse_whole(argument, INT32_MAX, &options->buffer_kb)
			       ? -1
			       : usage_error("-b takes a whole number of KiB, not ", argument);
	case COMPRESSION:
		options->compression = argument;
		return -1;
	case MAX_SIZE:
		return !number_count(argument, &options->max_bytes) && options->max_bytes > 0
			       ? -1
			       : usage_error("--max-size takes bytes, as 500M or 2G, not ",
					     argument);
	case FLIGHT:
		if (!parse_whole(argument, INT64_C(1) << 20, &options->flight_bytes))
			return usage_error("--flight takes a whole number of MiB, not ", argument);
		options->flight_bytes *= MIB;
		return -1;
	case UNTIL:
		if (!strcmp(argument, "help")) {
			watch_help(stdout);
			return EXIT_FINE;
		}
		if (options->limit_count == WATCH_MAX ||
		    watch_parse(argument, &options->limits[options->limit_count]))
			return usage_error("--until takes WHAT=RATE[,SECONDS] (as faults=50k,2; "
					   "--until help names each WHAT), up to 8 times, not ",
					   argument);
		options->limit_count++;
		return -1;
	case PROFILE:
		options->wish.profile = profile_find(argument);
		return options->wish.profile
			       ? -1
			       : usage_error("--profile is minimal, full, swap or latency, not ",
					     argument);
	case PID:
		return parse_pids(argument, options)
			       ? -1
			       : usage_error("--pid takes process ids, up to 64, not ", argument);
	case CGROUP:
		options->cgroup = argument;
		return -1;
	case FOLLOW:
		options->follow = true;
		return -1;
	case FILTER:
		return parse_range(argument, &options->wish)
			       ? -1
			       : usage_error(
					 "--filter takes START-END, hexadecimal, up to 8 times, "
					 "not ",
					 argument);
	case ACCESS:
		return parse_access(argument, &options->wish)
			       ? -1
			       : usage_error("--access takes GROUP:EVENT:FIELD[:r|w], not ",
					     argument);
	case ANONYMISE:
		if (argument && strcmp(argument, "shift"))
			return usage_error("--anonymise takes nothing or =shift, not ", argument);
		options->anonymise = argument ? ANONYMISE_SHIFT : ANONYMISE_NAMES;
		return -1;
	case JSON:
		options->json = true;
		return -1;
	case LIST:
	case CHECK:
	case RESTORE:
		if (options->mode != MODE_RECORD)
			return usage_error("--list, --check and --restore exclude each other", "");
		options->mode = option == LIST    ? MODE_LIST
				: option == CHECK ? MODE_CHECK
						  : MODE_RESTORE;
		return -1;
	case 'h':
		print_help();
		return EXIT_FINE;
	default: /* V */
		puts("tlbcapture " TLBREPLAY_VERSION);
		return EXIT_FINE;
	}
}

/* What cannot go together. */
static int verify(const struct options *options)
{
	if (options->json && options->mode != MODE_CHECK)
		return usage_error("--json goes with --check", "");
	if (options->mode == MODE_RESTORE)
		return options->output ? usage_error("--restore stands alone", "") : -1;
	if (options->mode != MODE_RECORD)
		return options->command || options->output
			       ? usage_error("--list and --check stand alone", "")
			       : -1;
	if (!options->output || !*options->output)
		return usage_error("-o FILE is missing", "");
	if (options->command && options->duration_ns)
		return usage_error("-d and COMMAND exclude each other", "");
	if (options->follow && !options->command)
		return usage_error("--follow needs a COMMAND", "");
	if (options->flight_bytes && (options->max_bytes || options->buffer_kb))
		return usage_error("--flight goes without -b and --max-size", "");
	return -1;
}

int options_parse(int argc, char **argv, struct options *options)
{
	static const struct option long_options[] = {
		{"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'V'},
		{"output", required_argument, NULL, 'o'},
		{"buffer", required_argument, NULL, 'b'},
		{"list", no_argument, NULL, LIST},
		{"check", no_argument, NULL, CHECK},
		{"json", no_argument, NULL, JSON},
		{"restore", no_argument, NULL, RESTORE},
		{"compression", required_argument, NULL, COMPRESSION},
		{"duration", required_argument, NULL, 'd'},
		{"max-size", required_argument, NULL, MAX_SIZE},
		{"flight", required_argument, NULL, FLIGHT},
		{"until", required_argument, NULL, UNTIL},
		{"profile", required_argument, NULL, PROFILE},
		{"pid", required_argument, NULL, PID},
		{"cgroup", required_argument, NULL, CGROUP},
		{"follow", no_argument, NULL, FOLLOW},
		{"filter", required_argument, NULL, FILTER},
		{"access", required_argument, NULL, ACCESS},
		{"anonymise", optional_argument, NULL, ANONYMISE},
		{0},
	};
	int option, result = -1;

	*options = (struct options){.compression = "zstd", .wish = {.profile = PROFILE_FULL}};
	opterr = 0;
	while (result < 0 &&
	       (option = getopt_long(argc, argv, "+:o:d:b:hV", long_options, NULL)) != -1) {
		if (option == ':')
			result = usage_error("an argument is missing after ", argv[optind - 1]);
		else if (option == '?')
			result = usage_error("unknown option ", argv[optind - 1]);
		else
			result = take_option(option, optarg, options);
	}
	if (result >= 0)
		return result;
	options->directories = argv + optind;
	if (optind < argc && options->mode != MODE_RESTORE)
		options->command = argv + optind;
	return verify(options);
}
