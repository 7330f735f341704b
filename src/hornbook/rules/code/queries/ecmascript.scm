; What JavaScript and TypeScript share.
(function_declaration name: (_) @name body: (_) @body) @declaration
(generator_function_declaration name: (_) @name body: (_) @body) @declaration
(class_declaration name: (_) @name body: (_) @members) @declaration
(class_body (method_definition name: (_) @name body: (_) @body) @declaration)
(class_static_block body: (_) @body)
(decorator (call_expression arguments: (_) @cut))

; A function that is not declared is no signature, and neither is what it holds.
(function_expression body: (_) @body)
(generator_function body: (_) @body)
(arrow_function body: (_) @body)

; Names for functions and classes.
(program (lexical_declaration (variable_declarator name: (_) @name
  value: [(arrow_function) (function_expression) (generator_function) (class)])) @declaration)
(program (variable_declaration (variable_declarator name: (_) @name
  value: [(arrow_function) (function_expression) (generator_function) (class)])) @declaration)
(variable_declarator "=" @cut value: (_) @cut)
(variable_declarator "=" @keep
  value: [(arrow_function) (function_expression) (generator_function) (class)] @keep)
(class body: (_) @members)

; Exports. A bare list or `export * from` is whole; a value is left out unless it is a name.
(export_statement declaration: (_) @wrapped) @wrapper
(export_statement declaration: (lexical_declaration (variable_declarator name: (_) @name)) @declaration)
(export_statement declaration: (variable_declaration (variable_declarator name: (_) @name)) @declaration)
(export_statement value: (_) @cut) @declaration
(export_statement value: [(identifier) (function_expression) (arrow_function)
  (generator_function) (class)] @keep)
(export_statement value: (class body: (_) @members)) @declaration
(export_statement !declaration !value) @declaration

((program (expression_statement (assignment_expression left: (_) @name) @declaration))
  (#match? @name "^(module[.])?exports([.]|$)"))
(assignment_expression "=" @cut right: (_) @cut)
(assignment_expression "=" @keep
  right: [(identifier) (arrow_function) (function_expression) (generator_function) (class)] @keep)
(comment) @cut

(import_statement source: (_) @import)
(export_statement source: (_) @import)
(call_expression function: (import) arguments: (arguments . (string) @import))
((call_expression function: (identifier) @_function arguments: (arguments . (string) @import .))
  (#eq? @_function "require"))
