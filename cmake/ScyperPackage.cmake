# What `make deb` puts into a Debian package, by CPack: the programs, the unit with what it needs, files for Prometheus and Grafana,
# docs, manual pages, completion.
# Only programs of a release are packaged, stripped.

include(GNUInstallDirs)
install(TARGETS scyperd scyper scyper-pgm scyper-rdma RUNTIME DESTINATION bin)
install(FILES deploy/systemd/scyperd@.service DESTINATION lib/systemd/system)
install(FILES deploy/systemd/sysusers.d/scyper.conf DESTINATION lib/sysusers.d)
install(FILES deploy/systemd/tmpfiles.d/scyper.conf DESTINATION lib/tmpfiles.d)
install(FILES deploy/systemd/sysctl.d/60-scyper.conf DESTINATION lib/sysctl.d)
install(FILES deploy/systemd/example.toml DESTINATION share/doc/scyper/examples)
install(DIRECTORY deploy/prometheus deploy/grafana deploy/ansible DESTINATION share/scyper PATTERN .ansible-lint EXCLUDE)
install(FILES proto/scyper.proto DESTINATION share/scyper/proto)
install(FILES README.md CHANGELOG.md GLOSSARY.md DESTINATION share/doc/scyper)
# Manual pages and completion, as the programs say them; policy wants pages compressed, without a time in them.
set(SCYPER_PAGES ${CMAKE_BINARY_DIR}/pages)
file(MAKE_DIRECTORY ${SCYPER_PAGES})
set(page_commands)
foreach(page scyper.1 scyperd.8)
  string(REGEX REPLACE "[.].*" "" program ${page})
  list(APPEND page_commands
    COMMAND $<TARGET_FILE:scyper> man ${program} > ${SCYPER_PAGES}/${page} COMMAND gzip -9nf ${SCYPER_PAGES}/${page}
    COMMAND $<TARGET_FILE:scyper> completion bash --program ${program} > ${SCYPER_PAGES}/${program}
    COMMAND $<TARGET_FILE:scyper> completion zsh --program ${program} > ${SCYPER_PAGES}/_${program}
    COMMAND $<TARGET_FILE:scyper> completion fish --program ${program} > ${SCYPER_PAGES}/${program}.fish)
endforeach()
add_custom_command(OUTPUT ${SCYPER_PAGES}/made ${page_commands} COMMAND ${CMAKE_COMMAND} -E touch ${SCYPER_PAGES}/made DEPENDS scyper VERBATIM)
add_custom_target(pages ALL DEPENDS ${SCYPER_PAGES}/made)
install(FILES ${SCYPER_PAGES}/scyper.1.gz DESTINATION share/man/man1)
install(FILES ${SCYPER_PAGES}/scyperd.8.gz DESTINATION share/man/man8)
install(FILES ${SCYPER_PAGES}/scyper ${SCYPER_PAGES}/scyperd DESTINATION share/bash-completion/completions)
install(FILES ${SCYPER_PAGES}/_scyper ${SCYPER_PAGES}/_scyperd DESTINATION share/zsh/vendor-completions)
install(FILES ${SCYPER_PAGES}/scyper.fish ${SCYPER_PAGES}/scyperd.fish DESTINATION share/fish/vendor_completions.d)
install(FILES LICENSE DESTINATION share/doc/scyper RENAME copyright)
file(GLOB SCYPER_DOCS CONFIGURE_DEPENDS docs/*.md)
install(FILES ${SCYPER_DOCS} DESTINATION share/doc/scyper)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME scyper)
set(CPACK_PACKAGE_CONTACT "The ScyPer authors <scyper@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "main-memory database for transactions and analytics on the same data")
set(CPACK_PACKAGE_DESCRIPTION "Stored procedures in PL/pgSQL and SQL are compiled to native code and run one at a time per partition;
analytical queries run on snapshots beside them, on the primary and on secondaries that replay its log.
scyperd is a node, scyper the shell and the verbs of operators.")
set(CPACK_PACKAGE_HOMEPAGE_URL "")
set(CPACK_STRIP_FILES TRUE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/package)
set(CPACK_THREADS 0)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION database)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS TRUE)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "systemd | systemd-standalone-sysusers")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "etcd-server, prometheus, postgresql-client")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION TRUE)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${CMAKE_SOURCE_DIR}/deploy/debian/postinst ${CMAKE_SOURCE_DIR}/deploy/debian/prerm
    ${CMAKE_SOURCE_DIR}/deploy/debian/postrm)
include(CPack)
