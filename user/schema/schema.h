/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The room schema: what a profile is made of, as tables made from schemas/ at compile time. A
 * series is a table of rows in time, or a group of such tables, and a list of columns; a column has
 * a name, a type, a unit, a kind (gauge, per interval, cumulative), and the rule by which it is
 * computed from a quantity. Columns belong to families, which are wanted and loaded as a whole. The
 * room also decides what a column of any file is (describe.h). It computes nothing and reads no
 * file; every room but base may include it.
 */
#ifndef JP_SCHEMA_SCHEMA_H
#define JP_SCHEMA_SCHEMA_H

#include "schema/column.h"     /* a column */
#include "schema/describe.h"   /* what a column of a file is, and its totals */
#include "schema/family.h"     /* families, and the words that ask for them */
#include "base/freq.h"	       /* sampling intervals, in Slurm's syntax */
#include "schema/quantities.h" /* what is measured: indices of counters and readings */
#include "schema/series.h"     /* the built-in series */

#endif
