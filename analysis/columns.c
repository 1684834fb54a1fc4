// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/columns.h"

#include <stddef.h>
#include <string.h>

#include "analysis/text.h"

static const struct column_word words[] = {
	{"host", "", "name in the fleet's list"},
	{"IPIs", "count", "invalidations by interrupt (scope mask), estimate"},
	{"arch", "", "architecture of the recorded kernel"},
	{"arch_source", "", "where the architecture comes from: stored, inferred, unknown"},
	{"avoided", "pages", "writes to swap less than recorded; negative: more; estimate"},
	{"avoided_high", "pages", "writes to swap less than recorded, high bound"},
	{"avoided_low", "pages", "writes to swap less than recorded, low bound"},
	{"bound", "", "low, estimate or high"},
	{"broadcasts", "count", "invalidations issued to all CPUs (scope broadcast), estimate"},
	{"buffer", "", "name of the trace instance; empty for the main one"},
	{"buffers", "count", "trace instances in the file"},
	{"by_interrupt", "count", "invalidations by interrupt (scope mask), estimate"},
	{"bytes", "bytes", "size of the file"},
	{"call", "", "upgrade, young, unchanged, contpte, cow, gather or range"},
	{"calls", "count", "how many of them"},
	{"clock", "", "clock of the recording; empty: not stored"},
	{"comm", "", "name of the process, as it gave it to itself"},
	{"compression", "", "of the file: none, zstd"},
	{"concurrent", "count", "other such calls under way at any moment of it"},
	{"cost", "", "name of the cost preset"},
	{"cost_high_ns", "ns", "modelled CPU time, high bound"},
	{"cost_low_ns", "ns", "modelled CPU time, low bound"},
	{"cost_ns", "ns", "modelled CPU time, estimate"},
	{"cost_preset", "", "name of the cost preset"},
	{"cow", "count", "decisions at cow: a write copied the page"},
	{"cpu", "number", "CPU"},
	{"cpu_high_share", "fraction", "cost as a share of the CPU time recorded, high bound"},
	{"cpu_low_share", "fraction", "cost as a share of the CPU time recorded, low bound"},
	{"cpu_share", "fraction", "cost as a share of the CPU time recorded, estimate"},
	{"cpus", "count", "CPUs that have a buffer in the recording"},
	{"cpus_with_events", "count", "those of them with at least one event"},
	{"dbm", "", "whether the hardware marks pages dirty: on, off; missing: cannot be told"},
	{"decisions", "count", "times the point was reached, estimate"},
	{"difference", "count", "replayed minus recorded"},
	{"dirty", "pages", "of writable, those that counted as written at once"},
	{"dropped", "count", "events dropped by the kernel; missing: not stored"},
	{"ended", "", "how it ended: flush, refault, gone, end (of the recording)"},
	{"entries", "count", "stale TLB entries, one for each page and CPU"},
	{"estimate", "count", "estimate between the bounds"},
	{"estimate_ns", "ns", "modelled CPU time, estimate"},
	{"event", "", "recorded event, as SYSTEM:NAME"},
	{"events", "count", "recorded events"},
	{"events_used", "count", "events that the catalogue knows"},
	{"extra_faults", "count", "write faults that only make an entry dirty, estimate"},
	{"extra_faults_high", "count", "write faults that only make an entry dirty, high bound"},
	{"extra_faults_low", "count", "write faults that only make an entry dirty, low bound"},
	{"flush", "", "seen inside: none, local, mask, broadcast; not recorded: none could be"},
	{"flushes", "count", "invalidations issued, estimate"},
	{"flushes_high", "count", "invalidations issued, high bound"},
	{"flushes_low", "count", "invalidations issued, low bound"},
	{"for_write", "pages", "of swap_ins, those in a write fault"},
	{"format", "number", "version of the trace.dat format"},
	{"hash", "", "identity of the file's bytes, 64 bits in hex"},
	{"high", "count", "high bound"},
	{"high_ns", "ns", "modelled CPU time, high bound"},
	{"is_recorded", "0 or 1", "1: the recorded kernel; missing: cannot be told"},
	{"issued", "count", "invalidations that this CPU issued, estimate"},
	{"item", "", "what costs"},
	{"kernel", "", "release of the recorded kernel"},
	{"kernel_policy", "", "policy that the recorded kernel showed; missing: cannot be told"},
	{"kind", "", "kind of stale entry: benign, hint, unsafe, window"},
	{"least", "", "policy whose high bound lies below every other's low one, or undecided"},
	{"least_by_estimate", "", "policy with the lowest estimate"},
	{"level", "", "pte, contpte, pmd, hugetlb, mm (all of an address space), all"},
	{"local", "count", "invalidations on one CPU alone (scope local), estimate"},
	{"longest_ns", "ns", "longest time that one of them stayed stale"},
	{"lost", "count", "events lost, as counted in the recording"},
	{"lost_unknown", "count", "places where events are missing that nobody counted"},
	{"low", "count", "low bound"},
	{"low_ns", "ns", "modelled CPU time, low bound"},
	{"min_ns", "ns", "the shortest"},
	{"mm", "number", "number of the address space in this recording (view v_mm)"},
	{"mkwrite", "", "dirty: a writable entry made for a read counts as written; clean: it does not"},
	{"mm_cpus", "count", "CPUs that the address space had run on"},
	{"n", "count", "how many; missing: not counted"},
	{"name", "", "parameter"},
	{"not_private", "pages", "pages of files and shared memory that reclaim unmapped"},
	{"omits", "", "what the policy leaves out"},
	{"op", "", "kind of invalidation; missing: the event is none"},
	{"origin", "", "where the value comes from: given, default, assumed, uncalibrated"},
	{"overrun", "count", "events overwritten before they were read; missing: not stored"},
	{"p50_less_base_ns", "ns", "p50_ns less what a call that changes nothing takes"},
	{"p50_ns", "ns", "half of them took no longer"},
	{"p90_ns", "ns", "nine tenths took no longer"},
	{"p99_ns", "ns", "99 of 100 took no longer"},
	{"page", "address", "first byte of the page; (others): behind the stated limit"},
	{"page_bytes", "bytes", "page size of the recorded kernel"},
	{"pages", "count", "pages that the invalidations cover"},
	{"part", "", "initiator, victims, spurious, refill, notify"},
	{"path", "", "the recording's file, as the list has it"},
	{"point", "", "decision point in the kernel"},
	{"policy", "", "policy, as it was given to tlbreplay"},
	{"probes_inside", "count", "events recorded inside it by its task, on average"},
	{"processes", "count", "address spaces"},
	{"reason", "", "no entry, no return, switched or lost"},
	{"received", "count",
	 "interrupts or broadcasts of other CPUs that reach this one, estimate"},
	{"recorded", "count", "invalidations in the recording; missing: it cannot show them"},
	{"recording", "", "tells several recordings of one host apart; empty: it has one"},
	{"replayed", "count", "invalidations that the replay of the kernel's policy issued"},
	{"scope", "", "where an invalidation acts: none, local, mask, broadcast"},
	{"share", "fraction", "share of the whole"},
	{"shared", "count", "further mappings of pages that reclaim unmapped"},
	{"silent", "pages", "of writable, found dirty by reclaim without a fault: dbm is on"},
	{"size_bytes", "bytes", "from the first byte to behind the last one"},
	{"source", "", "where it comes from"},
	{"span_ns", "ns", "from the first event to the last"},
	{"spurious_faults", "count", "faults that found nothing to change, estimate"},
	{"spurious_faults_high", "count", "faults that found nothing to change, high bound"},
	{"spurious_faults_low", "count", "faults that found nothing to change, low bound"},
	{"stale_high", "count", "entries that are stale at some time, high bound"},
	{"stale_ns", "ns", "how long the entry stayed stale"},
	{"start", "address", "first byte"},
	{"start_ns", "ns", "when it began"},
	{"subject", "", "what the note is about"},
	{"sum_ns", "ns", "their times added up"},
	{"swap_bytes", "bytes", "written to swap, estimate"},
	{"swap_ins", "pages", "pages that a fault brought back from swap"},
	{"summary", "", "what the policy models"},
	{"tasks", "count", "tasks seen"},
	{"tasks_unknown_mm", "count",
	 "user tasks that nothing introduced, each a process of its own"},
	{"text", "", "a sentence"},
	{"tid", "number", "task that was seen first in the address space"},
	{"trace", "", "recording: the file's name"},
	{"trust", "", "measured, derived or uncalibrated"},
	{"uncalibrated", "0 or 1", "1: rests on a cost that nobody measured"},
	{"unit", "", "unit of the value"},
	{"unmapped", "pages", "private pages that reclaim unmapped"},
	{"unseen", "count", "decision points that the recording cannot show; missing: not counted"},
	{"unwritten", "pages", "dirty from a read fault on and never written, estimate"},
	{"unwritten_high", "pages", "dirty from a read fault on and never written, high bound"},
	{"unwritten_low", "pages", "dirty from a read fault on and never written, low bound"},
	{"upgrades", "pages", "of writable, made dirty by a write fault: dbm is off"},
	{"value", "", "value"},
	{"verdict", "", "safe, unsafe, stuck, unknown, not judged, break-before-make violated"},
	{"what", "", "run, a policy, or a cost preset"},
	{"width_ns", "ns", "how long the span is"},
	{"witness", "", "first case that shows it"},
	{"wp_reuse", "count", "decisions at wp_reuse: a write made the page writable again"},
	{"writable", "pages", "of swap_ins, those in a read fault, with a writable entry"},
	{"writes", "pages", "pages written to swap; of a kernel that was not recorded: estimate"},
	{"writes_high", "pages", "pages written to swap, high bound"},
	{"writes_low", "pages", "pages written to swap, low bound"},
	{"writes_missing", "pages", "had to be written, and were not seen to be"},
	{"writes_unplaced", "pages", "of writes, not told which page"},
};

const struct column_word *column_find(const char *name)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(words[i].name, name))
			return &words[i];
	return NULL;
}

const char *column_unit(const char *name)
{
	const struct column_word *w = column_find(name);

	if (w)
		return w->unit;
	switch (number_kind(name)) {
	case NUMBER_NS:
	case NUMBER_AT_NS:
		return "ns";
	case NUMBER_BYTES:
		return "bytes";
	case NUMBER_SHARE:
		return "fraction";
	default:
		return "";
	}
}
