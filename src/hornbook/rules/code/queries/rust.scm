(function_item name: (_) @name body: (_) @body) @declaration
(function_signature_item name: (_) @name) @declaration
(struct_item name: (_) @name) @declaration
(struct_item body: (field_declaration_list) @members) @declaration
(union_item name: (_) @name body: (_) @members) @declaration
(field_declaration name: (_) @name) @declaration
(enum_item name: (_) @name body: (_) @members) @declaration
(enum_variant name: (_) @name) @declaration
(enum_variant body: (field_declaration_list) @members) @declaration
(trait_item name: (_) @name body: (_) @members) @declaration
(impl_item type: (_) @name body: (_) @members) @declaration
(foreign_mod_item body: (_) @members) @declaration
(type_item name: (_) @name) @declaration
(associated_type name: (_) @name) @declaration
(const_item name: (_) @name) @declaration
(static_item name: (_) @name) @declaration
(mod_item name: (_) @name body: (_)? @members) @declaration
(macro_definition "macro_rules!" name: (_) @name ["(" "[" "{"] @body) @declaration
(use_declaration (visibility_modifier)) @declaration

(const_item "=" @cut value: (_) @cut)
(static_item "=" @cut value: (_) @cut)
(line_comment) @cut
(block_comment) @cut

(use_declaration argument: (_) @use)
(mod_item name: (_) @module !body)
(mod_item name: (_) @scope_name body: (_)) @scope
(extern_crate_declaration name: (_) @import)
