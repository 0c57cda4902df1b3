# SPDX-License-Identifier: GPL-2.0-or-later
# A site's own sensors: where they are looked for, their header, and an example of one.
SENSORDIR ?= $(PREFIX)/lib/jobprof/sensors
CPPFLAGS += -DJOBPROF_SENSORDIR='"$(SENSORDIR)"'
EXAMPLES := $(patsubst user/sensor/plugin/example/%.c,$(B)/sensors/%.so,$(wildcard user/sensor/plugin/example/*.c))

.PHONY: install-sensors
all: $(EXAMPLES)

# As a site does it: with the one header and nothing else of ours.
$(B)/sensors/%.so: user/sensor/plugin/example/%.c user/sensor/plugin/jobprof-sensor.h
	$(call msg,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -Iuser/sensor/plugin -fPIC -shared -o $@ $<

install: install-sensors
install-sensors:
	install -d $(DESTDIR)$(SENSORDIR) $(DESTDIR)$(PREFIX)/include $(DESTDIR)$(PREFIX)/share/doc/jobprof/examples
	install -m 644 user/sensor/plugin/jobprof-sensor.h $(DESTDIR)$(PREFIX)/include
	install -m 644 $(wildcard user/sensor/plugin/example/*.c) $(DESTDIR)$(PREFIX)/share/doc/jobprof/examples
