# SPDX-License-Identifier: GPL-2.0-or-later
# libjobprof: shared and static, both with the names of its header and no others.
CLIENT_OBJ := $(addprefix $(B)/pic/user/client/,libjobprof.o region.o live.o client.o column.o)
LIBJOBPROF := $(B)/libjobprof.so $(B)/libjobprof.so.0 $(B)/libjobprof.a

# Programs that are linked with the library find it when the loader's cache has it.
tell_loader = $(if $(DESTDIR),:,PATH=$$PATH:/sbin:/usr/sbin; ldconfig 2>/dev/null || true)

.PHONY: install-lib
all: $(LIBJOBPROF)

$(B)/libjobprof.so.0: $(CLIENT_OBJ) user/client/libjobprof.map
	$(call msg,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -shared -Wl,-soname,libjobprof.so.0 \
		-Wl,--version-script=user/client/libjobprof.map -o $@ $(CLIENT_OBJ) -lpthread
$(B)/libjobprof.so: $(B)/libjobprof.so.0
	$(call msg,LN,$@)
	$(Q)ln -sf libjobprof.so.0 $@

$(B)/libjobprof.a: $(CLIENT_OBJ)
	$(call msg,AR,$@)
	@rm -f $@
	$(Q)$(CC) -r -nostdlib -o $(B)/pic/libjobprof.o $^
	$(Q)$(OBJCOPY) --wildcard --keep-global-symbol='jobprof_*' $(B)/pic/libjobprof.o
	$(Q)$(AR) rcs $@ $(B)/pic/libjobprof.o

install: install-lib
install-lib: $(LIBJOBPROF)
	install -d $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(PREFIX)/include
	install -m 755 $(B)/libjobprof.so.0 $(DESTDIR)$(LIBDIR)
	ln -sf libjobprof.so.0 $(DESTDIR)$(LIBDIR)/libjobprof.so
	install -m 644 $(B)/libjobprof.a $(DESTDIR)$(LIBDIR)
	sed 's|@PREFIX@|$(PREFIX)|g;s|@LIBDIR@|$(LIBDIR)|;s|@VERSION@|$(VERSION)|g' user/client/jobprof.pc.in \
		> $(DESTDIR)$(LIBDIR)/pkgconfig/jobprof.pc
	install -m 644 user/client/libjobprof.h $(DESTDIR)$(PREFIX)/include/jobprof.h
	$(Q)$(tell_loader); $(if $(DESTDIR),:,ldconfig -p | grep -q ' $(LIBDIR)/libjobprof.so.0$$' || \
		echo 'The loader does not search $(LIBDIR): programs that use libjobprof need LD_LIBRARY_PATH, or' \
			'a line in /etc/ld.so.conf.d and ldconfig.')
