/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A list of texts. */
#ifndef JP_BASE_STRING_LIST_H
#define JP_BASE_STRING_LIST_H

/* Begins zeroed. The texts belong to the list. */
struct string_list {
	char **v;
	unsigned n;
};

/* Adds a text, which the list owns from then on, also after an error. 0; -ENOMEM, also if text is
 * NULL. */
int string_list__take(struct string_list *l, char *text);
/* Adds a copy of the text. 0 or -ENOMEM. */
int string_list__append(struct string_list *l, const char *text);
/* Sorts the texts from index `from` on, with numbers in them by value: n2 before n10. */
void string_list__sort(struct string_list *l, unsigned from);
/* Frees the texts; the list is empty afterwards. */
void string_list__free(struct string_list *l);

#endif
