(function_declaration name: (_) @name body: (_)? @body) @declaration
(method_declaration name: (_) @name body: (_)? @body) @declaration

((type_spec name: (_) @name) @declaration (#set! prefix "type"))
((type_alias name: (_) @name) @declaration (#set! prefix "type"))
(type_spec type: (struct_type (field_declaration_list) @members)) @declaration
(type_spec type: (interface_type "{" @members)) @declaration
(type_spec type: (struct_type (field_declaration_list (field_declaration) @declaration)))
(type_spec type: (interface_type (method_elem name: (_) @name) @declaration))
(type_spec type: (interface_type (type_elem) @declaration))
(field_declaration tag: (_) @cut)

((const_spec name: (_) @name) @declaration (#set! prefix "const"))
((var_spec name: (_) @name) @declaration (#set! prefix "var"))
(const_spec "=" @cut value: (_) @cut)
(var_spec "=" @cut value: (_) @cut)
(func_literal body: (_) @body)
(comment) @cut

(import_spec path: (_) @import)
