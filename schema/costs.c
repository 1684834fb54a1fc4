// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One pass over a copy of the text: lines are cut in place, strings of the preset point into it.
 * Whatever is not understood is refused; a preset with a typing error would otherwise price at 0.
 */
#include "schema/costs.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FILE (1u << 20)

const struct cost_file cost_files[] = {
#include "costs.inc"
	{NULL, NULL},
};

const struct cost_item_info cost_infos[NR_COSTS] = {
	[COST_FLUSH_LOCAL] = {"flush_local", "ns per invalidation",
			      "an invalidation on this CPU, of one page, its barrier included"},
	[COST_FLUSH_PAGE] = {"flush_page", "ns per further page",
			     "each page after the first of an invalidation on this CPU"},
	[COST_FLUSH_MM] = {"flush_mm", "ns per invalidation",
			   "an invalidation of a whole address space on this CPU"},
	[COST_FLUSH_BROADCAST] = {"flush_broadcast", "ns per invalidation",
				  "a broadcast, on the CPU issuing it, with nobody else at it"},
	[COST_BROADCAST_CPU] = {"broadcast_cpu", "ns per broadcast and other CPU",
				"the same: more of it for each other CPU of the machine"},
	[COST_BROADCAST_PAGE] = {"broadcast_page", "ns per further page",
				 "each page after the first of a broadcast"},
	[COST_BROADCAST_MM] = {"broadcast_mm", "ns per invalidation",
			       "a broadcast about a whole address space, on the CPU issuing it"},
	[COST_BROADCAST_SERVICE] = {"broadcast_service", "ns per broadcast",
				    "how long the fabric serves one broadcast while others wait"},
	[COST_SERVICE_WAITER] = {"service_waiter", "ns per broadcast and waiting CPU",
				 "how much longer it serves one for each that waits"},
	[COST_VICTIM_BROADCAST] = {"victim_broadcast", "ns per broadcast and other CPU",
				   "what a broadcast makes each other CPU stall"},
	[COST_IPI_SEND] = {"ipi_send", "ns per shootdown",
			   "sending a shootdown, on the CPU asking for it"},
	[COST_IPI_WAIT] = {"ipi_wait", "ns per shootdown",
			   "waiting until the first target has answered"},
	[COST_IPI_TARGET] = {"ipi_target", "ns per further target",
			     "sending to and waiting for each further target"},
	[COST_VICTIM_IPI] = {"victim_ipi", "ns per target",
			     "handling the interrupt on the target, flush of a page included"},
	[COST_VICTIM_PAGE] = {"victim_page", "ns per target and further page",
			      "each page after the first, on the target"},
	[COST_SPURIOUS_FAULT] = {"spurious_fault", "ns per fault",
				 "a spurious fault, entry and exit included, without its flush"},
	[COST_REFILL] = {"refill", "ns per entry",
			 "the walk for an entry that a flush by page took from another CPU"},
	[COST_REFILL_MM] = {"refill_mm", "ns per CPU and invalidation",
			    "all walks that a flush of a whole address space causes on a CPU"},
	[COST_NOTIFY] = {"notify", "ns per notification", "telling secondary TLBs"},
};

static const char *const trust_names[NR_COST_TRUSTS] = {"measured", "derived", "uncalibrated",
							"given"};

const char *cost_trust_name(enum cost_trust trust)
{
	return (unsigned int)trust < NR_COST_TRUSTS ? trust_names[trust] : "?";
}

int cost_item_find(const char *name)
{
	for (int i = 0; i < NR_COSTS; i++)
		if (!strcmp(cost_infos[i].name, name))
			return i;
	return -1;
}

/* ---- reading ---- */

/* Keys of the head and of an item, in the order in which they are written. */
enum head_key { HEAD_NAME, HEAD_SUMMARY, HEAD_ARCH, HEAD_CPUS, HEAD_NOT_FOR_USE, NR_HEAD };
enum item_key { ITEM_VALUE, ITEM_LOW, ITEM_HIGH, ITEM_UNIT, ITEM_CPU, ITEM_CORES, ITEM_KERNEL,
		ITEM_TRUST, ITEM_SOURCE, NR_ITEM };

static const char *const head_keys[NR_HEAD] = {"name", "summary", "arch", "cpus", "not_for_use"};
static const char *const item_keys[NR_ITEM] = {"value", "low", "high", "unit", "cpu", "cores",
					       "kernel", "trust", "source"};

struct reader {
	struct cost_preset *preset;
	const char *where;
	char *next;            /* of the text */
	unsigned int line;     /* of the one read last */
	int item;              /* section; -1: the head */
	unsigned int begun[NR_COSTS]; /* line of its section; 0: not seen */
	char *head[NR_HEAD], *keys[NR_ITEM];
	unsigned int lines[NR_ITEM], head_lines[NR_HEAD];
	char *err;
	size_t err_size;
};

static int fault(struct reader *r, unsigned int line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static int fault(struct reader *r, unsigned int line, const char *format, ...)
{
	va_list args;
	int n = snprintf(r->err, r->err_size, "%s:%u: ", r->where, line);

	va_start(args, format);
	if (n >= 0 && (size_t)n < r->err_size)
		vsnprintf(r->err + n, r->err_size - (size_t)n, format, args);
	va_end(args);
	return -EINVAL;
}

static bool blank(char c)
{
	return c == ' ' || c == '\t';
}

static char *trim(char *s)
{
	size_t n;

	while (blank(*s))
		s++;
	for (n = strlen(s); n && blank(s[n - 1]); n--)
		s[n - 1] = '\0';
	return s;
}

/*
 * The next line, with those that go on with it behind it, joined by one blank each; NULL at the
 * end. Lines are joined in place.
 */
static char *next_line(struct reader *r, unsigned int *at)
{
	char *line = r->next, *end = line;

	if (!*line)
		return NULL;
	*at = ++r->line;
	end += strcspn(end, "\n");
	r->next = *end ? end + 1 : end;
	*end = '\0';
	while (*line && *line != '#' && *line != '[' && blank(*r->next)) {
		char *more = r->next, *stop = more + strcspn(more, "\n");
		char *after = *stop ? stop + 1 : stop;

		*stop = '\0';
		more = trim(more);
		r->line++;
		r->next = after;
		if (!*more)
			break;
		*end++ = ' ';
		memmove(end, more, strlen(more) + 1);
		end += strlen(end);
	}
	return line;
}

static int read_number(struct reader *r, enum item_key key, double *out)
{
	const char *text = r->keys[key];
	char *end;

	if (text[0] == '-')
		return fault(r, r->lines[key], "[%s] %s = %s: a cost is not negative",
			     cost_infos[r->item].name, item_keys[key], text);
	errno = 0;
	*out = strtod(text, &end);
	if (text[0] < '0' || text[0] > '9' || *end || errno || !isfinite(*out) ||
	    strspn(text, "0123456789.") != strlen(text))
		return fault(r, r->lines[key], "[%s] %s = %s: not a number like 350 or 0.5",
			     cost_infos[r->item].name, item_keys[key], text);
	return 0;
}

/* The section that ends here has all it needs, and it makes sense. */
static int end_item(struct reader *r)
{
	const struct cost_item_info *info;
	struct cost_item *item;
	int ret = 0;

	if (r->item < 0)
		return 0;
	info = &cost_infos[r->item];
	item = &r->preset->items[r->item];
	for (unsigned int k = 0; k < NR_ITEM; k++)
		if (!r->keys[k])
			return fault(r, r->begun[r->item], "[%s] has no \"%s\"", info->name,
				     item_keys[k]);
	ret = read_number(r, ITEM_VALUE, &item->value);
	if (!ret)
		ret = read_number(r, ITEM_LOW, &item->low);
	if (!ret)
		ret = read_number(r, ITEM_HIGH, &item->high);
	if (ret)
		return ret;
	if (item->low > item->high)
		return fault(r, r->lines[ITEM_LOW], "[%s] low = %s is more than high = %s", info->name,
			     r->keys[ITEM_LOW], r->keys[ITEM_HIGH]);
	if (item->value < item->low || item->value > item->high)
		return fault(r, r->lines[ITEM_VALUE], "[%s] value = %s is not between low = %s and high = %s",
			     info->name, r->keys[ITEM_VALUE], r->keys[ITEM_LOW], r->keys[ITEM_HIGH]);
	if (strcmp(r->keys[ITEM_UNIT], info->unit) != 0)
		return fault(r, r->lines[ITEM_UNIT], "[%s] unit = %s: it is counted in \"%s\"", info->name,
			     r->keys[ITEM_UNIT], info->unit);
	item->trust = NR_COST_TRUSTS;
	for (unsigned int t = 0; t < COST_GIVEN; t++)
		if (!strcmp(r->keys[ITEM_TRUST], trust_names[t]))
			item->trust = t;
	if (item->trust == NR_COST_TRUSTS)
		return fault(r, r->lines[ITEM_TRUST],
			     "[%s] trust = %s: not measured, derived or uncalibrated", info->name,
			     r->keys[ITEM_TRUST]);
	item->name = info->name;
	item->unit = info->unit;
	item->cpu = r->keys[ITEM_CPU];
	item->cores = r->keys[ITEM_CORES];
	item->kernel = r->keys[ITEM_KERNEL];
	item->source = r->keys[ITEM_SOURCE];
	return 0;
}

static int begin_item(struct reader *r, char *line, unsigned int at)
{
	size_t n;
	int ret = end_item(r);

	if (ret)
		return ret;
	line = trim(line + 1);
	n = strlen(line);
	if (!n || line[n - 1] != ']')
		return fault(r, at, "'[' without ']' at the end of the line");
	line[n - 1] = '\0';
	line = trim(line);
	r->item = cost_item_find(line);
	if (r->item < 0)
		return fault(r, at, "there is no item [%s]", line);
	if (r->begun[r->item])
		return fault(r, at, "[%s] is there twice, first in line %u", line, r->begun[r->item]);
	r->begun[r->item] = at;
	memset(r->keys, 0, sizeof(r->keys));
	return 0;
}

static int read_key(struct reader *r, char *line, unsigned int at)
{
	const char *const *names = r->item < 0 ? head_keys : item_keys;
	unsigned int nr = r->item < 0 ? NR_HEAD : NR_ITEM, k;
	char **values = r->item < 0 ? r->head : r->keys;
	char *value = strchr(line, '=');

	if (!value)
		return fault(r, at, "neither \"key = value\" nor \"[item]\"");
	*value++ = '\0';
	line = trim(line);
	value = trim(value);
	for (k = 0; k < nr && strcmp(line, names[k]) != 0; k++)
		;
	if (k == nr)
		return fault(r, at, "there is no key \"%s\" %s%s%s", line,
			     r->item < 0 ? "before the first item" : "in [",
			     r->item < 0 ? "" : cost_infos[r->item].name, r->item < 0 ? "" : "]");
	if (values[k])
		return fault(r, at, "\"%s\" is there twice", line);
	if (!*value)
		return fault(r, at, "\"%s\" is empty", line);
	values[k] = value;
	(r->item < 0 ? r->head_lines : r->lines)[k] = at;
	return 0;
}

/* A name is what stands on a command line: letters, digits, '-', '.' and '_'. */
static bool good_name(const char *name)
{
	return name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._")] ==
	       '\0';
}

static int end_file(struct reader *r)
{
	struct cost_preset *p = r->preset;
	int ret = end_item(r);

	if (ret)
		return ret;
	for (unsigned int k = 0; k < NR_HEAD; k++)
		if (!r->head[k] && k != HEAD_NOT_FOR_USE)
			return fault(r, 1, "no \"%s\" before the first item", head_keys[k]);
	for (unsigned int i = 0; i < NR_COSTS; i++)
		if (!r->begun[i])
			return fault(r, r->line, "no [%s]: what nobody measured is stated, too, as "
				     "trust = uncalibrated", cost_infos[i].name);
	p->name = r->head[HEAD_NAME];
	p->summary = r->head[HEAD_SUMMARY];
	p->arch = r->head[HEAD_ARCH];
	p->cpus = r->head[HEAD_CPUS];
	p->not_for_use = r->head[HEAD_NOT_FOR_USE];
	if (!good_name(p->name))
		return fault(r, r->head_lines[HEAD_NAME],
			     "name = %s: letters, digits, '-', '.' and '_' make a name", p->name);
	if (strcmp(p->arch, "arm64") != 0 && strcmp(p->arch, "x86") != 0 && strcmp(p->arch, "any") != 0)
		return fault(r, r->head_lines[HEAD_ARCH], "arch = %s: not arm64, x86 or any", p->arch);
	if (strcmp(p->cpus, "any") != 0 &&
	    (strspn(p->cpus, "0123456789") != strlen(p->cpus) || strlen(p->cpus) > 5 || !atoi(p->cpus)))
		return fault(r, r->head_lines[HEAD_CPUS], "cpus = %s: neither a number nor any", p->cpus);
	return 0;
}

static int read_all(struct reader *r)
{
	unsigned int at;
	char *line;

	while ((line = next_line(r, &at))) {
		int ret = 0;

		if (blank(*line) && *trim(line))
			return fault(r, at, "a line that goes on with nothing");
		line = trim(line);
		if (!*line || *line == '#')
			continue;
		ret = *line == '[' ? begin_item(r, line, at) : read_key(r, line, at);
		if (ret)
			return ret;
	}
	return end_file(r);
}

struct cost_preset *cost_parse(const char *where, const char *text, size_t size, char *err,
			       size_t err_size)
{
	struct reader r = {.where = where, .item = -1, .line = 0, .err = err, .err_size = err_size};
	unsigned int line = 1;
	int ret = 0;

	r.preset = calloc(1, sizeof(*r.preset));
	if (r.preset)
		r.preset->text = malloc(size + 1);
	if (!r.preset || !r.preset->text) {
		cost_free(r.preset);
		snprintf(err, err_size, "%s: out of memory", where);
		errno = ENOMEM;
		return NULL;
	}
	for (size_t i = 0; !ret && i < size; i++) {
		unsigned char c = (unsigned char)text[i];

		if ((c < ' ' && c != '\n' && c != '\t') || c >= 0x7f)
			ret = fault(&r, line, "byte 0x%02x: presets are plain ASCII text", c);
		line += c == '\n';
	}
	memcpy(r.preset->text, text, size);
	r.preset->text[size] = '\0';
	r.next = r.preset->text;
	if (!ret)
		ret = read_all(&r);
	if (!ret)
		return r.preset;
	cost_free(r.preset);
	errno = EBADMSG;
	return NULL;
}

void cost_free(struct cost_preset *preset)
{
	if (!preset)
		return;
	free(preset->text);
	free(preset->changes);
	free(preset);
}

/* ---- finding ---- */

static struct cost_preset *read_path(const char *path, char *err, size_t err_size)
{
	struct cost_preset *preset = NULL;
	FILE *in = fopen(path, "re");
	char *text = malloc(MAX_FILE + 1);
	size_t n = 0;
	int saved = errno;

	if (!in || !text) {
		snprintf(err, err_size, "%s: %s", path, strerror(in ? ENOMEM : saved));
	} else {
		n = fread(text, 1, MAX_FILE + 1, in);
		saved = errno;
		if (ferror(in))
			snprintf(err, err_size, "%s: %s", path, strerror(saved));
		else if (n > MAX_FILE)
			snprintf(err, err_size, "%s: too long for a preset", path);
		else
			preset = cost_parse(path, text, n, err, err_size);
	}
	if (in)
		fclose(in);
	free(text);
	if (!preset)
		errno = EBADMSG;
	return preset;
}

static struct cost_preset *find(const char *name, char *err, size_t err_size)
{
	size_t n = strlen(name);

	if (strchr(name, '/') || (n > 5 && !strcmp(name + n - 5, ".cost")))
		return read_path(name, err, err_size);
	for (size_t i = 0; cost_files[i].name; i++)
		if (!strcmp(cost_files[i].name, name))
			return cost_parse(name, cost_files[i].text, strlen(cost_files[i].text), err,
					  err_size);
	snprintf(err, err_size, "no cost preset '%s' (see tlbreplay --list-costs)", name);
	errno = EINVAL;
	return NULL;
}

static bool read_cost(const char *text, size_t n, double *out)
{
	char copy[64], *end;

	if (!n || n >= sizeof(copy) || strspn(text, "0123456789.") < n || *text == '.')
		return false;
	memcpy(copy, text, n);
	copy[n] = '\0';
	*out = strtod(copy, &end);
	return !*end && isfinite(*out);
}

/* "50" or "5..50..300". */
static bool read_range(const char *text, struct cost_item *item)
{
	const char *first = strstr(text, ".."), *second = first ? strstr(first + 2, "..") : NULL;

	if (!first) {
		if (!read_cost(text, strlen(text), &item->value))
			return false;
		item->low = item->high = item->value;
		return true;
	}
	return second && read_cost(text, (size_t)(first - text), &item->low) &&
	       read_cost(first + 2, (size_t)(second - first - 2), &item->value) &&
	       read_cost(second + 2, strlen(second + 2), &item->high) && item->low <= item->value &&
	       item->value <= item->high;
}

static int change(struct cost_preset *p, char *word, char *err, size_t err_size)
{
	char *value = strchr(word, '=');
	int i;

	if (!value) {
		snprintf(err, err_size, "cost '%s': item=value is wanted", word);
		return -EINVAL;
	}
	*value++ = '\0';
	if (!strcmp(word, "cpus")) {
		size_t n = strlen(value);

		p->use_cpus = n && n < 6 && strspn(value, "0123456789") == n
				      ? (unsigned int)atoi(value) : 0;
		if (!p->use_cpus)
			snprintf(err, err_size, "cost cpus=%s: a number of CPUs is wanted", value);
		return p->use_cpus ? 0 : -EINVAL;
	}
	i = cost_item_find(word);
	if (i < 0) {
		snprintf(err, err_size, "cost item '%s': there is none of that name", word);
		return -EINVAL;
	}
	if (p->items[i].trust == COST_GIVEN) {
		snprintf(err, err_size, "cost item '%s' is given twice", word);
		return -EINVAL;
	}
	if (!read_range(value, &p->items[i])) {
		snprintf(err, err_size, "cost %s=%s: neither a number of ns, like 350, nor "
			 "low..value..high", word, value);
		return -EINVAL;
	}
	p->items[i].trust = COST_GIVEN;
	p->items[i].cpu = p->items[i].cores = p->items[i].kernel = "-";
	p->items[i].source = "given on the command line";
	return 0;
}

struct cost_preset *cost_open(const char *spec, char *err, size_t err_size)
{
	const char *slash = strrchr(spec, '/'), *colon = strchr(slash ? slash : spec, ':');
	size_t n = colon ? (size_t)(colon - spec) : strlen(spec);
	char *name = strndup(spec, n), *words = NULL, *save = NULL, *more;
	struct cost_preset *p = NULL;
	int ret = 0;

	if (!name)
		goto memory;
	p = find(name, err, err_size);
	if (!p || !colon) { /* errno tells what kind of wrong it is */
		int saved = errno;

		free(name);
		errno = saved;
		return p;
	}
	words = strdup(colon + 1);
	if (!words)
		goto memory;
	if (!*words) {
		snprintf(err, err_size, "cost '%s': nothing behind the colon", spec);
		ret = -EINVAL;
	}
	for (char *word = strtok_r(words, ",", &save); !ret && word; word = strtok_r(NULL, ",", &save))
		ret = change(p, word, err, err_size);
	if (ret) {
		cost_free(p);
		p = NULL;
	} else {
		more = strdup(colon);
		if (!more)
			goto memory;
		p->changes = more;
	}
	free(words);
	free(name);
	errno = EINVAL;
	return p;
memory:
	snprintf(err, err_size, "out of memory");
	free(words);
	free(name);
	cost_free(p);
	errno = ENOMEM;
	return NULL;
}

void cost_label(const struct cost_preset *p, char *out, size_t size)
{
	snprintf(out, size, "%s%s", p->name, p->changes ? p->changes : "");
}

/* ---- writing ---- */

static void write_text(FILE *out, const char *key, const char *text)
{
	const size_t width = 76;
	size_t used = (size_t)fprintf(out, "%s =", key);

	while (*text) {
		size_t word = strcspn(text, " ");

		if (used + 1 + word > width && used > 2)
			used = (size_t)fprintf(out, "\n ") - 1;
		used += (size_t)fprintf(out, " %.*s", (int)word, text);
		text += word;
		text += strspn(text, " ");
	}
	fputc('\n', out);
}

void cost_write(FILE *out, const struct cost_preset *p)
{
	fputs("# What one of each costs; see tlbreplay-costs(5).\n", out);
	write_text(out, "name", p->name);
	write_text(out, "summary", p->summary);
	write_text(out, "arch", p->arch);
	write_text(out, "cpus", p->cpus);
	if (p->not_for_use)
		write_text(out, "not_for_use", p->not_for_use);
	for (unsigned int i = 0; i < NR_COSTS; i++) {
		const struct cost_item *item = &p->items[i];

		fprintf(out, "\n# %s\n[%s]\n", cost_infos[i].help, cost_infos[i].name);
		fprintf(out, "value = %.10g\nlow = %.10g\nhigh = %.10g\nunit = %s\n", item->value,
			item->low, item->high, cost_infos[i].unit);
		write_text(out, "cpu", item->cpu);
		write_text(out, "cores", item->cores);
		write_text(out, "kernel", item->kernel);
		fprintf(out, "trust = %s\n", cost_trust_name(item->trust));
		write_text(out, "source", item->source);
	}
}

void cost_list(FILE *out)
{
	char err[256];

	for (size_t i = 0; cost_files[i].name; i++) {
		struct cost_preset *p = cost_parse(cost_files[i].name, cost_files[i].text,
						   strlen(cost_files[i].text), err, sizeof(err));

		fprintf(out, "%-19s %s\n", cost_files[i].name, p ? p->summary : err);
		cost_free(p);
	}
}
