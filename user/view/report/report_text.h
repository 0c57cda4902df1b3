/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How pages are written: numbers with units, paragraphs, rows of characters, reasons. */
#ifndef JP_VIEW_REPORT_TEXT_H
#define JP_VIEW_REPORT_TEXT_H

#include <stdbool.h>
#include <stdio.h>

#include "analysis/status.h"

#define REPORT_WIDTH  80
#define REPORT_NUMBER 48

/* Each writes to buf and returns it; "?" where the number is not known. */
typedef char report_number[REPORT_NUMBER];
/* "84 ms", "0.21 s", "84 s", "5:12", "1:23:10", "3-04:00:00". */
const char *report_text__time(double s, report_number buf);
/* A difference of times: "+14.0 s", "-0.21 s", "0 s". */
const char *report_text__change(double s, report_number buf);
/* Time of cores: "2.1 core-s", "84 core-s", "21.4 core-h". */
const char *report_text__cores(double core_s, report_number buf);
/* With three digits: "290 KiB", "1.2 GiB". */
const char *report_text__mb(double mb, report_number buf);
/* As an option of Slurm, rounded up: "240M", "38G". */
const char *report_text__mem_option(double mb, report_number buf);
/* "1.9 GiB/s". */
const char *report_text__rate(double mb_per_s, report_number buf);
/* "4.1 kWh", "12.3 kJ", in the unit that is right for `like`, another one of its line. */
const char *report_text__energy(double j, double like, report_number buf);
/* Thousands have commas: "1,204". */
const char *report_text__count(double v, report_number buf);
/* How often something happened, n times in s seconds: "1,204 calls/s", "1 call/s", "0.25 calls/s";
 * where it is rarer, "3 calls in all". With what "": "1,204/s". */
const char *report_text__often(double n, double s, const char *what, report_number buf);
/* "31 %", below 10 with a decimal place: "2.1 %". */
const char *report_text__share(double v, report_number buf);

/* Text of a file, escaped, in at most `columns` of a line; "..." ends what is cut. */
typedef char report_line[REPORT_WIDTH + 1];
const char *report_text__cut(const char *s, unsigned columns, report_line buf);

/* "s" unless n is 1. */
const char *report_text__s(double n);

/* A paragraph, broken between words before column REPORT_WIDTH; the first line begins at column
 * `at`, where the cursor is, all others are indented by `indent`. Text of files is escaped. */
void report_text__paragraph(FILE *out, const char *text, int at, int indent);

/* A bar of `width` cells for a share of 0..1. */
void report_text__bar(FILE *out, double share, int width, char full, char empty);

/* A verdict's reason in words: "it is shorter than a bin of 30 s ..."; the reason itself where
 * there are no words for it. */
const char *report_reason__words(const struct analysis_verdict *v);

/* ---- a row of values as a row of characters */

/* One character per value, from 0 to max; NaN is a blank. utf8: block elements, else ASCII. */
void spark__print(FILE *out, const double *v, unsigned n, double max, bool utf8);
/* Columns to use on out: the terminal's, within 40..200, or 80 where there is none. */
unsigned spark__width(FILE *out);

#endif
