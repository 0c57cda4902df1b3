/* SPDX-License-Identifier: GPL-2.0-only */
#include "hdf5/h5driver.h"

#include <errno.h>
#include <string.h>

void h5driver__set(hid_t fapl, const H5FD_class_t *driver, hid_t *id, const void *info)
{
	if (*id < 0)
		*id = H5FDregister(driver);
	if (*id >= 0)
		H5Pset_driver(fapl, *id, info);
}

void h5driver__say(hid_t error, const char *what)
{
	H5Epush2(H5E_DEFAULT, __FILE__, __func__, __LINE__, H5E_ERR_CLS, H5E_IO, error,
		 "%s failed: errno = %d, error message = '%s'", what, errno, strerror(errno));
}

bool h5driver__inside(haddr_t eoa, haddr_t addr, size_t size)
{
	return addr <= H5DRIVER_LIMIT && size <= H5DRIVER_LIMIT - addr && addr + size <= eoa;
}
