// SPDX-License-Identifier: GPL-2.0-or-later
/* Field lines that kernels write, and lines that they do not. */
#include "schema/format.h"

#include <errno.h>
#include <string.h>

#include "tests/unit/check.h"

#define PLACE ";\toffset:8;\tsize:16;\tsigned:0;\n"

static int parse(const char *text, struct format_field *f)
{
	const char *at = text;

	return format_next_field(&at, text + strlen(text), f);
}

static bool is(const char *text, size_t size, const char *wanted)
{
	return size == strlen(wanted) && !memcmp(text, wanted, size);
}

static void check_field(const char *decl, const char *type, const char *name, const char *array)
{
	struct format_field f;
	char line[256];

	snprintf(line, sizeof(line), "\tfield:%s" PLACE, decl);
	CHECK(parse(line, &f) == 1);
	CHECK(is(f.type, f.type_size, type) && is(f.name, f.name_size, name));
	CHECK(array ? f.array && is(f.array, f.array_size, array) : !f.array);
	CHECK(f.offset == 8 && f.size == 16 && f.is_signed == 0);
}

static void check_whole(void)
{
	static const char text[] = "name: sched_switch\nID: 314\nformat:\n"
				   "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
				   "\tfield:pid_t pid;\toffset:8;\tsize:4;\n"
				   "\nprint fmt: \"field:int x;\toffset:1;\tsize:1;\", 1\n"
				   "\tfield:int after;\toffset:1;\tsize:1;\n";
	const char *at = text, *end = text + sizeof(text) - 1;
	struct format_field f;
	int id = 0;

	CHECK(format_id(text, sizeof(text) - 1, &id) && id == 314);
	CHECK(format_next_field(&at, end, &f) == 1 && format_field_is(&f, "common_pid"));
	CHECK(f.is_signed == 1);
	CHECK(format_next_field(&at, end, &f) == 1 && format_field_is(&f, "pid"));
	CHECK(f.is_signed == -1 && !format_field_is(&f, "pi") && !format_field_is(&f, "pid_t"));
	CHECK(format_next_field(&at, end, &f) == 0 && at == end);
	CHECK(!format_id("ID: x\n", 6, &id) && !format_id("ID: 4294967296", 14, &id));
}

int main(void)
{
	static const char *const bad[] = {
		"\tfield:;\toffset:8;\tsize:4;\tsigned:0;\n",
		"\tfield:int;\toffset:8;\tsize:4;\tsigned:0;\n",
		"\tfield:int x;\toffset:8;\tsize:4;\tsigned:2;\n",
		"\tfield:int x;\toffset:-8;\tsize:4;\tsigned:0;\n",
		"\tfield:int x;\toffset:;\tsize:4;\tsigned:0;\n",
		"\tfield:int x;\toffset:2147483648;\tsize:4;\tsigned:0;\n",
		"\tfield:int x;\toffset:99999999999999999999;\tsize:4;\tsigned:0;\n",
		"\tfield:int x;\toffset:8;\tsize:4;\tsigned:0; \n",
		"\tfield:int x;\toffset:8;\tsize:4;\tsigned:0",
		"\tfield:int x; offset:8; size:4; signed:0;\n",
		"\tfield:int x]" PLACE,
		"\tfield:int x[4" PLACE,
		"\tfield:int x[\"]" PLACE,
		"\tfield:int 4x" PLACE,
		"\tfield:int (*x)(int)" PLACE,
		"\tfield:char[ x" PLACE,
		"\tfield:char\x1b[] x" PLACE,
	};
	struct format_field f;

	check_field("unsigned short common_type", "unsigned short", "common_type", NULL);
	check_field("char prev_comm[16]", "char", "prev_comm", "16");
	check_field("__data_loc char[] filename", "__data_loc char[]", "filename", NULL);
	check_field("const char * str", "const char *", "str", NULL);
	check_field("const char *str", "const char *", "str", NULL);
	check_field("char buf[]", "char", "buf", "");
	check_field("__u8 saddr[sizeof(struct sockaddr_in6)]", "__u8", "saddr",
		    "sizeof(struct sockaddr_in6)");
	check_field(" u64 timestamp", "u64", "timestamp", NULL);
	check_whole();
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		int ret = parse(bad[i], &f);

		if (ret != -EBADMSG)
			printf("%s", bad[i]);
		CHECK(ret == -EBADMSG);
	}
	CHECK(parse("", &f) == 0 && parse("format:\n", &f) == 0);
	CHECK(parse("\tfield:__rel_loc char[] x" PLACE, &f) == 1 && format_field_is_dynamic(&f));
	CHECK(parse("\tfield:char x" PLACE, &f) == 1 && !format_field_is_dynamic(&f));
	return failures != 0;
}
