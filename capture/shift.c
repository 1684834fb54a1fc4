// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The notes are gone through in order of time, with who belongs to which family (a number) at that
 * moment; each change goes into a list of (key, from then on, family), which is what is asked
 * later:
 *
 *   mm 0xffff..40   |---- family 3 ----|-- family 9 --->      another one at the same place
 *   task 117        |- family 3 -|- family 7 ---------->      exec
 *
 * An exec sets up its new address space before it says so: first by remote faults of the same task
 * (that mm is its next one), then, once it has taken it, by faults of its own.
 */
#include "capture/shift.h"
#include "common/grow.h"

#include <errno.h>
#include <search.h>
#include <stdbool.h>
#include <stdlib.h>

/*
 * Addresses turn around within 2^48, as a TLBI's operand has no room for more. What would lie
 * across the seam would be torn apart, so the seam comes to lie where programs have a hole: above
 * what is linked to low addresses, Go's heap and the sanitizers' shadows, below where
 * position-independent programs begin (0x55... on x86, 0xaaaa... on arm64).
 */
#define SPACE     (UINT64_C(1) << 48)
#define UNIT      (UINT64_C(1) << 30) /* keeps what lies where in page tables of 2 levels */
#define HOLE      UINT64_C(0x200000000000)
#define HOLE_END  UINT64_C(0x500000000000)
#define NO_FAMILY 0 /* of tasks that nothing is known of */

/* What is known of a task or an mm at the moment. */
struct state {
	uint64_t key;
	uint64_t mm, next; /* of a task: its mm, and one that it may be about to take; 0: not known */
	uint32_t family;
	bool taken; /* of a task: it has taken its next one, and the exec is still to be noted */
	bool ended; /* of an mm */
};

struct change {
	uint64_t key, time_ns;
	size_t order;
	uint32_t family;
};

struct changes {
	struct change *all;
	size_t count, capacity;
	void *states; /* a tree of what holds now */
};

struct shift {
	uint64_t key;
	struct shift_note *notes;
	size_t *order;
	size_t count, capacity;
	struct changes tasks, mms, before; /* before: what the snapshot calls address spaces */
	uint32_t families;
	bool failed;
};

struct shift *shift_new(uint64_t key)
{
	struct shift *shift = calloc(1, sizeof(*shift));

	if (shift)
		shift->key = key;
	return shift;
}

static void free_changes(struct changes *changes)
{
	tdestroy(changes->states, free);
	free(changes->all);
}

void shift_free(struct shift *shift)
{
	if (!shift)
		return;
	free_changes(&shift->tasks);
	free_changes(&shift->mms);
	free_changes(&shift->before);
	free(shift->notes);
	free(shift);
}

int shift_note(struct shift *shift, const struct shift_note *note)
{
	struct shift_note *notes =
		grow_list(shift->notes, shift->count, &shift->capacity, sizeof(*notes));

	if (!notes)
		return -ENOMEM;
	shift->notes = notes;
	shift->notes[shift->count++] = *note;
	return 0;
}

static int by_key(const void *a, const void *b)
{
	uint64_t x = ((const struct state *)a)->key, y = ((const struct state *)b)->key;

	return x < y ? -1 : x > y;
}

/* The state of KEY; NULL if there is none yet. */
static struct state *known(const struct changes *changes, uint64_t key)
{
	struct state wanted = {.key = key};
	struct state **found = tfind(&wanted, &changes->states, by_key);

	return found ? *found : NULL;
}

/* The same, made if need be. */
static struct state *state_of(struct shift *shift, struct changes *changes, uint64_t key)
{
	struct state *state = known(changes, key);

	if (state)
		return state;
	state = calloc(1, sizeof(*state));
	if (state)
		state->key = key;
	if (!state || !tsearch(state, &changes->states, by_key)) {
		free(state);
		shift->failed = true;
		return NULL;
	}
	return state;
}

static void move(struct shift *shift, struct changes *changes, struct state *state,
		 uint64_t time_ns, uint32_t family)
{
	if (state->family == family)
		return;
	state->family = family;
	struct change *all =
		grow_list(changes->all, changes->count, &changes->capacity, sizeof(*all));
	if (!all) {
		shift->failed = true;
		return;
	}
	changes->all = all;
	changes->all[changes->count] = (struct change){state->key, time_ns, changes->count, family};
	changes->count++;
}

static uint32_t new_family(struct shift *shift)
{
	return ++shift->families;
}

/* Gives MM a family if it has none, or if it is another mm at the place of one that has ended. */
static void settle_mm(struct shift *shift, struct state *mm, uint64_t time_ns, uint32_t family)
{
	if (mm->family != NO_FAMILY && !mm->ended)
		return;
	mm->ended = false;
	move(shift, &shift->mms, mm, time_ns, family != NO_FAMILY ? family : new_family(shift));
}

/* TASK faults on its own MM. */
static void own_fault(struct shift *shift, const struct shift_note *note, struct state *task,
		      struct state *mm)
{
	/* The first one that it is seen on is what the snapshot or its parent said of it. */
	settle_mm(shift, mm, note->time_ns, task->mm ? NO_FAMILY : task->family);
	task->taken |= task->next == mm->key || (task->mm && task->mm != mm->key);
	task->mm = mm->key;
	task->next = 0;
	move(shift, &shift->tasks, task, note->time_ns, mm->family);
}

static void take_task(struct shift *shift, const struct shift_note *note)
{
	struct state *task = state_of(shift, &shift->tasks, (uint32_t)note->tid);
	struct state *other = NULL;

	if (!task)
		return;
	if (note->kind == SHIFT_BEFORE) {
		if (!note->a || !(other = state_of(shift, &shift->before, note->a)))
			return;
		if (other->family == NO_FAMILY)
			other->family = new_family(shift);
		if (task->family == NO_FAMILY)
			move(shift, &shift->tasks, task, 0, other->family);
	} else if (note->kind == SHIFT_TASK) {
		if (!(other = state_of(shift, &shift->tasks, note->a)))
			return;
		other->mm = other->next = 0;
		other->taken = false;
		/* Without a family: kernel threads, whose children may become anything by an exec. */
		move(shift, &shift->tasks, other, note->time_ns, task->family);
	} else if (task->taken) {
		task->taken = false;
	} else {
		struct state *mm = task->next ? known(&shift->mms, task->next) : NULL;

		task->mm = mm ? mm->key : 0;
		task->next = 0;
		move(shift, &shift->tasks, task, note->time_ns, mm ? mm->family : new_family(shift));
	}
}

static void take_mm(struct shift *shift, const struct shift_note *note)
{
	struct state *mm = state_of(shift, &shift->mms, note->a);
	struct state *task = state_of(shift, &shift->tasks, (uint32_t)note->tid);
	struct state *parent;

	if (!mm || !task)
		return;
	switch (note->kind) {
	case SHIFT_FAULT:
		own_fault(shift, note, task, mm);
		break;
	case SHIFT_COPY:
		parent = state_of(shift, &shift->mms, note->b);
		if (!parent)
			return;
		settle_mm(shift, parent, note->time_ns, task->mm ? NO_FAMILY : task->family);
		mm->ended = true;
		settle_mm(shift, mm, note->time_ns, parent->family);
		break;
	case SHIFT_REMOTE:
		settle_mm(shift, mm, note->time_ns, NO_FAMILY);
		task->next = mm->key;
		break;
	case SHIFT_END:
		mm->ended = true;
		break;
	default:
		/* What ends is still acted on; it is not another one yet. */
		if (mm->family == NO_FAMILY)
			settle_mm(shift, mm, note->time_ns, NO_FAMILY);
		break;
	}
}

static int by_time(const void *a, const void *b, void *context)
{
	const struct shift *shift = context;
	size_t i = *(const size_t *)a, j = *(const size_t *)b;
	uint64_t x = shift->notes[i].time_ns, y = shift->notes[j].time_ns;

	if (x != y)
		return x < y ? -1 : 1;
	return i < j ? -1 : i > j;
}

static int by_key_and_time(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

int shift_settle(struct shift *shift)
{
	size_t *order = calloc(shift->count ? shift->count : 1, sizeof(*order));

	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < shift->count; i++)
		order[i] = i;
	qsort_r(order, shift->count, sizeof(*order), by_time, shift);
	for (size_t i = 0; i < shift->count && !shift->failed; i++) {
		const struct shift_note *note = &shift->notes[order[i]];

		if (note->kind <= SHIFT_EXEC)
			take_task(shift, note);
		else
			take_mm(shift, note);
	}
	free(order);
	struct changes *const both[] = {&shift->tasks, &shift->mms};
	for (size_t i = 0; i < 2; i++)
		if (both[i]->count)
			qsort(both[i]->all, both[i]->count, sizeof(*both[i]->all), by_key_and_time);
	return shift->failed ? -ENOMEM : 0;
}

/* The family of KEY at that time: of the last change until then, or else of the first one. */
static uint32_t family_at(const struct changes *changes, uint64_t key, uint64_t time_ns)
{
	size_t low = 0, high = changes->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct change *change = &changes->all[middle];

		if (change->key < key || (change->key == key && change->time_ns <= time_ns))
			low = middle + 1;
		else
			high = middle;
	}
	if (low && changes->all[low - 1].key == key)
		return changes->all[low - 1].family;
	if (low < changes->count && changes->all[low].key == key)
		return changes->all[low].family;
	return NO_FAMILY;
}

static uint64_t distance(const struct shift *shift, uint32_t family)
{
	uint64_t hash = shift->key ^ (family + UINT64_C(1)) * UINT64_C(0x9e3779b97f4a7c15);

	hash ^= hash >> 32;
	hash *= UINT64_C(0xbf58476d1ce4e5b9);
	hash ^= hash >> 29;
	hash *= UINT64_C(0x94d049bb133111eb);
	hash ^= hash >> 32;
	return SPACE - (HOLE + hash % ((HOLE_END - HOLE) / UNIT) * UNIT);
}

uint64_t shift_address(uint64_t address, uint64_t distance_bytes)
{
	/* 0: none; bit 55: the kernel's. */
	if (!address || address >> 55)
		return address;
	return (address & ~(SPACE - 1)) | ((address + distance_bytes) & (SPACE - 1));
}

uint64_t shift_of_mm(const struct shift *shift, uint64_t mm, uint64_t time_ns)
{
	return distance(shift, family_at(&shift->mms, mm, time_ns));
}

bool shift_knows_task(const struct shift *shift, int32_t tid, uint64_t time_ns)
{
	return family_at(&shift->tasks, (uint32_t)tid, time_ns) != NO_FAMILY;
}

uint64_t shift_of_task(const struct shift *shift, int32_t tid, uint64_t time_ns)
{
	return distance(shift, family_at(&shift->tasks, (uint32_t)tid, time_ns));
}
