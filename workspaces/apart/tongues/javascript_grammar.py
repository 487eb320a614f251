"""The grammar of JavaScript and TypeScript, as far as readers of tests need it."""

from .grammar import Grammar

FUNCTIONS = frozenset(("arrow_function", "function_expression", "function_declaration", "generator_function"))
G = Grammar(
    strings=frozenset(("string", "template_string")),
    interpolations=frozenset(("template_substitution",)),
    blocks=frozenset(("statement_block", "switch_body", "switch_case", "switch_default", "class_body")),
    names=frozenset((
        "identifier", "property_identifier", "shorthand_property_identifier", "type_identifier",
        "shorthand_property_identifier_pattern", "private_property_identifier",
    )),
    calls={
        "call_expression": ("function", "", "arguments"),
        "member_expression": ("object", "property", ""),
        "new_expression": ("constructor", "", "arguments"),
    },
    guards={
        "if_statement": "if", "switch_statement": "if", "for_statement": "loop", "for_in_statement": "loop",
        "while_statement": "loop", "do_statement": "loop", "try_statement": "try", "catch_clause": "if",
        "finally_clause": "always", "ternary_expression": "if", "function_declaration": "function",
        "method_definition": "function", "arrow_function": "closure",
        "function_expression": "closure", "class_declaration": "function",
    },
    dropped=frozenset(("type_annotation", "type_arguments", "type_parameters", "accessibility_modifier")),
    bare=frozenset(
        (
            "expression_statement", "variable_declarator", "return_statement", "arguments",
            "parenthesized_expression", "pair", "array", "arrow_function",
        )
    ),
    binary=frozenset(("binary_expression",)),
    negations=frozenset(("unary_expression",)),
    lists=frozenset(("array", "object")),
    wrappers=frozenset(("await_expression", "non_null_expression", "as_expression", "satisfies_expression")),
    passes=frozenset(("import_statement", "empty_statement", "debugger_statement")),
)  # fmt: skip
