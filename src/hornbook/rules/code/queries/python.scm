; Functions and classes; decorators are part of the header, their arguments are not.
(function_definition name: (_) @name body: (_) @body) @declaration
(class_definition name: (_) @name body: (_) @members) @declaration
(decorated_definition definition: (_) @wrapped) @wrapper
(decorator (call arguments: (_) @cut))

; Constants and type aliases of the module, by their spelling or because they say their type.
((module (expression_statement (assignment left: (identifier) @name !type) @declaration))
  (#match? @name "^_*[A-Z]|^__all__$"))
(module (expression_statement (assignment left: (identifier) @name type: (_)) @declaration))
(type_alias_statement left: (_) @name) @declaration

; Fields of classes.
(class_definition body: (block
  (expression_statement (assignment left: (identifier) @name) @declaration)))

(assignment "=" @cut right: (_) @cut)
(comment) @cut

(import_statement name: (dotted_name) @import)
(import_statement name: (aliased_import name: (_) @import))
(import_from_statement module_name: (_) @from name: (dotted_name) @import)
(import_from_statement module_name: (_) @from name: (aliased_import name: (_) @import))
(import_from_statement module_name: (_) @from (wildcard_import) @import)
