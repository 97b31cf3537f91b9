# The translations are compiled into the library rematlas_explorer_session. Without Qt's linguist tools the
# window is in English only.
find_package(Qt5 5.15 COMPONENTS LinguistTools QUIET)
if(NOT Qt5LinguistTools_FOUND)
  message(STATUS "rematlas: the explorer speaks English only: no Qt linguist tools")
  return()
endif()
set(REMATLAS_TRANSLATION ${PROJECT_SOURCE_DIR}/resources/translations/rematlas_de.ts)
set(REMATLAS_QM_FOLDER ${CMAKE_CURRENT_BINARY_DIR}/translations)
set_source_files_properties(${REMATLAS_TRANSLATION} PROPERTIES OUTPUT_LOCATION ${REMATLAS_QM_FOLDER})
qt5_add_translation(REMATLAS_QM ${REMATLAS_TRANSLATION})
configure_file(translations.qrc.in ${REMATLAS_QM_FOLDER}/translations.qrc COPYONLY)
add_custom_command(OUTPUT ${REMATLAS_QM_FOLDER}/translations.cpp
  COMMAND Qt5::rcc --name translations -o ${REMATLAS_QM_FOLDER}/translations.cpp ${REMATLAS_QM_FOLDER}/translations.qrc
  DEPENDS ${REMATLAS_QM} translations.qrc.in)
set_source_files_properties(${REMATLAS_QM_FOLDER}/translations.cpp PROPERTIES
  SKIP_UNITY_BUILD_INCLUSION ON SKIP_AUTOGEN ON)
target_sources(rematlas_explorer_session PRIVATE ${REMATLAS_QM_FOLDER}/translations.cpp)
target_compile_definitions(rematlas_explorer_session PUBLIC REMATLAS_TRANSLATIONS)

# `ninja update_translations` adds new texts of the sources to the .ts file. Then translate them there, with
# Qt Linguist or an editor.
add_custom_target(update_translations
  COMMAND Qt5::lupdate -no-obsolete -locations none -tr-function-alias translate+=say
    ${CMAKE_CURRENT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/viz/paint -ts ${REMATLAS_TRANSLATION}
  COMMENT "Collecting the words of the explorer" VERBATIM)
