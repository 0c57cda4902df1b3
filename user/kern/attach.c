// SPDX-License-Identifier: GPL-2.0-only
/* Attaching and detaching all programs that follow steps. */
#include <unistd.h>

#include "base/clock.h"
#include "kern/internal.h"
#include "kern/link.h"

int kern__attach(struct kern *k)
{
	bool fresh = !k->control->attached_ns;
	int i, err = 0;

	if (fresh)
		k->control->attached_ns = clock__boot_ns();
	if (fresh)
		kern_pmu_open_all(k);
	for (i = 0; !err && i < P_N; i++)
		if (kern_progs[i].use == USE_TRACED && kern_has_prog(k, i))
			err = kern_attach_one(k, i);
	if (err) {
		kern__detach(k);
	} else if (fresh) { /* the last of them: each takes a while */
		k->control->attached_ns = clock__boot_ns();
		kern__sweep(k); /* what runs already: at once; the rescan says if it fails */
		kern_note_missed(k);
		kern_pmu_calibrate(k);
	}
	return err;
}

void kern__detach(struct kern *k)
{
	char path[384];
	int i;

	for (i = P_N; i-- > 0;) {
		if (kern_progs[i].use != USE_TRACED)
			continue;
		if (k->pin_dir[0]) {
			kern_link_path(k, i, path, sizeof(path));
			unlink(path);
		}
		kern_close_fd(&k->link[i]);
	}
	kern_pmu_close_all(k);
	k->control->attached_ns = 0;
}
