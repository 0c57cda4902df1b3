/* SPDX-License-Identifier: GPL-2.0-only */
/* Numbers of series and tables in a step's journal, by kind of table. */
#ifndef JP_DAEMON_STEP_JOURNAL_NUMBERS_H
#define JP_DAEMON_STEP_JOURNAL_NUMBERS_H

#include "journal/journal.h"

/* Series: those of counted kinds (step.h) from 0, of sensors, of external series to the end. */
#define SENSOR_SERIES_FIRST   24
#define SENSOR_SERIES_END     64
#define EXTERNAL_SERIES_FIRST SENSOR_SERIES_END

/* Tables: those of tasks come from 0 upwards; those of external series count down from the last
 * one, those of sensors from below them. */
#define EXTERNAL_TABLE_LAST (JOURNAL_TABLES_MAX - 1)
#define SENSOR_TABLE_FIRST  (EXTERNAL_TABLE_LAST - JOURNAL_SERIES_MAX)
#define SENSOR_TABLE_END    (SENSOR_TABLE_FIRST - 3000)

#endif
