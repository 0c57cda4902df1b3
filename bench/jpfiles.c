/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes node-step files to measure merging and extraction with, as many as a job of any size has:
 * in the layout of Slurm's own plugin, or jobprof's with all its columns and totals. One file is
 * made the long way, or given, and the others are copies of it under their own node's name.
 */
#include <fcntl.h>
#include <getopt.h>
#include <hdf5.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "hdf5/h5util.h"
#include "hdf5/nodestep.h"
#include "tests/unit/synth.h"

#define SLURM_CHUNK 10
#define NODE_NAME   256

struct job {
	const char *dir;
	const char *from; /* a node-step file, NULL: one is made */
	bool slurm;
	unsigned id, nodes, steps, tasks, rows;
};

static const struct {
	const char *name;
	bool real; /* else a whole number */
} slurm_columns[] = {
	{"ElapsedTime", false},	  {"EpochTime", false}, {"CPUFrequency", false}, {"CPUTime", true},
	{"CPUUtilization", true}, {"RSS", false},	{"VMSize", false},	 {"Pages", false},
	{"ReadMB", true},	  {"WriteMB", true},
};

#define N_SLURM (sizeof(slurm_columns) / sizeof(slurm_columns[0]))

static void need(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "jpfiles: %s failed\n", what);
	exit(1);
}

static union cell slurm_cell(unsigned task, unsigned row, unsigned col)
{
	const union cell now = {.u = SYNTH_START_NS / 1000000000 + 30 * row};
	union cell v = {.u = synth_noise(task, row, col, 1u << 20)};

	if (col < 2)
		return col ? now : (union cell){.u = 30 * row};
	if (slurm_columns[col].real)
		v.f = v.u / 1024.0;
	return v;
}

static void put_attr(hid_t at, const char *name, hid_t type, const void *value)
{
	const hsize_t one = 1;
	hid_t space = H5Screate_simple(1, &one, NULL);
	hid_t attr = H5Acreate2(at, name, type, space, H5P_DEFAULT, H5P_DEFAULT);

	need(attr >= 0 && H5Awrite(attr, type, value) >= 0, name);
	H5Aclose(attr);
	H5Sclose(space);
}

static void put_string(hid_t at, const char *name, const char *value)
{
	hid_t type = H5Tcopy(H5T_C_S1);

	H5Tset_size(type, strlen(value));
	put_attr(at, name, type, value);
	H5Tclose(type);
}

static void put_table(hid_t at, hid_t type, const struct job *j, unsigned task)
{
	const hsize_t rows = j->rows, unlimited = H5S_UNLIMITED, chunk = SLURM_CHUNK;
	hid_t space = H5Screate_simple(1, &rows, &unlimited), dcpl = H5Pcreate(H5P_DATASET_CREATE);
	union cell *cells = calloc(j->rows + 1, N_SLURM * sizeof(*cells));
	char name[16];
	hid_t dset;

	need(cells, "memory");
	snprintf(name, sizeof(name), "%u", task);
	H5Pset_chunk(dcpl, 1, &chunk);
	H5Pset_deflate(dcpl, 0);
	for (unsigned r = 0; r < j->rows; r++)
		for (unsigned c = 0; c < N_SLURM; c++)
			cells[r * N_SLURM + c] = slurm_cell(task, r, c);
	dset = H5Dcreate2(at, name, type, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
	need(dset >= 0 && H5Dwrite(dset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, cells) >= 0, "table");
	H5Dclose(dset);
	H5Pclose(dcpl);
	H5Sclose(space);
	free(cells);
}

/* As Slurm 22.05 lays a file out: chunks of 10 rows, deflate 0, no totals. */
static void make_slurm(const char *path, const struct job *j)
{
	hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), node, group, type;
	const int numbers[] = {0, 1, (int)j->tasks};

	need(file >= 0, path);
	node = H5Gcreate2(file, "n0", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
	put_string(node, "Node Name", "n0");
	put_attr(node, "Node Index", H5T_NATIVE_INT, &numbers[0]);
	put_attr(node, "CPUs per Task", H5T_NATIVE_INT, &numbers[1]);
	put_attr(node, "Number of Tasks", H5T_NATIVE_INT, &numbers[2]);
	put_string(node, "Start Time", "Sat Nov 21 02:04:40 2026");
	group = H5Gcreate2(node, "Tasks", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
	type = H5Tcreate(H5T_COMPOUND, N_SLURM * sizeof(union cell));
	for (unsigned c = 0; c < N_SLURM; c++)
		H5Tinsert(type, slurm_columns[c].name, c * sizeof(union cell),
			  slurm_columns[c].real ? H5T_NATIVE_DOUBLE : H5T_NATIVE_UINT64);
	for (unsigned t = 0; t < j->tasks; t++)
		put_table(group, type, j, t);
	H5Tclose(type);
	H5Gclose(group);
	H5Gclose(node);
	need(H5Fclose(file) >= 0, path);
}

static void make_jobprof(const char *path, const struct job *j)
{
	const struct synth s = {"n0", j->tasks, j->rows, SYNTH_START_NS, -1, true};
	int dir = open(j->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd;
	char journal[4096];

	snprintf(journal, sizeof(journal), "%s/.jpfiles.journal", j->dir);
	synth_make(journal, &s);
	fd = open(journal, O_RDONLY | O_CLOEXEC);
	need(fd >= 0 && !nodestep__build(fd, dir, strrchr(path, '/') + 1, NULL, NULL), "journal");
	close(fd);
	close(dir);
	unlink(journal);
}

static const char *const of_tasks[] = {"Tasks",	   "RunLatency", "BlkLatency",
				       "Culprits", "Samples",	 "TimeBudget"};
#define OF_TASKS (sizeof(of_tasks) / sizeof(of_tasks[0]))

/* The rows of Totals/<series> have the numbers too, in jobprof's files: they are changed in the
 * file that is copied, where the tables stay open, for opening one takes longer than all the rest.
 */
struct totals {
	hid_t file, row, dset[OF_TASKS];
	uint64_t *rows;
};

static void totals_open(struct totals *t, hid_t file, const char *node, unsigned tasks)
{
	char path[NODE_NAME + 64];

	*t = (struct totals){.file = file, .row = H5Tcreate(H5T_COMPOUND, sizeof(uint64_t))};
	H5Tinsert(t->row, "Task", 0, H5T_NATIVE_UINT64);
	t->rows = calloc(tasks, sizeof(*t->rows));
	need(t->rows != NULL, "memory");
	for (unsigned i = 0; i < OF_TASKS; i++) {
		snprintf(path, sizeof(path), "%s/Totals", node);
		t->dset[i] = H5I_INVALID_HID;
		if (H5Lexists(file, path, H5P_DEFAULT) <= 0)
			continue;
		snprintf(path, sizeof(path), "%s/Totals/%s", node, of_tasks[i]);
		if (H5Lexists(file, path, H5P_DEFAULT) > 0)
			t->dset[i] = H5Dopen2(file, path, H5P_DEFAULT);
	}
}

static void totals_number(struct totals *t, unsigned tasks, unsigned first)
{
	for (unsigned i = 0; i < tasks; i++)
		t->rows[i] = first + i;
	for (unsigned i = 0; i < OF_TASKS; i++)
		if (t->dset[i] >= 0)
			need(H5Dwrite(t->dset[i], t->row, H5S_ALL, H5S_ALL, H5P_DEFAULT, t->rows) >=
				     0,
			     of_tasks[i]);
	need(H5Fflush(t->file, H5F_SCOPE_LOCAL) >= 0, "totals");
}

static void totals_close(struct totals *t)
{
	for (unsigned i = 0; i < OF_TASKS; i++)
		if (t->dset[i] >= 0)
			H5Dclose(t->dset[i]);
	H5Tclose(t->row);
	free(t->rows);
}

/* Tasks are numbered through all nodes. Their last ones move first: no name is taken then. */
static void number_tasks(hid_t node, unsigned tasks, unsigned first)
{
	char from[64], to[64];

	for (unsigned i = 0; first && i < OF_TASKS; i++) {
		if (H5Lexists(node, of_tasks[i], H5P_DEFAULT) <= 0)
			continue;
		for (unsigned t = tasks; t-- > 0;) {
			snprintf(from, sizeof(from), "%s/%u", of_tasks[i], t);
			snprintf(to, sizeof(to), "%s/%u", of_tasks[i], first + t);
			need(H5Lmove(node, from, node, to, H5P_DEFAULT, H5P_DEFAULT) >= 0, to);
		}
	}
}

static void copy_file(hid_t from, const char *node0, const char *path, const char *node,
		      const struct job *j, unsigned first)
{
	hid_t fapl = H5Pcreate(H5P_FILE_ACCESS), fcpl = H5Pcreate(H5P_FILE_CREATE), to, group;

	if (!j->slurm) {
		H5Pset_libver_bounds(fapl, H5F_LIBVER_V18, H5F_LIBVER_V18);
		H5Pset_istore_k(fcpl, j->from ? 1 : 4);
		need(!j->from || !h5__share_types(fcpl), "types");
	}
	to = H5Fcreate(path, H5F_ACC_TRUNC, fcpl, fapl);
	need(to >= 0 && H5Ocopy(from, node0, to, node, H5P_DEFAULT, H5P_DEFAULT) >= 0, path);
	group = H5Gopen2(to, node, H5P_DEFAULT);
	H5Adelete(group, "Node Name");
	put_string(group, "Node Name", node);
	number_tasks(group, j->tasks, first);
	H5Gclose(group);
	need(H5Fclose(to) >= 0, path);
	H5Pclose(fapl);
	H5Pclose(fcpl);
}

/* The file that is copied: a node's group is all that it holds. */
static hid_t open_first(const struct job *j, char *node)
{
	char path[4096];
	hid_t file;

	snprintf(path, sizeof(path), "%s/.jpfiles.h5", j->dir);
	if (!j->from)
		(j->slurm ? make_slurm : make_jobprof)(path, j);
	file = j->from ? H5Fopen(j->from, H5F_ACC_RDONLY, H5P_DEFAULT)
		       : H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
	need(file >= 0 && H5Lget_name_by_idx(file, ".", H5_INDEX_NAME, H5_ITER_INC, 0, node,
					     NODE_NAME, H5P_DEFAULT) > 0,
	     j->from ? j->from : path);
	unlink(path);
	return file;
}

static void make_files(const struct job *j)
{
	char node0[NODE_NAME], path[4096], node[16];
	hid_t from = open_first(j, node0);
	struct totals totals;

	totals_open(&totals, from, node0, j->tasks);
	for (unsigned s = 0; s < j->steps; s++) {
		for (unsigned n = 1; n <= j->nodes; n++) {
			snprintf(node, sizeof(node), "n%u", n);
			snprintf(path, sizeof(path), "%s/%u_%u_%s.h5", j->dir, j->id, s, node);
			if (!j->from)
				totals_number(&totals, j->tasks, (n - 1) * j->tasks);
			copy_file(from, node0, path, node, j, (n - 1) * j->tasks);
		}
	}
	totals_close(&totals);
	H5Fclose(from);
}

static int usage(void)
{
	fprintf(stderr,
		"usage: jpfiles [-k slurm|jobprof | -f FILE] [-j JOB] [-n NODES] [-s STEPS] "
		"[-t TASKS] [-r ROWS] DIR\n");
	return 2;
}

int main(int argc, char **argv)
{
	struct job j = {.slurm = true, .id = 7, .nodes = 16, .steps = 1, .tasks = 1, .rows = 601};
	int c;

	while ((c = getopt(argc, argv, "k:f:j:n:s:t:r:")) != -1) {
		unsigned *const at = c == 'j'	? &j.id
				     : c == 'n' ? &j.nodes
				     : c == 's' ? &j.steps
				     : c == 't' ? &j.tasks
				     : c == 'r' ? &j.rows
						: NULL;

		if (c == 'f')
			j.from = optarg;
		else if (c == 'k' && (!strcmp(optarg, "slurm") || !strcmp(optarg, "jobprof")))
			j.slurm = *optarg == 's';
		else if (!at || parse_u32(optarg, at))
			return usage();
	}
	if (optind + 1 != argc)
		return usage();
	j.dir = argv[optind];
	make_files(&j);
	return 0;
}
