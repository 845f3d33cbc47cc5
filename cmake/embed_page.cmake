# The page of src/heads/page as a C++ source: page.html with the style and the scripts that it
# names put in their places, and their hashes into its policy, so that no other script runs.

# base64_of(RESULT HEX): of bytes given in hexadecimal.
function(base64_of result hex)
  set(digits ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/)
  string(LENGTH "${hex}" length)
  math(EXPR last "${length} - 1")
  set(text "")
  foreach(begin RANGE 0 ${last} 6)
    string(SUBSTRING "${hex}" ${begin} 6 group)
    string(LENGTH "${group}" present)
    string(SUBSTRING "${group}0000" 0 6 group)
    math(EXPR characters "${present} / 2")
    foreach(k RANGE 0 3)
      if(k GREATER characters)
        string(APPEND text "=")
      else()
        math(EXPR digit "(0x${group} >> (18 - 6 * ${k})) & 63")
        string(SUBSTRING "${digits}" ${digit} 1 digit)
        string(APPEND text "${digit}")
      endif()
    endforeach()
  endforeach()
  set(${result} "${text}" PARENT_SCOPE)
endfunction()

# embed_page(FOLDER SOURCE): writes SOURCE from FOLDER's files, again where one changes.
function(embed_page folder source)
  file(READ ${folder}/page.html page)
  set(files page.html)
  set(style_hashes "")
  set(script_hashes "")
  string(REGEX MATCHALL "<link rel=\"stylesheet\" href=\"[a-z_]+\\.css\">|<script src=\"[a-z_]+\\.js\"></script>"
         elements "${page}")
  foreach(element IN LISTS elements)
    string(REGEX REPLACE ".*\"([a-z_]+\\.(css|js))\".*" "\\1" name "${element}")
    list(APPEND files ${name})
    file(READ ${folder}/${name} text)
    string(SHA256 hash "${text}")
    base64_of(hash ${hash})
    if(name MATCHES "css$")
      string(APPEND style_hashes " 'sha256-${hash}'")
      string(REPLACE "${element}" "<style>${text}</style>" page "${page}")
    else()
      string(APPEND script_hashes " 'sha256-${hash}'")
      string(REPLACE "${element}" "<script>${text}</script>" page "${page}")
    endif()
  endforeach()
  string(REPLACE "@style_hashes@" "${style_hashes}" page "${page}")
  string(REPLACE "@script_hashes@" "${script_hashes}" page "${page}")
  string(FIND "${page}" "@data@" at)
  string(SUBSTRING "${page}" 0 ${at} before)
  math(EXPR at "${at} + 6")
  string(SUBSTRING "${page}" ${at} -1 after)
  file(CONFIGURE OUTPUT ${source} @ONLY CONTENT
"#include \"heads/page_template.h\"

namespace mha {

const std::string_view page_before_data = R\"page(@before@)page\";
const std::string_view page_after_data = R\"page(@after@)page\";

}  // namespace mha
")
  list(TRANSFORM files PREPEND ${folder}/)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${files})
endfunction()
