// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/reprice.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>

#include "analysis/db.h"
#include "schema/costs.h"
#include "schema/derive.h"

static const char prices_sql[] =
	"INSERT INTO cost_items SELECT id, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11 FROM traces "
	"ORDER BY id";

/* ?1: the preset's name. A part that is paid for by nothing is there, too, with 0. */
static const char costs_sql[] =
	"INSERT INTO costs SELECT p.id, ?1, i.part, sum(c.low * i.low), sum(c.estimate * i.value), "
	"sum(c.high * i.high), max(c.high > 0 AND i.high > 0 AND i.trust = 'uncalibrated') "
	"FROM policies p JOIN temp.prices i JOIN quantities c ON c.policy = p.id AND c.item = i.item "
	"GROUP BY p.id, i.part_number ORDER BY p.id, i.part_number";

static const char note_sql[] =
	"INSERT INTO notes SELECT t.id, 'unseen', 'queue', NULL, "
	"'what broadcasts wait for each other is not in the costs by ' || ?1 || ': it depends on when "
	"they met, and needs a replay: tlbreplay --cost ' || ?1 "
	"FROM traces t WHERE ?2 ORDER BY t.id";

static const char unfit_sql[] =
	"INSERT INTO notes SELECT id, 'assumed', 'cost preset', NULL, ?1 || ' is not for use: ' || ?2 "
	"FROM traces WHERE ?2 IS NOT NULL ORDER BY id";

/* Runs SQL, which has two parameters at most. */
static int run(sqlite3 *db, const char *sql, const char *first, const char *second)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);

	if (!rc) {
		sqlite3_bind_text(stmt, 1, first, -1, SQLITE_STATIC);
		sqlite3_bind_text(stmt, 2, second, -1, SQLITE_STATIC);
		rc = sqlite3_step(stmt);
		rc = rc == SQLITE_DONE ? SQLITE_OK : rc;
	}
	sqlite3_finalize(stmt);
	return rc;
}

static int add_item(sqlite3 *db, const struct cost_preset *preset, const char *label,
		    unsigned int id)
{
	const struct cost_item *item = &preset->items[id];
	sqlite3_stmt *stmt = NULL, *price = NULL;
	int rc = sqlite3_prepare_v2(db, prices_sql, -1, &stmt, NULL);

	if (!rc)
		rc = sqlite3_prepare_v2(db, "INSERT INTO temp.prices VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)",
					-1, &price, NULL);
	if (rc)
		goto out;
	sqlite3_bind_text(stmt, 1, label, -1, SQLITE_STATIC);
	sqlite3_bind_text(stmt, 2, cost_infos[id].name, -1, SQLITE_STATIC);
	sqlite3_bind_text(stmt, 3, cost_infos[id].unit, -1, SQLITE_STATIC);
	sqlite3_bind_double(stmt, 4, item->low);
	sqlite3_bind_double(stmt, 5, item->value);
	sqlite3_bind_double(stmt, 6, item->high);
	sqlite3_bind_text(stmt, 7, cost_trust_name(item->trust), -1, SQLITE_STATIC);
	sqlite3_bind_text(stmt, 8, item->source, -1, SQLITE_STATIC);
	sqlite3_bind_text(stmt, 9, item->cpu, -1, SQLITE_STATIC);
	sqlite3_bind_text(stmt, 10, item->cores, -1, SQLITE_STATIC);
	sqlite3_bind_text(stmt, 11, item->kernel, -1, SQLITE_STATIC);
	sqlite3_bind_text(price, 1, cost_infos[id].name, -1, SQLITE_STATIC);
	sqlite3_bind_int(price, 2, (int)derive_part(id));
	sqlite3_bind_text(price, 3, cost_part_name(derive_part(id)), -1, SQLITE_STATIC);
	sqlite3_bind_double(price, 4, item->low);
	sqlite3_bind_double(price, 5, item->value);
	sqlite3_bind_double(price, 6, item->high);
	sqlite3_bind_text(price, 7, cost_trust_name(item->trust), -1, SQLITE_STATIC);
	rc = sqlite3_step(stmt) != SQLITE_DONE || sqlite3_step(price) != SQLITE_DONE
		     ? sqlite3_errcode(db)
		     : SQLITE_OK;
out:
	sqlite3_finalize(stmt);
	sqlite3_finalize(price);
	return rc;
}

static int add_preset(sqlite3 *db, const struct cost_preset *preset)
{
	char label[256];

	cost_label(preset, label, sizeof(label));
	int rc = sqlite3_exec(db, "DELETE FROM temp.prices", NULL, NULL, NULL);

	for (unsigned int i = 0; !rc && i < NR_COSTS; i++)
		rc = add_item(db, preset, label, i);
	if (!rc)
		rc = run(db, costs_sql, label, NULL);
	if (!rc && preset->items[COST_BROADCAST_SERVICE].high > 0)
		rc = run(db, note_sql, label, "1");
	if (!rc)
		rc = run(db, unfit_sql, label, preset->not_for_use);
	return rc;
}

int reprice(sqlite3 **db, const char *path, char *const *specs, size_t nr, char *err,
	    size_t err_size)
{
	int ret = db_copy(db, path, err, err_size), rc;

	if (ret)
		return ret;
	rc = sqlite3_exec(*db,
			  "DELETE FROM costs; DELETE FROM cost_items;"
			  "DELETE FROM notes WHERE kind = 'unseen' AND subject = 'cost' "
			  "OR kind = 'assumed' AND subject = 'cost preset';"
			  "CREATE TEMP TABLE prices(item, part_number, part, low, value, high, trust)",
			  NULL, NULL, NULL);
	for (size_t i = 0; !rc && !ret && i < nr; i++) {
		struct cost_preset *preset = cost_open(specs[i], err, err_size);

		ret = preset ? 0 : errno == ENOMEM ? -ENOMEM : -EINVAL;
		if (preset && preset->use_cpus) {
			snprintf(err, err_size,
				 "%s: another number of CPUs needs a replay (tlbreplay --cost)", specs[i]);
			ret = -EINVAL;
		}
		if (!ret)
			rc = add_preset(*db, preset);
		cost_free(preset);
	}
	if (rc) {
		snprintf(err, err_size, "%s", sqlite3_errmsg(*db));
		ret = -EIO;
	}
	db_guard(*db);
	return ret;
}
