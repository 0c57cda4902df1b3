/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A node as one run of bytes, its attributes and the rows of its tables, of which another process
 * makes the same node in another file without opening the one it comes from. Only what is simple
 * has an image, as nodes of Slurm's are: attributes that are numbers or fixed strings, tables of
 * numbers whose rows are stored as they are, all of them in their file, and nothing that HDF5 has
 * besides. Whatever else there may be, the library copies.
 */
#ifndef JP_JOBFILE_NODEIMAGE_H
#define JP_JOBFILE_NODEIMAGE_H

#include <hdf5.h>
#include <stddef.h>
#include <stdint.h>

struct message;

/* One at a time; for any number of nodes, one after the other. */
struct nodeimage;

/* 0 or -ENOMEM. */
int nodeimage__new(struct nodeimage **out);
void nodeimage__free(struct nodeimage *i);

/* An image of a new node; it has none if any of the rest finds it not to be simple, or it is
 * spoilt. */
void nodeimage__begin(struct nodeimage *i, hid_t node);
void nodeimage__spoil(struct nodeimage *i);
/* Every object below the node and its link; of *obj, H5O_INFO_HDR is needed too. */
void nodeimage__look(struct nodeimage *i, const H5L_info_t *link, const H5O_info_t *obj);
/* A group of the node; attributes that follow are its own, before they are the node's. */
void nodeimage__group(struct nodeimage *i, hid_t group, const char *name);
void nodeimage__attr(struct nodeimage *i, const char *name, hid_t attr, hid_t type,
		     const H5A_info_t *info);
/* A table in a group, "" in the node itself, and then all its rows, as they are in the file. */
void nodeimage__table(struct nodeimage *i, const char *group, const char *name, hid_t type,
		      uint64_t rows);
void nodeimage__rows(struct nodeimage *i, const void *rows, size_t n);
/* What has become of it, until the next; NULL: it has to be copied. */
const struct message *nodeimage__bytes(struct nodeimage *i);

/* What is kept from one node to the next where they are made. 0 or -ENOMEM. */
struct nodeimage_maker;
int nodeimage_maker__new(struct nodeimage_maker **out);
void nodeimage_maker__free(struct nodeimage_maker *m);
/* Fills a node's group, which is empty. *rows: the tables' bytes are added to it as struct h5record
 * adds those that are written; or NULL. 0; -EBADMSG: that is no image; else as h5__error(). */
int nodeimage_maker__make(struct nodeimage_maker *m, hid_t node, const void *image, size_t bytes,
			  uint64_t *rows);

#endif
