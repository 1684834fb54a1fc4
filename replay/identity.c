// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/identity.h"

#include <stdlib.h>
#include <string.h>

#include "common/grow.h"
#include "schema/terms.h"

void identity_free(struct identity *id)
{
	for (size_t i = 0; i < id->nr_tasks; i++)
		free(id->tasks[i]);
	for (size_t i = 0; i < id->nr_mms; i++)
		free(id->mms[i]);
	free(id->tasks);
	free(id->mms);
	map_free(&id->by_tid);
	map_free(&id->by_pointer);
	*id = (struct identity){0};
}

/* Room for one more address space. */
static int make_room(struct identity *id)
{
	struct mm **mms = grow_list(id->mms, id->nr_mms, &id->max_mms, sizeof(*mms));

	if (!mms)
		return -1;
	id->mms = mms;
	return 0;
}

void task_reset(struct task *task)
{
	int32_t tid = task->tid;

	*task = (struct task){.tid = tid, .gather_point = NR_POINTS, .flush_point = NR_POINTS};
	/* The idle tasks and kthreadd have had these numbers since the first kernels. */
	if (tid == 0 || tid == 2)
		task->kind = TASK_KERNEL;
}

struct task *task_get(struct identity *id, int32_t tid)
{
	bool made;
	uint32_t *at = map_put(&id->by_tid, (uint32_t)tid, &made);

	if (!at)
		return NULL;
	if (!made)
		return id->tasks[*at - 1];
	struct task *task = malloc(sizeof(*task));
	struct task **tasks = grow_list(id->tasks, id->nr_tasks, &id->max_tasks, sizeof(*tasks));
	if (tasks)
		id->tasks = tasks;
	if (!task || !tasks) {
		free(task);
		map_remove(&id->by_tid, (uint32_t)tid);
		return NULL;
	}
	task->tid = tid;
	task_reset(task);
	id->tasks[id->nr_tasks++] = task;
	*at = (uint32_t)id->nr_tasks;
	return task;
}

const struct task *task_find(const struct identity *id, int32_t tid)
{
	const uint32_t *at = map_get(&id->by_tid, (uint32_t)tid);

	return at ? id->tasks[*at - 1] : NULL;
}

uint32_t mm_new(struct identity *id, enum mm_origin origin, uint64_t pointer,
		const struct task *task, uint64_t time_ns)
{
	struct mm *mm;

	if (!id->nr_mms) {
		if (make_room(id))
			return 0;
		id->mms[id->nr_mms++] = NULL; /* there is no mm 0 */
	}
	mm = calloc(1, sizeof(*mm));
	if (!mm || make_room(id)) {
		free(mm);
		return 0;
	}
	mm->id = (struct mm_identity){.mm = (uint32_t)id->nr_mms, .pointer = pointer,
				      .tid = task ? task->tid : -1, .origin = origin,
				      .first_ns = time_ns, .last_ns = time_ns};
	if (task)
		memcpy(mm->id.comm, task->comm, sizeof(mm->id.comm));
	if (pointer) {
		uint32_t *at = map_put(&id->by_pointer, pointer, NULL);

		if (!at) {
			free(mm);
			return 0;
		}
		*at = mm->id.mm;
	}
	if (origin == MM_PLACEHOLDER)
		id->placeholders++;
	id->mms[id->nr_mms++] = mm;
	return mm->id.mm;
}

struct mm *mm_get(const struct identity *id, uint32_t mm)
{
	return mm < id->nr_mms ? id->mms[mm] : NULL;
}

uint32_t mm_at(struct identity *id, uint64_t pointer, const struct task *task, uint64_t time_ns)
{
	uint32_t *at = map_get(&id->by_pointer, pointer);
	struct mm *mm = at ? mm_get(id, *at) : NULL;

	if (mm && !mm->dying)
		return mm->id.mm;
	return mm_new(id, MM_POINTER, pointer, task, time_ns);
}

void task_set_mm(struct identity *id, struct task *task, uint32_t number)
{
	struct mm *old = mm_get(id, task->mm), *mm = mm_get(id, number);

	if (task->mm == number)
		return;
	if (old && old->users)
		old->users--;
	task->mm = number;
	if (!mm)
		return;
	mm->users++;
	if (mm->id.tid < 0) {
		mm->id.tid = task->tid;
		memcpy(mm->id.comm, task->comm, sizeof(mm->id.comm));
	}
}

void mm_remove(struct identity *id, uint32_t number)
{
	struct mm *mm = mm_get(id, number);

	if (!mm)
		return;
	if (mm->id.pointer) {
		uint32_t *at = map_get(&id->by_pointer, mm->id.pointer);

		if (at && *at == number)
			map_remove(&id->by_pointer, mm->id.pointer);
	}
	id->mms[number] = NULL;
	free(mm);
}
