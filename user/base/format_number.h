/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers as decimal digits, exact as printf writes them, but quicker. No NUL is written. */
#ifndef JP_BASE_FORMAT_NUMBER_H
#define JP_BASE_FORMAT_NUMBER_H

#include <stdint.h>

#define FORMAT_NUMBER_MAX 512u /* bytes of any one number: DBL_MAX has 309 before its point */

/* Both write to p, which must have room for FORMAT_NUMBER_MAX bytes, and return the end there. */
char *format_number__u64(char *p, uint64_t v);
/* The bytes of printf("%f"): six decimals, exact, halves to even; "nan", "-nan", "inf", "-inf". */
char *format_number__f6(char *p, double v);

#endif
