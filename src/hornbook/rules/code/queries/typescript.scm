(abstract_class_declaration name: (_) @name body: (_) @members) @declaration
(class_body (public_field_definition name: (_) @name) @declaration)
(class_body (index_signature) @declaration)
(public_field_definition "=" @cut value: (_) @cut)
(public_field_definition "=" @keep value: [(arrow_function) (function_expression)] @keep)
(abstract_method_signature name: (_) @name) @declaration
(class_body (method_signature name: (_) @name) @declaration)
(function_signature name: (_) @name) @declaration
(ambient_declaration (_) @wrapped) @wrapper
(ambient_declaration (lexical_declaration (variable_declarator name: (_) @name)) @declaration)
(ambient_declaration (variable_declaration (variable_declarator name: (_) @name)) @declaration)

(interface_declaration name: (_) @name body: (_) @members) @declaration
(interface_body [(property_signature) (method_signature) (call_signature)
  (construct_signature) (index_signature)] @declaration)

(type_alias_declaration name: (_) @name) @declaration
(type_alias_declaration value: (object_type "{" @members)) @declaration
(type_alias_declaration value: (object_type [(property_signature) (method_signature)
  (call_signature) (construct_signature) (index_signature)] @declaration))

(enum_declaration name: (_) @name body: (_) @members) @declaration
(enum_body (enum_assignment name: (_) @name) @declaration)
(enum_body name: (_) @declaration)
(enum_assignment "=" @cut value: (_) @cut)

(internal_module name: (_) @name body: (_) @members) @declaration
(module name: (_) @name body: (_) @members) @declaration

(import_require_clause source: (_) @import)
