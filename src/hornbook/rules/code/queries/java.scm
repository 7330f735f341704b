(class_declaration name: (_) @name body: (_) @members) @declaration
(interface_declaration name: (_) @name body: (_) @members) @declaration
(annotation_type_declaration name: (_) @name body: (_) @members) @declaration
(record_declaration name: (_) @name body: (_) @members) @declaration
(enum_declaration name: (_) @name body: (_) @members) @declaration
(enum_constant name: (_) @name arguments: (_)? @cut body: (_)? @cut) @declaration

(method_declaration name: (_) @name body: (_)? @body) @declaration
(constructor_declaration name: (_) @name body: (_) @body) @declaration
(compact_constructor_declaration name: (_) @name body: (_) @body) @declaration
(annotation_type_element_declaration name: (_) @name) @declaration
(field_declaration declarator: (variable_declarator name: (_) @name)) @declaration
(constant_declaration declarator: (variable_declarator name: (_) @name)) @declaration
(module_declaration name: (_) @name body: (_) @body) @declaration

(variable_declarator "=" @cut value: (_) @cut)
(annotation arguments: (_) @cut)
(static_initializer (block) @body)
(class_body (block) @body)
(line_comment) @cut
(block_comment) @cut

(import_declaration [(scoped_identifier) (identifier)] @import .)
(import_declaration [(scoped_identifier) (identifier)] @from (asterisk) @import)
