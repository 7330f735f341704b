(class_body (field_definition property: (_) @name) @declaration)
(field_definition "=" @cut value: (_) @cut)
(field_definition "=" @keep value: [(arrow_function) (function_expression)] @keep)
