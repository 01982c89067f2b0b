# Writes FUNCTION() of HEADER with the concatenation of PARTS, in raw string pieces the compiler accepts.
set(body "")
foreach(part ${PARTS})
  file(READ ${part} text)
  string(REPLACE "#pragma once\n" "" text "${text}")
  string(APPEND body "    text += R\"prelude(${text})prelude\";\n")
endforeach()
file(WRITE ${OUT} "#include \"${HEADER}\"\n\nnamespace autoperfect {\n\nconst std::string& ${FUNCTION}() {\n  static const std::string source = [] {\n    std::string text;\n${body}    return text;\n  }();\n  return source;\n}\n\n}  // namespace autoperfect\n")
