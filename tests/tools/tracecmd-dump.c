// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tracecmd-dump FILE: the events of a trace.dat as libtracecmd reads them, one "TIME_NS CPU PID
 * SYSTEM:EVENT" per line, and with several buffers the buffer's name ("-" for the top level one).
 * An independent reader to compare with. Ends with 1 if it cannot open the file. libtracecmd also
 * ends quietly on damage that it does not understand: the number of lines is part of its answer.
 */
#include <stdio.h>
#include <stdlib.h>

#include <traceevent/event-parse.h>
#include <trace-cmd/trace-cmd.h>

static struct tracecmd_input **handles;
static const char **names;
static int nr_handles;

static int print(struct tracecmd_input *in, struct tep_record *rec, int cpu, void *data)
{
	struct tep_handle *tep = tracecmd_get_tep(in);
	struct tep_event *event = tep_find_event_by_record(tep, rec);
	int i;

	(void)cpu;
	(void)data;
	printf("%llu %d %d ", rec->ts, rec->cpu, tep_data_pid(tep, rec));
	if (event)
		printf("%s:%s", event->system, event->name);
	else
		printf("unknown:%d", tep_data_type(tep, rec));
	for (i = 0; i < nr_handles && nr_handles > 1; i++)
		if (handles[i] == in)
			printf(" %s", names[i]);
	printf("\n");
	return 0;
}

int main(int argc, char **argv)
{
	struct tracecmd_input *top;
	int i, buffers, ret;

	if (argc != 2) {
		fprintf(stderr, "usage: tracecmd-dump FILE\n");
		return 2;
	}
	top = tracecmd_open(argv[1], TRACECMD_FL_LOAD_NO_PLUGINS);
	if (!top) {
		fprintf(stderr, "tracecmd-dump: %s cannot be opened\n", argv[1]);
		return 1;
	}
	buffers = tracecmd_buffer_instances(top);
	handles = calloc(buffers + 1, sizeof(*handles));
	names = calloc(buffers + 1, sizeof(*names));
	if (!handles || !names)
		return 1;
	handles[nr_handles] = top;
	names[nr_handles++] = "-";
	for (i = 0; i < buffers; i++) {
		handles[nr_handles] = tracecmd_buffer_instance_handle(top, i);
		names[nr_handles] = tracecmd_buffer_instance_name(top, i);
		if (!handles[nr_handles++]) {
			fprintf(stderr, "tracecmd-dump: buffer %d cannot be opened\n", i);
			return 1;
		}
	}
	if (nr_handles > 1)
		ret = tracecmd_iterate_events_multi(handles, nr_handles, print, NULL);
	else
		ret = tracecmd_iterate_events(top, NULL, 0, print, NULL);
	while (nr_handles)
		tracecmd_close(handles[--nr_handles]);
	free(handles);
	free(names);
	return ret || fflush(stdout) || ferror(stdout);
}
