# A recipe to start from, for images built with OpenEmbedded (with meta-openembedded's meta-oe, and
# systemd as init). It was never built. See docs/install.md.
#
# Programs that OpenEmbedded does not have bundle the page, so this uses the result of a build on the
# build machine (scripts/bootstrap && cmake --preset release && cmake --build --preset release --target
# jetmem_page): build/release/page/assets.cc.
SUMMARY = "Memory health of boards whose CPU, GPU and camera share one DRAM"
LICENSE = "Apache-2.0"
LIC_FILES_CHKSUM = "file://LICENSE;md5=3b83ef96387f14655fc854ddc3c6bd57"

# A checkout; or a git:// address with SRCREV.
inherit externalsrc
EXTERNALSRC ?= "${TOPDIR}/../jetmem"
JETMEM_PAGE_ASSETS ?= "${EXTERNALSRC}/build/release/page/assets.cc"

inherit cmake pkgconfig python3native systemd useradd features_check
REQUIRED_DISTRO_FEATURES = "systemd"

DEPENDS = "systemd spdlog fmt yaml-cpp libmicrohttpd gnutls libxcrypt curl sqlite3 libarchive ncurses \
           nlohmann-json cli11 tl-expected libdeflate zstd python3-pyyaml-native"
EXTRA_OECMAKE = "-DJETMEM_TESTS=OFF -DJETMEM_MANUAL=OFF -DJETMEM_STATIC_READER=OFF \
                 -DJETMEM_PAGE_ASSETS=${JETMEM_PAGE_ASSETS} \
                 -DCMAKE_INSTALL_LIBEXECDIR=${libexecdir}"

SYSTEMD_SERVICE:${PN} = "jetmemd.service jetmem-iomem.service jetmem-reader.socket jetmem-nvml.socket jetmem-probe.socket"
FILES:${PN} += "${systemd_unitdir} ${nonarch_libdir}/systemd ${nonarch_libdir}/sysusers.d ${nonarch_libdir}/tmpfiles.d"
CONFFILES:${PN} = "${sysconfdir}/jetmem/jetmem.yaml"

# As in systemd/jetmem.sysusers.
USERADD_PACKAGES = "${PN}"
GROUPADD_PARAM:${PN} = "-r jetmem; -r jetmem-reader; -r jetmem-nvml; -r jetmem-probe"
USERADD_PARAM:${PN} = "-r -g jetmem -G systemd-journal -M -s /sbin/nologin jetmem; \
                       -r -g jetmem-reader -M -s /sbin/nologin jetmem-reader; \
                       -r -g jetmem-nvml -G video,render -M -s /sbin/nologin jetmem-nvml; \
                       -r -g jetmem-probe -G video,render -M -s /sbin/nologin jetmem-probe"
